"""A backtest in words, tables and curves."""

from collections.abc import Callable, Iterator, Sequence

from parley.console.reports.backtests import Backtest, DebateChange, Ended, Point, Summary
from parley.console.reports.charts import Dot, curve, side_by_side
from parley.console.reports.document import (
    Block,
    Document,
    Heading,
    Paragraph,
    Picture,
    Table,
)
from parley.console.reports.figures import count, decimal, interval_text, percent, share_text
from parley.console.reports.intervals import METHODS, Interval

_LISTED = 20


def backtest_document(found: Backtest, *, all_debates: bool) -> Document:
    """`all_debates` lists every one, not only the first that differ."""
    return Document(
        title=f"Backtest: {found.changes or 'as recorded'}",
        subtitle=(
            f"{count(found.summary.debates, 'recorded debate')} decided anew by the rules of the"
            " coordinator; no model was asked."
        ),
        blocks=tuple(_blocks(found, all_debates=all_debates)),
    )


def _blocks(found: Backtest, *, all_debates: bool) -> Iterator[Block]:
    if found.changes or not (found.presets or found.curve or found.rules):
        yield from _summary(found.summary)
    if found.presets:
        yield from presets_blocks(found.presets)
    if found.rules:
        yield Heading("Every rule, from the same recordings")
        yield _points_table("rule", found.rules)
    if found.curve:
        yield Heading(f"Curve over {found.swept}")
        yield _points_table(str(found.swept), found.curve)
        if found.curve[0].value is not None:
            yield Picture(_charts(found.curve))
    yield from _unknowable(found.debates)
    yield from _differences(found.debates, all_debates=all_debates)
    yield Heading("How to read this")
    yield Paragraph(
        "Turns are nominal: one for each speaker and round. A debate that would have gone on beyond"
        " its recording, or would have needed an answer that nobody gave, is unknowable and counts"
        " in no other figure; accuracy, before and after, is of the debates whose outcome is known.",
        remark=True,
    )
    yield Paragraph(METHODS, remark=True)


def presets_blocks(points: Sequence[Point]) -> Iterator[Block]:
    yield Heading("The three presets, from the same recordings")
    yield _points_table("preset", points)
    yield Picture(_charts(points))
    if any(point.summary.unknowable for point in points):
        yield Paragraph(
            "What is unknowable would have gone on beyond its recording: debates recorded under a"
            " patient preset tell more about hasty ones than the other way round.",
            remark=True,
        )


def _summary(summary: Summary) -> Iterator[Block]:
    known = summary.debates - summary.unknowable
    rows = [
        ("ending known", "", str(known)),
        ("unknowable", "", str(summary.unknowable)),
        ("outcome unknowable though the ending is known", "", str(summary.outcome_unknowable)),
        ("outcome known, follow-up unknowable", "", str(summary.follow_up_unknowable)),
        ("stop earlier / later", "", f"{summary.stop_earlier} / {summary.stop_later}"),
        ("mean rounds", _mean(summary, known), decimal(summary.mean_rounds)),
        ("turns", str(summary.calls_recorded), str(summary.calls)),
        (
            "turns saved",
            "",
            f"{summary.calls_saved} ({percent(summary.calls_saved_share)})",
        ),
        ("answers changed", "", str(summary.answers_changed)),
    ]
    if summary.accuracy is not None:
        rows += [
            ("accuracy", share_text(summary.accuracy_recorded), share_text(summary.accuracy)),
            ("mended / spoilt", "", f"{summary.mended} / {summary.spoilt}"),
        ]
    yield Table(("", "recorded", "decided anew"), tuple(rows), frozenset({1, 2}))
    yield Heading("Ended by")
    reasons = tuple((reason, str(number)) for reason, number in summary.reasons.items())
    yield Table(("reason", "debates"), reasons, frozenset({1}))


def _mean(summary: Summary, known: int) -> str:
    if summary.mean_rounds is None:
        return ""
    return decimal(summary.mean_rounds + summary.rounds_saved / known)


def _points_table(name: str, points: Sequence[Point]) -> Table:
    return Table(
        (
            name,
            "known",
            "unknowable",
            "mean rounds",
            "turns",
            "turns saved",
            "answers changed",
            "accuracy",
            "as recorded",
        ),
        tuple(
            (
                point.name,
                str(point.summary.debates - point.summary.unknowable),
                str(point.summary.unknowable),
                decimal(point.summary.mean_rounds),
                str(point.summary.calls),
                percent(point.summary.calls_saved_share),
                str(point.summary.answers_changed),
                interval_text(point.summary.accuracy),
                interval_text(point.summary.accuracy_recorded),
            )
            for point in points
        ),
        frozenset(range(1, 9)),
    )


def _charts(points: Sequence[Point]) -> str:
    wanted: list[tuple[str, str, Callable[[Summary], float | None]]] = [
        ("Turns saved", "%", lambda one: one.calls_saved_share),
        ("Mean rounds", "", lambda one: one.mean_rounds),
        ("Unknowable", "%", lambda one: one.unknowable / one.debates if one.debates else None),
        ("Answers changed", "", lambda one: float(one.answers_changed)),
    ]
    charts = []
    for title, unit, figure in wanted:
        dots = _dots(points, figure, lambda _: None)
        charts += [curve(dots, title, unit)] if dots else []
    accuracy = _dots(
        points,
        lambda one: one.accuracy.share if one.accuracy else None,
        lambda one: one.accuracy.interval if one.accuracy else None,
    )
    charts += [curve(accuracy, "Accuracy, 95 % interval", "%")] if accuracy else []
    return side_by_side(charts)


def _dots(
    points: Sequence[Point],
    figure: Callable[[Summary], float | None],
    interval: Callable[[Summary], Interval | None],
) -> list[Dot]:
    dots = []
    for number, point in enumerate(points):
        y = figure(point.summary)
        if y is not None:
            x = float(number) if point.value is None else point.value
            dots.append(Dot(x, y, point.name, interval(point.summary)))
    return dots


def _unknowable(debates: Sequence[DebateChange]) -> Iterator[Block]:
    lacking = [one for one in debates if one.unknown is not None]
    if not lacking:
        return
    yield Heading("Unknowable")
    rows = tuple((one.debate_id, str(one.unknown), one.missing) for one in lacking[:_LISTED])
    yield Table(("debate", "what is unknown", "whose answer is missing"), rows)
    if len(lacking) > _LISTED:
        yield Paragraph(f"… and {len(lacking) - _LISTED} more (all of them in --format json)")


def _differences(debates: Sequence[DebateChange], *, all_debates: bool) -> Iterator[Block]:
    differing = [one for one in debates if one.answer_changed or one.ending_differs]
    if not differing:
        return
    shown = differing if all_debates else differing[:_LISTED]
    yield Heading("Debates that end differently")
    judged = any(one.recorded.correct is not None for one in shown)
    head = ("debate", "recorded", "answer", "decided anew", "answer", "against gold")
    rows = tuple(_row(one) for one in shown)
    yield Table(
        head if judged else head[:-1],
        rows if judged else tuple(row[:-1] for row in rows),
        wide=len(shown) > _LISTED,
    )
    if len(differing) > len(shown):
        yield Paragraph(f"… and {len(differing) - len(shown)} more (-o FILE.html lists them all)")


def _row(one: DebateChange) -> tuple[str, ...]:
    new = one.redecided
    assert new is not None
    return (
        one.debate_id,
        _how(one.recorded),
        _what(one.recorded),
        _how(new),
        _what(new),
        _judged(one.recorded, new),
    )


def _how(ended: Ended) -> str:
    return f"{ended.reason or 'not ended'}, {count(ended.rounds, 'round')}"


def _what(ended: Ended) -> str:
    if ended.answer is None:
        return "?"
    sure = f" {ended.confidence:.2f}" if ended.confidence is not None else ""
    tuples = "; ".join(f"{aspect} {polarity}" for aspect, polarity in ended.tuples or ())
    return f"{ended.answer}{sure}{f' ({tuples})' if tuples else ''}"


def _judged(old: Ended, new: Ended) -> str:
    words = {(True, True): "right", (False, False): "wrong"}
    if old.correct is None or new.correct is None:
        return ""
    return words.get((old.correct, new.correct), "mended" if new.correct else "spoilt")

"""A set of debates in words, tables and charts."""

from collections.abc import Callable, Iterator, Sequence

from parley.console.reports.backtest_document import presets_blocks
from parley.console.reports.charts import Bar, bars
from parley.console.reports.document import (
    Block,
    Card,
    Cards,
    Document,
    Folded,
    Heading,
    Paragraph,
    Picture,
    Table,
)
from parley.console.reports.figures import (
    count,
    counts,
    decimal,
    interval_text,
    percent,
    share_text,
)
from parley.console.reports.intervals import ShareOf
from parley.console.reports.outcomes import CUT_SHORT, DebateRow
from parley.console.reports.summary import GroupFigures, Report
from parley.console.reports.variants import Gain, VariantRow
from parley.console.reports.worth import worth_blocks
from parley.console.transcript.plain import spoken
from parley.console.transcript.presentation import presentation_of


def report_document(report: Report, title: str, details: Sequence[Block]) -> Document:
    """`details` of single debates stand at the end."""
    panels = sorted({row.panel for row in report.debates})
    return Document(
        title=title,
        subtitle=(
            f"{count(len(report.debates), 'debate')} of {', '.join(panels)};"
            f" computed from the recorded facts by parley {report.parley}"
        ),
        blocks=tuple(_blocks(report, details)),
    )


def _blocks(report: Report, details: Sequence[Block]) -> Iterator[Block]:
    if report.variants:
        yield from _variants(report.variants)
    for group in report.groups:
        if len(report.groups) > 1:
            yield Folded(f"{group.name or 'others'}: {group.debates} debates", tuple(_group(group)))
        else:
            yield from _group(group)
    if report.presets:
        yield from presets_blocks(report.presets)
    yield from _ranked("Slowest debates", report.slowest, lambda row: f"{row.seconds:.2f} s")
    yield from _ranked("Costliest debates", report.costliest, price_of)
    yield Heading("Every debate")
    yield _every_debate(report.debates)
    yield from details
    yield Heading("How to read this")
    yield Paragraph(
        "Turns are nominal: one for each speaker and round, however the speaker thinks. Saved are"
        " those that the panel's limit of rounds would have cost on top, where a rule of the debate"
        " ended it; a budget, a failure or a cancellation saves nothing. Model calls are what models"
        " were asked, with every repetition. A flip is an answer that differs from the vote before"
        " the debate, or from Stage 1.",
        remark=True,
    )
    yield Paragraph(report.methods, remark=True)


def _group(group: GroupFigures) -> Iterator[Block]:
    yield Cards(tuple(_cards(group)))
    for panel, worth in group.worth.items():
        yield Heading(f"Did the debates earn their cost? {panel}", 3)
        yield from worth_blocks(worth)
    yield Heading("How they ended", 3)
    yield counts("reason", "debates", group.reasons)
    yield Heading("Rounds", 3)
    taken = {count(rounds, "round"): number for rounds, number in group.rounds.items()}
    yield counts("rounds", "debates", taken)
    for protocol, figures in group.figures.items():
        shown = presentation_of(protocol).figure_blocks
        if shown is not None:
            yield from shown(figures)


def _cards(group: GroupFigures) -> Iterator[Card]:
    whole = group.statuses.get("completed", 0) - group.incomplete
    others = [
        f"{number} {status}" for status, number in group.statuses.items() if status != "completed"
    ]
    others += [f"{group.incomplete} incomplete by {CUT_SHORT}"] if group.incomplete else []
    yield Card("debates completed", f"{whole} of {group.debates}", ", ".join(others))
    yield Card(
        "turns saved by early termination",
        percent(group.calls_saved_share),
        f"{group.calls} of {group.calls_without_early_stop} turns taken where a rule ended it",
    )
    yield Card("changed by the debate", *_share(group.changed_by_debate))
    if group.accuracy is not None:
        yield Card("right before the debate", *_share(group.accuracy_before))
        yield Card("right after the debate", *_share(group.accuracy))
    if group.flips is not None:
        flips = group.flips
        yield Card(
            "flips, good and bad", f"{flips.good} / {flips.bad}", f"{flips.idle} to no avail"
        )
    if group.model_calls:
        yield Card("model calls", str(group.model_calls), f"{group.tokens} tokens")
        yield Card("cost", f"{group.cost:.4f}", "in the currency of the prices")
    if group.missed_turns:
        yield Card("missed or failed turns", str(group.missed_turns))


def _share(share: ShareOf | None) -> tuple[str, str]:
    if share is None or share.share is None:
        return "-", ""
    return percent(share.share), share_text(share).partition(" % ")[2]


def _variants(variants: Sequence[VariantRow]) -> Iterator[Block]:
    yield Heading("Variants")
    first = variants[0].name
    yield Table(
        ("variant", "debates", "accuracy", f"against {first}", f"unlike {first}"),
        tuple(
            (
                one.name,
                f"{one.completed} of {one.debates}",
                interval_text(one.accuracy),
                _gain(one.accuracy_gain),
                interval_text(one.unlike_first),
            )
            for one in variants
        ),
        frozenset(range(1, 5)),
    )
    shares = list(dict.fromkeys(name for one in variants for name in one.shares))
    yield Table(
        ("variant", "mean rounds", "turns", "changed by debate", *map(spoken, shares)),
        tuple(
            (
                one.name,
                decimal(one.mean_rounds),
                str(one.calls),
                interval_text(one.changed_by_debate),
                *(interval_text(one.shares.get(name)) for name in shares),
            )
            for one in variants
        ),
        frozenset(range(1, 4 + len(shares))),
    )
    judged = [one for one in variants if one.accuracy is not None]
    shown = judged or [one for one in variants if one.unlike_first is not None]
    rows = [
        Bar(one.name, share.share, percent(share.share), share.interval)
        for one in shown
        if (share := one.accuracy or one.unlike_first) is not None and share.share is not None
    ]
    what = "Accuracy" if judged else f"Results unlike {first}"
    if rows:
        yield Heading(f"{what}, with 95 % intervals", 3)
        yield Picture(bars(rows, what))


def _gain(gain: Gain | None) -> str:
    if gain is None:
        return "-"
    low, high = 100 * gain.interval.low, 100 * gain.interval.high
    return f"{100 * gain.mean:+.1f} points [{low:+.1f}, {high:+.1f}]"


def price_of(row: DebateRow) -> str:
    price = f"cost {row.cost:.4f}, " if row.cost else ""
    return f"{price}{row.tokens} tokens, {count(row.model_calls, 'model call')}"


def _ranked(
    title: str, rows: Sequence[DebateRow], figure: Callable[[DebateRow], str]
) -> Iterator[Block]:
    if rows:
        yield Heading(title)
        yield Table(
            ("debate", "about", "ended by", "rounds", ""),
            tuple(
                (row.debate_id, row.topic[:80], spoken(row.reason), str(row.rounds), figure(row))
                for row in rows
            ),
            frozenset({3, 4}),
        )


def _every_debate(rows: Sequence[DebateRow]) -> Table:
    judged = any(row.correct is not None for row in rows)
    head = ("debate", "about", "status", "ended by", "rounds", "before", "answer", "confidence")
    lines = []
    for row in rows:
        line = (
            f"{row.variant}/{row.debate_id}" if row.variant else row.debate_id,
            row.topic[:120],
            row.status,
            spoken(row.reason),
            str(row.rounds),
            spoken(row.before or ""),
            spoken(row.answer or ""),
            "" if row.confidence is None else f"{row.confidence:.2f}",
        )
        lines.append((*line, _right(row)) if judged else line)
    return Table(
        (*head, "gold says") if judged else head, tuple(lines), frozenset({4, 7}), wide=True
    )


def _right(row: DebateRow) -> str:
    if row.correct is None:
        return ""
    flipped = row.correct_before is not None and row.correct_before != row.correct
    if flipped:
        return "good flip" if row.correct else "bad flip"
    return "right" if row.correct else "wrong"

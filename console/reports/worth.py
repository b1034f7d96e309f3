"""
Whether debates earned their cost: the debate beside a vote on the opening statements, the same
weighted by confidence, and each persona alone, where it is known what is true.

An answer of one label counts as right or wrong; one of several parts by the parts that it has in
common with the truth. Both are one figure, F1 over all inputs: of labels it is their accuracy.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Status
from parley.console.reports.document import Block, Paragraph, Table
from parley.console.reports.figures import count
from parley.console.reports.gold import Truth
from parley.console.reports.intervals import RESAMPLES, SEED, Interval, in_points
from parley.coordinator.core.ledger import Cost, ledger_of
from parley.coordinator.core.protocol import Answer, protocol_of
from parley.coordinator.core.state import DebateState

DEBATE = "the debate"
BEFORE, VOTE = "before the debate", "a vote at the start"
WEIGHTED, MATCHED = "the same, by confidence", "a vote at equal calls"


class Hits(Contract):
    """Parts that were right, that were answered, and that are true."""

    right: int = 0
    answered: int = 0
    true: int = 0


class Way(Contract):
    """
    One way to an answer. `calls` are turns an input, or calls of models where any were asked;
    `gain` is what the debate has over it.
    """

    name: str
    score: float
    calls: float
    gain: float | None = None
    interval: Interval | None = None


class Flipped(Contract):
    """Answers that the debate changed: to the better, to the worse, and from wrong to wrong."""

    helped: int
    harmed: int
    idle: int


class Worth(Contract):
    """`metric` is accuracy or F1; the first way is the debate. `verdict` says it in words."""

    inputs: int
    metric: str
    ways: tuple[Way, ...]
    flipped: Flipped
    opening: Cost
    debate: Cost
    verdict: str


@dataclass(frozen=True, slots=True)
class Case:
    """A debate that is over, and what is true of its input; `repeated` are further openings."""

    state: DebateState
    truth: Truth
    repeated: Sequence[DebateState] = ()


def worth_of(cases: Sequence[Case]) -> Worth | None:
    """None where no debate was decided. Debates that failed are left out."""
    decided = [one for one in cases if _is_decided(one.state)]
    if not decided:
        return None
    courses = [protocol_of(one.state).course(one.state) for one in decided]
    ledgers = [ledger_of(one.state) for one in decided]
    by_parts = all(one.truth.tuples is not None for one in decided)
    opening = _total([one.opening for one in ledgers])
    debate = _total([one.debate for one in ledgers])
    by_call = opening.calls + debate.calls > 0
    inputs = len(decided)

    def spent(*costs: Cost) -> float:
        return sum(one.calls if by_call else one.turns for one in costs) / inputs

    def hits(answers: Sequence[Answer | None]) -> list[Hits]:
        pairs = zip(answers, decided, strict=True)
        return [_hits(answer, case.truth, by_parts=by_parts) for answer, case in pairs]

    found = hits([one.answer for one in courses])
    before = hits([one.before for one in courses])
    total = spent(opening, debate)
    votes = any(one.opening.weighted for one in courses)
    ways = [(VOTE if votes else BEFORE, before, spent(opening))]
    if votes:
        ways.append((WEIGHTED, hits([one.opening.weighted for one in courses]), spent(opening)))
    if any(one.repeated for one in decided):
        ways.append((MATCHED, hits(_pooled(decided)), spent(opening) * (1 + _repeats(decided))))
    personas = Counter(name for one in courses for name in one.opening.alone)
    alone = [name for name, times in personas.items() if times == inputs]
    for name in alone:
        answers = [one.opening.alone[name] for one in courses]
        ways.append((f"{name} alone", hits(answers), _calls_alone(decided, name, spent(opening))))
    rows = [Way(name=DEBATE, score=_score(found), calls=total)]
    for name, others, calls in ways:
        gain, interval = _difference(found, others)
        rows.append(Way(name=name, score=_score(others), calls=calls, gain=gain, interval=interval))
    return Worth(
        inputs=inputs,
        metric="F1" if by_parts else "accuracy",
        ways=tuple(rows),
        flipped=_flipped(before, found),
        opening=opening,
        debate=debate,
        verdict=_verdict(rows),
    )


def _calls_alone(cases: Sequence[Case], name: str, opening: float) -> float:
    """Of whoever opens its own opening; whoever argues later needs the opening, and speaks once."""
    steps = protocol_of(cases[0].state).course(cases[0].state).opening.steps
    opens = any(name in step.ask.personas for step in cases[0].state.steps if step.name in steps)
    return opening / len(_opening_personas(cases[0].state, steps)) if opens else opening + 1


def _opening_personas(state: DebateState, steps: frozenset[str]) -> set[str]:
    return {name for step in state.steps if step.name in steps for name in step.ask.personas}


def pooled(answers: Sequence[Answer]) -> Answer | None:
    """What most of them say, the first if equal; of parts those that more than half have."""
    if not answers:
        return None
    if all(one.parts is not None for one in answers):
        held = Counter(part for one in answers for part in one.parts or ())
        most = frozenset(part for part, times in held.items() if 2 * times > len(answers))
        return Answer(answers[0].label, most)
    labels = Counter(one.label for one in answers)
    return Answer(max(labels, key=labels.__getitem__))


def _pooled(cases: Sequence[Case]) -> list[Answer | None]:
    return [pooled(_openings(case)) for case in cases]


def _openings(case: Case) -> list[Answer]:
    """Every opening statement, of the debate and of the repeated ones."""
    courses = [protocol_of(one).course(one) for one in (case.state, *case.repeated)]
    single = [answer for one in courses for answer in one.opening.alone.values()]
    stages = [one.before for one in courses if one.before is not None]
    return stages if any(one.parts is not None for one in stages) else single or stages


def _repeats(cases: Sequence[Case]) -> float:
    return sum(len(one.repeated) for one in cases) / len(cases)


def _is_decided(state: DebateState) -> bool:
    return state.closed is not None and state.closed.status is Status.COMPLETED


def _hits(answer: Answer | None, truth: Truth, *, by_parts: bool) -> Hits:
    if by_parts:
        there = truth.tuples or frozenset()
        found = answer.parts or frozenset() if answer is not None else frozenset()
        return Hits(right=len(found & there), answered=len(found), true=len(there))
    return Hits(
        right=int(answer is not None and truth.confirms(answer) is True), answered=1, true=1
    )


def _score(hits: Sequence[Hits]) -> float:
    right = sum(one.right for one in hits)
    compared = sum(one.answered + one.true for one in hits)
    return 2 * right / compared if compared else 1.0


def _difference(first: Sequence[Hits], second: Sequence[Hits]) -> tuple[float, Interval]:
    """By a paired bootstrap over the inputs."""
    pairs = [
        (a.right, a.answered + a.true, b.right, b.answered + b.true)
        for a, b in zip(first, second, strict=True)
    ]

    def gain(drawn: Sequence[tuple[int, int, int, int]]) -> float:
        right, compared, other, others = (sum(column) for column in zip(*drawn, strict=True))
        return (2 * right / compared if compared else 1.0) - (2 * other / others if others else 1.0)

    chance = Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    gains = sorted(gain(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    cut = round(0.025 * RESAMPLES)
    return gain(pairs), Interval(low=gains[cut], high=gains[-cut - 1])


def _flipped(before: Sequence[Hits], after: Sequence[Hits]) -> Flipped:
    """Inputs whose score the debate raised, lowered, or left where it had changed nothing right."""
    moved = [(_score([a]), _score([b]), a != b) for a, b in zip(before, after, strict=True)]
    return Flipped(
        helped=sum(new > old for old, new, _ in moved),
        harmed=sum(new < old for old, new, _ in moved),
        idle=sum(changed and new == old for old, new, changed in moved),
    )


def _total(costs: Sequence[Cost]) -> Cost:
    return Cost(
        turns=sum(one.turns for one in costs),
        calls=sum(one.calls for one in costs),
        tokens=sum(one.tokens for one in costs),
        cost=sum(one.cost for one in costs),
        seconds=sum(one.seconds for one in costs),
    )


def _verdict(ways: Sequence[Way]) -> str:
    """Against the best of the others, by their scores."""
    debate, *others = ways
    best = max(others, key=lambda one: one.score)
    assert best.gain is not None
    assert best.interval is not None
    low, high = best.interval.low, best.interval.high
    shown = f"[{100 * low:.1f}, {100 * high:.1f}]"
    times = f" for {debate.calls / best.calls:.1f} times the calls" if best.calls else ""
    points = f"{abs(100 * best.gain):.1f} points {shown}"
    if low > 0:
        return f"the debate gains {points} over {best.name}{times}"
    if high < 0:
        return f"the debate loses {points} against {best.name}{times}"
    return f"no gain shown over {best.name}: {100 * best.gain:+.1f} points {shown}{times}"


def table_of(worth: Worth) -> list[str]:
    """As a terminal shows it."""
    width = max(len(one.name) for one in worth.ways)
    lines = [f"{'':{width}}  {worth.metric:>8}  calls  gain of the debate"]
    for one in worth.ways:
        score, calls, gain = _cells(one)
        lines.append(f"{one.name:{width}}  {score:>8}  {calls:>5}  {gain}".rstrip())
    return [*lines, _flips_in_words(worth.flipped), worth.verdict]


def worth_blocks(worth: Worth) -> Iterator[Block]:
    yield Paragraph(f"{worth.verdict[:1].upper()}{worth.verdict[1:]}.")
    rows = [(one.name, *_cells(one)) for one in worth.ways]
    yield Table(
        ("", worth.metric, "calls", "gain of the debate"), tuple(rows), frozenset({1, 2, 3})
    )
    yield Paragraph(f"{count(worth.inputs, 'input')}; {_flips_in_words(worth.flipped)}.")


def _cells(way: Way) -> tuple[str, str, str]:
    """Gains in points."""
    gain = ""
    if way.gain is not None and way.interval is not None:
        gain = in_points(way.gain, way.interval)
    return f"{way.score:.3f}", f"{way.calls:.1f}", gain


def _flips_in_words(flipped: Flipped) -> str:
    return (
        f"changed by the debate: {flipped.helped} to the better, {flipped.harmed} to the worse,"
        f" {flipped.idle} to no avail"
    )

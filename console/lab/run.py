"""Debates of simulated personas through the real rules, and what they come to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from parley.agents.simulated import SIMULATIONS, Attacker, Skill
from parley.bus.contracts.base import Contract
from parley.bus.contracts.panel import DebateInput, Panel
from parley.console.inputs.kind import input_of
from parley.console.lab.kind import Variants, compared_in, lab_of
from parley.console.reports.intervals import Interval, paired_difference, share_of
from parley.console.runtime.rehearsal import play_with
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.state import DebateState

# The accuracies of personas that curves are drawn over.
ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9)
# Of personas, for the map of what wins where.
CONFORMITIES = (0.0, 0.4, 0.8)
INSIGHTS = (0.0, 0.3, 0.6)


class Played(NamedTuple):
    """One debate: whether the vote at the start and the decision were right, and what it took."""

    vote: bool
    right: bool
    answer: str
    rounds: int
    turns: int


class Row(Contract):
    """One variant; `gain` is what it has over the panel as it is, in the same debates."""

    name: str
    accuracy: float
    interval: Interval
    turns: float
    gain: float
    gain_interval: Interval


class Group(Contract):
    """What is varied: decide, stop or visibility."""

    name: str
    rows: tuple[Row, ...]


class Line(Contract):
    """How one variant fares as personas become better."""

    name: str
    points: tuple[tuple[float, float], ...]


class Cell(Contract):
    """The best variants for personas of this conformity and insight; several where none is better."""

    conformity: float
    insight: float
    best: tuple[str, ...]
    vote: float
    debate: float


class Findings(Contract):
    panel: str
    personas: int
    debates: int
    seed: int
    skill: dict[str, float]
    vote: float
    groups: tuple[Group, ...]
    curves: tuple[Line, ...]
    map: tuple[Cell, ...]


Step = Callable[[], None]


def play(panel: Panel, skill: Skill, seed: int, attacker: Attacker | None = None) -> Played:
    """The same seed draws the same truth and the same beliefs, whatever the panel's rules are."""
    random = Random(f"{seed}")  # noqa: S311 - to be repeated, not to be secret
    simulation = SIMULATIONS[panel.protocol](panel, skill, random, attacker)
    suited = input_of(panel).suit(panel, simulation.text, None)
    about = DebateInput(text=simulation.text, labels={"seed": str(seed)})
    return played_of(play_with(suited, about, simulation.speak), simulation.truth)


def played_of(state: DebateState, truth: str) -> Played:
    course = protocol_of(state).course(state)
    answer = course.answer.label if course.answer else ""
    vote = course.before.label if course.before else ""
    turns = sum(len(step.heard) for step in state.steps)
    return Played(vote == truth, answer == truth, answer, course.rounds, turns)


def study(panel: Panel, skill: Skill, debates: int, seed: int, step: Step) -> Findings:
    varied = lab_of(panel).variants(panel)
    seeds = range(seed, seed + debates)

    def played(one: Panel, skilled: Skill, some: Sequence[int] = seeds) -> list[Played]:
        step()
        return [play(one, skilled, number) for number in some]

    found = {
        name: {variant: played(one, skill) for variant, one in panels.items()}
        for name, panels in varied.items()
    }
    few = seeds[: max(1, debates // 4)]
    decides = compared_in(panel)
    curves = []
    for variant, one in decides.items():
        line = [
            (accuracy, _share(played(one, replace(skill, accuracy=accuracy), few)))
            for accuracy in ACCURACIES
        ]
        curves.append(Line(name=variant, points=tuple(line)))
    base = next(iter(decides.values()))
    cells = [
        _cell(
            conformity,
            insight,
            {
                name: played(one, replace(skill, conformity=conformity, insight=insight), few)
                for name, one in _course_of(varied).items()
            },
        )
        for conformity in CONFORMITIES
        for insight in INSIGHTS
    ]
    whole = next(iter(next(iter(found.values())).values()))
    return Findings(
        panel=panel.name,
        personas=len(base.roster),
        debates=debates,
        seed=seed,
        skill={
            "accuracy": skill.accuracy,
            "calibration": skill.calibration,
            "correlation": skill.correlation,
            "conformity": skill.conformity,
            "insight": skill.insight,
        },
        vote=sum(one.vote for one in whole) / len(whole),
        groups=tuple(
            Group(name=name, rows=tuple(_rows(variants))) for name, variants in found.items()
        ),
        curves=tuple(curves),
        map=tuple(cells),
    )


def _rows(variants: dict[str, list[Played]]) -> Iterator[Row]:
    first = next(iter(variants.values()))
    for name, played in variants.items():
        share = share_of(sum(one.right for one in played), len(played))
        pairs = zip(played, first, strict=True)
        gain = paired_difference([float(one.right) - float(other.right) for one, other in pairs])
        assert share.interval is not None
        assert gain is not None
        yield Row(
            name=name,
            accuracy=_share(played),
            interval=share.interval,
            turns=sum(one.turns for one in played) / len(played),
            gain=gain.mean,
            gain_interval=gain.interval,
        )


def _cell(conformity: float, insight: float, variants: dict[str, list[Played]]) -> Cell:
    """As good as the best are those that it does not beat for certain."""
    best = max(variants.values(), key=_share)
    level = [name for name, played in variants.items() if not _beats(best, played)]
    first = next(iter(variants.values()))
    return Cell(
        conformity=conformity,
        insight=insight,
        best=tuple(level),
        vote=sum(one.vote for one in first) / len(first),
        debate=_share(first),
    )


def _beats(best: Sequence[Played], other: Sequence[Played]) -> bool:
    pairs = zip(best, other, strict=True)
    gain = paired_difference([float(one.right) - float(two.right) for one, two in pairs])
    return gain is not None and gain.interval.low > 0


def _share(played: Sequence[Played]) -> float:
    return sum(one.right for one in played) / len(played)


def plays(panel: Panel) -> int:
    """How often `study` tells its progress."""
    varied = lab_of(panel).variants(panel)
    every = sum(len(one) for one in varied.values())
    cells = len(CONFORMITIES) * len(INSIGHTS)
    return every + len(compared_in(panel)) * len(ACCURACIES) + cells * len(_course_of(varied))


def _course_of(varied: Variants) -> dict[str, Panel]:
    """What changes how a debate goes, rather than only how it is decided."""
    return {**varied.get("visibility", {}), **varied["stop"]}

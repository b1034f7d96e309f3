"""By how much one dishonest persona moves the outcome, under each decide rule."""

from collections.abc import Iterator, Sequence

from parley.agents.simulated import Attack, Attacker, Skill
from parley.bus.contracts.base import Contract
from parley.bus.contracts.panel import Panel
from parley.console.lab.kind import compared_in
from parley.console.lab.run import Played, Step, play
from parley.console.reports.charts import Bar, bars
from parley.console.reports.document import Block, Heading, Paragraph, Picture, Table
from parley.console.reports.intervals import Interval, in_points, paired_difference, share_of


class Moved(Contract):
    """One attack under one decide rule, against the same debates without it."""

    attack: Attack
    rule: str
    honest: float
    attacked: float
    # What the attack costs in accuracy; below zero where it does.
    change: float
    interval: Interval
    # Share of the debates that ended with another answer.
    moved: float


class Drill(Contract):
    panel: str
    persona: str
    debates: int
    seed: int
    rows: tuple[Moved, ...]


def drill(  # noqa: PLR0913, PLR0917  one argument for each thing a person says
    panel: Panel, persona: str, skill: Skill, debates: int, seed: int, step: Step
) -> Drill:
    return Drill(
        panel=panel.name,
        persona=persona,
        debates=debates,
        seed=seed,
        rows=tuple(_moved(panel, persona, skill, range(seed, seed + debates), step)),
    )


def _moved(
    panel: Panel, persona: str, skill: Skill, seeds: Sequence[int], step: Step
) -> Iterator[Moved]:
    for rule, one in compared_in(panel).items():
        honest = [play(one, skill, seed) for seed in seeds]
        step()
        for attack in Attack:
            attacked = [play(one, skill, seed, Attacker(persona, attack)) for seed in seeds]
            step()
            yield compared(attack, rule, honest, attacked)


def compared(
    attack: Attack, rule: str, honest: Sequence[Played], attacked: Sequence[Played]
) -> Moved:
    pairs = list(zip(attacked, honest, strict=True))
    change = paired_difference([float(one.right) - float(other.right) for one, other in pairs])
    assert change is not None
    return Moved(
        attack=attack,
        rule=rule,
        honest=sum(one.right for one in honest) / len(honest),
        attacked=sum(one.right for one in attacked) / len(attacked),
        change=change.mean,
        interval=change.interval,
        moved=share_of(sum(a.answer != b.answer for a, b in pairs), len(pairs)).share or 0.0,
    )


def plays(panel: Panel) -> int:
    """How often `drill` tells its progress."""
    return len(compared_in(panel)) * (1 + len(Attack))


def drill_blocks(found: Drill) -> Iterator[Block]:
    yield Paragraph(
        f"{found.persona} attacks in {found.debates} simulated debates of {found.panel}; the others"
        " are honest. Change is in points of accuracy, moved the share of debates that ended"
        " otherwise. Simulated personas read no texts, so that floods and obeys are lies here; what"
        " length and orders do to a model, a drill on data shows (docs/deciding.md)."
    )
    yield from attack_blocks(found.rows)


def attack_blocks(found: Sequence[Moved]) -> Iterator[Block]:
    for attack in Attack:
        yield Heading(attack.value.replace("_", " "))
        rows = sorted((one for one in found if one.attack == attack), key=lambda one: -one.attacked)
        drawn = [
            Bar(one.rule, one.attacked, f"{one.attacked:.3f} of {one.honest:.3f}") for one in rows
        ]
        yield Picture(bars(drawn, f"accuracy where one {attack.value.replace('_', ' ')}"))
        yield Table(
            ("rules", "honest", "attacked", "change", "moved"),
            tuple(
                (
                    one.rule,
                    f"{one.honest:.3f}",
                    f"{one.attacked:.3f}",
                    in_points(one.change, one.interval),
                    f"{one.moved:.0%}",
                )
                for one in rows
            ),
            frozenset({1, 2, 3, 4}),
        )

"""
Recorded debates by the hundred, made by the real rules and a seed: `python -m tests.recordings N FILE`.

Each debate is about an image whose truth is drawn first; agents are right more often than not, sure
of themselves or not, and some are talked round. Next to FILE stands FILE.gold.csv with the truths.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from parley.agents.forensic.labels import Verdict
from parley.agents.verdicts.script import VerdictScript
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Fact, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef
from parley.console.runtime.rehearsal import play
from parley.files.lines import Recorded, fact_lines
from tests.debates import PRESETS, ROSTER, panel

SKILL = {"frequency": 0.75, "noise": 0.65, "watermark": 0.6, "spatial": 0.7}
PERSUADABLE = 0.3
ROUNDS = 6
START_NS = 1_700_000_000_000_000_000


def recorded_debate(
    seed: int, preset: str = "default"
) -> tuple[DebateRef, tuple[Recorded, ...], Verdict]:
    """The same for the same seed."""
    chance = Random(seed)
    truth = chance.choice((Verdict.AUTHENTIC, Verdict.MANIPULATED, Verdict.AI_GENERATED))
    chosen = panel(**PRESETS[preset].model_dump())
    chosen = chosen.model_copy(update={"preset": preset})
    facts = _costed(_facts(chosen, _script(chance, truth), f"image-{seed:04}.png"), chance)
    times = _times(chance)
    recorded = tuple(Recorded(fact, next(times)) for fact in facts)
    return DebateRef(chosen.name, f"d{seed:04}"), recorded, truth


def write_recordings(count: int, file: Path, preset: str = "default") -> Path:
    """The file of the truths."""
    gold = file.with_name(f"{file.name}.gold.csv")
    with file.open("w", encoding="utf-8") as out, gold.open("w", encoding="utf-8") as truths:
        truths.write("id,verdict\n")
        for seed in range(count):
            ref, recorded, truth = recorded_debate(seed, preset)
            out.writelines(f"{line}\n" for line in fact_lines(ref, recorded))
            truths.write(f"{ref.id},{truth.value}\n")
    return gold


def _facts(chosen: VerdictPanel, script: VerdictScript, name: str) -> list[Fact]:
    return [fact for fact, _ in play(chosen, script, DebateInput(text=name))]


def _script(chance: Random, truth: Verdict) -> VerdictScript:
    opening = {
        name: [_opinion(chance, truth, SKILL[name]), _sure(chance)]
        for name in ROSTER
        if chance.random() > 0.02
    }
    rounds: list[dict[str, list[object]]] = [dict(opening)]
    for _ in range(ROUNDS):
        turned = [name for name in opening if chance.random() < PERSUADABLE]
        rounds.append({name: [_opinion(chance, truth, 0.8), _sure(chance)] for name in turned})
    absent = {name: {"silent": True} for name in ROSTER if name not in opening}
    return VerdictScript.model_validate({"rounds": [{**rounds[0], **absent}, *rounds[1:]]})


def _opinion(chance: Random, truth: Verdict, skill: float) -> str:
    return (truth if chance.random() < skill else chance.choice(list(Verdict))).value


def _sure(chance: Random) -> float:
    return round(chance.uniform(0.5, 0.97), 2)


def _costed(facts: list[Fact], chance: Random) -> Iterator[Fact]:
    """As if models had spoken."""
    for fact in facts:
        if isinstance(fact, TurnTaken):
            read, written = chance.randint(300, 1500), chance.randint(40, 300)
            usage = Usage(
                model_calls=1,
                input_tokens=read,
                output_tokens=written,
                cost=round(read * 1e-6 + written * 4e-6, 6),
            )
            yield fact.model_copy(
                update={"usage": usage, "seconds": round(chance.uniform(0.3, 4), 2)}
            )
        else:
            yield fact


def _times(chance: Random) -> Iterator[int]:
    now = START_NS
    while True:
        yield now
        now += chance.randint(1_000_000, 900_000_000)


if __name__ == "__main__":
    print(write_recordings(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4]))  # noqa: T201

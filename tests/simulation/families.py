"""The families of debates, as a seed draws one: panel, script and text."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from parley.agents.absa.script import AbsaScript
from parley.agents.brain import Task
from parley.agents.forensic.labels import Verdict
from parley.agents.script import Script
from parley.agents.verdicts.script import Line, VerdictScript
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Content
from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.state import DebateState
from tests import absa_debates, debates, deliberations
from tests.absa_scenarios import SCENARIOS
from tests.debates import ROSTER
from tests.vectors_c import VECTORS

# Out of ten seeds, how many are about verdicts, aspects, and questions.
FAMILIES = "vvvvvvaadd"


@dataclass(frozen=True, slots=True)
class Question:
    """What is debated, by whom, and what they will say."""

    panel: Panel
    script: Script
    text: str
    # No debate of this panel has more, whoever is silent.
    most_steps: int


def question_of(seed: int, random: Random) -> Question:
    family = FAMILIES[seed % len(FAMILIES)]
    deadline_s = random.choice((2.0, 4.0, 6.0, 15.0))
    draw: Callable[[Random, float], Question] = {"v": _verdicts, "a": _aspects, "d": _regime}[
        family
    ]
    return draw(random, deadline_s)


def answer(question: Question, task: Task) -> Content:
    return question.script.recite(task.step, task.request, task.persona)


def play(question: Question) -> DebateState:
    """How it goes when nothing goes wrong, without a bus."""
    match question.panel, question.script:
        case VerdictPanel() as panel, VerdictScript() as script:
            return debates.play(panel, script)[1]
        case DeliberationPanel() as panel, Script() as script:
            return deliberations.play(panel, deliberations.scripted(script))[1]
        case AbsaPanel() as panel, AbsaScript() as script:
            return absa_debates.play(panel, script, text=question.text)[1]
        case _:
            raise AssertionError(question)


def _verdicts(random: Random, deadline_s: float) -> Question:
    rounds = random.randint(1, 3)
    panel = debates.panel(
        deadline_s=deadline_s,
        max_rounds=rounds,
        consensus_threshold=random.choice((0.1, 0.3)),
        stalemate_threshold=random.choice((1, 2, 3)),
        skip_unchallenged=random.random() < 0.2,
    )
    script = _script(random, rounds)
    if random.random() < 0.3:
        panel = panel.model_copy(update={"manager": "manager"})
    return Question(panel, script, "a photograph", most_steps=rounds + 3)


def _script(random: Random, rounds: int) -> VerdictScript:
    wordy = random.random() < 0.02
    reasoning = "because " * 2400 if wordy else "because"
    evidence = {"notes": ["x" * 15_000] * 2} if wordy else None

    def line() -> Line:
        return Line(
            verdict=random.choice(tuple(Verdict)),
            confidence=round(random.random(), 2),
            reasoning=reasoning,
            evidence=evidence,
        )

    opening = {persona: line() for persona in ROSTER}
    later = [
        {persona: line() for persona in ROSTER if random.random() < 0.4} for _ in range(rounds)
    ]
    return VerdictScript(rounds=(opening, *later))


def _aspects(random: Random, deadline_s: float) -> Question:
    scenario = random.choice(SCENARIOS)
    panel = absa_debates.panel(*scenario.sets, preset=scenario.preset)
    return Question(
        panel.model_copy(update={"deadline_s": deadline_s}),
        scenario.script,
        scenario.text,
        most_steps=20,
    )


def _regime(random: Random, deadline_s: float) -> Question:
    vector = random.choice(VECTORS)
    panel = deliberations.panel(vector.theta, **vector.params)
    return Question(
        panel.model_copy(update={"deadline_s": deadline_s}),
        deliberations.script_of(vector),
        "lease or buy?",
        most_steps=80,
    )

"""What is debated under fire: random scripts, some of whose agents are slow, silent or failing."""

from random import Random

from parley.agents.forensic.labels import Verdict
from parley.agents.verdicts.script import Line, VerdictScript
from parley.bus.contracts.verdicts.panel import VerdictPanel
from tests.debates import ROSTER, panel

# Short, so that a frozen process misses it.
DEADLINE_S = 4.0


def question(random: Random) -> tuple[VerdictPanel, VerdictScript]:
    rounds = random.randint(1, 3)
    opening = {persona: _line(random) for persona in ROSTER}
    later = [
        {persona: _line(random) for persona in ROSTER if random.random() < 0.5}
        for _ in range(rounds)
    ]
    chosen = panel(
        deadline_s=DEADLINE_S,
        max_rounds=rounds,
        stalemate_threshold=random.choice((1, 2, 3)),
        skip_unchallenged=random.random() < 0.2,
    )
    return chosen, VerdictScript(rounds=(opening, *later))


def _line(random: Random) -> Line:
    mood = random.random()
    return Line(
        verdict=random.choice(tuple(Verdict)),
        confidence=round(random.random(), 2),
        reasoning="because",
        delay_s=round(random.uniform(0.0, 0.4), 3),
        silent=mood < 0.02,
        fail="a bad day" if 0.02 <= mood < 0.04 else None,
    )

"""How long a debate may last while somebody coordinates: each of its steps runs into its deadline."""

from typing import assert_never

from parley.bus.contracts.panel import AbsaPanel, DeliberationPanel, Panel, VerdictPanel
from parley.coordinator.protocols.deliberation.progress import StepKind

# Beside the rounds: the opening, the epilogue and the manager's report.
OUTSIDE_OF_ROUNDS = 3
# The judge, and the judge once more.
JUDGEMENTS = 2
# Three stages, their review and the judge, each asked twice at most.
STAGES = 10


def longest_s(panel: Panel) -> float:
    return most_steps(panel) * panel.deadline_s


def most_steps(panel: Panel) -> int:
    """No debate of the panel has more."""
    match panel:
        case VerdictPanel():
            return panel.params.max_rounds + OUTSIDE_OF_ROUNDS
        case DeliberationPanel():
            return panel.params.max_iterations * len(StepKind) + JUDGEMENTS
        case AbsaPanel():
            return panel.params.rounds * len(panel.params.order) + STAGES
        case _:
            assert_never(panel)

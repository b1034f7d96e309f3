"""What a chamber makes of a round (behaviour A8): who speaks when, in which role, and who loses."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from parley.bus.contracts.verdicts.chamber import Chamber
from parley.bus.contracts.verdicts.content import Phase, Role, Standing
from parley.coordinator.core.addition import total_of
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.trust import UNKNOWN_AGENT_TRUST

# What an opposing message with more evidence takes from a confidence, before the speaker's trust.
LOSS = 0.05
LEAST_CONFIDENCE = 0.1
MOST_CONFIDENCE = 1.0
# Arguments that a message of a synchronous chamber carries as evidence.
SYNCHRONOUS_EVIDENCE = 2

PHASES: tuple[tuple[Phase, Role], ...] = (
    ("claim", "proponent"),
    ("rebuttal", "opponent"),
    ("rejoinder", "proponent"),
    ("summary", "moderator"),
)


def phase_of(round_: int) -> tuple[Phase, Role]:
    """Of a structured chamber; later rounds stay in summary."""
    return PHASES[min(round_, len(PHASES)) - 1]


def speaking_order(positions: Sequence[Position], roster: Sequence[str]) -> tuple[str, ...]:
    """By ascending confidence; equals in roster order, who has not spoken yet last."""
    confidence = {one.agent: one.confidence for one in positions}
    return tuple(sorted(roster, key=lambda name: confidence.get(name, 2.0)))


def roles_of(
    chamber: Chamber, round_: int, positions: Sequence[Position], roster: Sequence[str]
) -> dict[str, Role]:
    if chamber == "structured":
        return dict.fromkeys(roster, phase_of(round_)[1])
    held = {one.agent: one.verdict for one in positions}
    if chamber == "synchronous":
        majority = _strongest(positions)
        return {name: "proponent" if held.get(name) == majority else "opponent" for name in roster}
    order = speaking_order(positions, roster)
    roles: dict[str, Role] = {order[0]: "proponent"}
    for before, name in pairwise(order):
        roles[name] = "proponent" if held.get(name) == held.get(before) else "opponent"
    return roles


def _strongest(positions: Iterable[Position]) -> str | None:
    """The verdict with the largest sum of confidences; of equals the one seen first."""
    sums: dict[str, float] = {}
    for one in positions:
        sums[one.verdict] = sums.get(one.verdict, 0.0) + one.confidence
    return max(sums, key=lambda verdict: sums[verdict], default=None)


def confidence_after(
    chamber: Chamber,
    own: Standing,
    standing: Iterable[Standing],
    spoken: Collection[str],
    trust: Mapping[str, float],
) -> float:
    """Once a round is over: `spoken` are those who sent a message in it."""
    loss = total_of(
        LOSS * trust.get(one.agent, UNKNOWN_AGENT_TRUST)
        for one in standing
        if one.agent in spoken
        and one.verdict != own.verdict
        and evidence_items(chamber, one) > len(own.arguments)
    )
    return min(max(own.confidence - loss, LEAST_CONFIDENCE), MOST_CONFIDENCE)


def evidence_items(chamber: Chamber, said: Standing) -> int:
    """Of a message: the arguments that it carries."""
    count = len(said.arguments)
    return min(count, SYNCHRONOUS_EVIDENCE) if chamber == "synchronous" else count

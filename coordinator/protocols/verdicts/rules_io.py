"""
The rules of verdict debates as filters: one validated object in, one object out.

Here a number out of range, an unknown verdict or an agent named twice is the caller's mistake and
is refused, unlike a brain's reply, which is repaired.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from parley.bus.contracts.base import Contract, Share, Text, Token
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.verdicts.content import FollowUp, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictParams
from parley.coordinator.protocols.verdicts.cobra import (
    CobraAlgorithm,
    CobraResponse,
    CobraResult,
    cobra,
)
from parley.coordinator.protocols.verdicts.declare import declare
from parley.coordinator.protocols.verdicts.disagreement import disagreements
from parley.coordinator.protocols.verdicts.forensic_labels import Verdict
from parley.coordinator.protocols.verdicts.manager import decide_verdict
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.presets import PRESETS
from parley.coordinator.protocols.verdicts.termination import evaluate
from parley.coordinator.protocols.verdicts.trust import resolve_trust

AI_GENERATION_SCORE = "ai_generation_score"


def _verdict(given: object) -> str:
    verdict = Verdict.parse(given) if isinstance(given, str) else None
    if verdict is None:
        raise ValueError(f"unknown verdict {given!r}; known: {', '.join(Verdict)}")
    return verdict


def _reason(given: object) -> object:
    by_name = TerminationReason.__members__
    return by_name.get(given.upper(), given) if isinstance(given, str) else given


def _algorithm(given: object) -> object:
    by_name = CobraAlgorithm.__members__
    return by_name.get(given.upper(), given) if isinstance(given, str) else given


StrictShare = Annotated[Share, Field(strict=True)]


class PositionIn(Contract):
    agent: Token
    verdict: Annotated[str, BeforeValidator(_verdict)]
    confidence: StrictShare

    @property
    def position(self) -> Position:
        return Position(self.agent, self.verdict, self.confidence)


class ManagerResponseIn(PositionIn):
    """`arguments` are quoted in the rationale as the agent's key evidence."""

    arguments: tuple[Text, ...] = ()


class CobraResponseIn(PositionIn):
    evidence: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("evidence")
    @classmethod
    def _score_is_a_share(cls, evidence: dict[str, JsonValue]) -> dict[str, JsonValue]:
        score = evidence.get(AI_GENERATION_SCORE)
        if score is None:
            return evidence
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise ValueError(f"{AI_GENERATION_SCORE} must be a number from 0 to 1, not {score!r}")
        return evidence

    @property
    def response(self) -> CobraResponse:
        score = self.evidence.get(AI_GENERATION_SCORE)
        return CobraResponse(
            self.agent,
            self.verdict,
            self.confidence,
            float(score) if isinstance(score, int | float) else None,
        )


Entries = TypeVar("Entries", bound=tuple[PositionIn, ...])


def _each_agent_once(entries: Entries) -> Entries:
    agents = [entry.agent for entry in entries]
    twice = sorted({agent for agent in agents if agents.count(agent) > 1})
    if twice:
        raise ValueError(f"named twice: {', '.join(twice)}")
    return entries


Round = Annotated[tuple[PositionIn, ...], AfterValidator(_each_agent_once)]


class TerminateVerdictsIn(Contract):
    """
    `history[0]` holds the opening statements. An agent that a later round does not name keeps its
    last statement, as in a debate where it missed its turn.
    """

    params: VerdictParams | None = None
    preset: str | None = None
    history: Annotated[tuple[Round, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_known_source_of_parameters(self) -> Self:
        if self.params is not None and self.preset is not None:
            raise ValueError("give params or a preset, not both")
        if self.preset is not None and self.preset not in PRESETS:
            raise ValueError(f"unknown preset {self.preset!r}; known: {', '.join(PRESETS)}")
        return self

    @property
    def effective_params(self) -> VerdictParams:
        return self.params or PRESETS[self.preset or "default"]


class TerminateVerdictsOut(Contract):
    terminate: bool
    reason: TerminationReason | None
    disagreement: float
    disagreement_history: tuple[float, ...]
    unchanged_streak: int
    declaration: TerminationDeclaration


class ManagerIn(Contract):
    """`trust` replaces the default trust in the agents it names."""

    reason: Annotated[TerminationReason, BeforeValidator(_reason)]
    responses: Annotated[tuple[ManagerResponseIn, ...], AfterValidator(_each_agent_once)]
    trust: dict[Token, StrictShare] = Field(default_factory=dict)


class ManagerOut(Contract):
    final_verdict: str
    confidence: Share
    insufficient_evidence: bool
    incomplete: bool
    follow_ups: tuple[FollowUp, ...]
    rationale: str
    warnings: tuple[str, ...]


class CobraIn(Contract):
    """An agent that `trust` does not name is trusted by half; without `algorithm` one is chosen."""

    responses: Annotated[tuple[CobraResponseIn, ...], AfterValidator(_each_agent_once)]
    trust: dict[Token, StrictShare] = Field(default_factory=dict)
    algorithm: Annotated[CobraAlgorithm | None, BeforeValidator(_algorithm)] = None


CobraOut = CobraResult


def answer_terminate_verdicts(given: TerminateVerdictsIn) -> TerminateVerdictsOut:
    history = tuple(_standing_after_each(given.history))
    evaluation = evaluate(history, given.effective_params)
    return TerminateVerdictsOut(
        terminate=evaluation.terminate,
        reason=evaluation.reason,
        disagreement=evaluation.disagreement,
        disagreement_history=disagreements(history),
        unchanged_streak=evaluation.unchanged_streak,
        declaration=declare(
            evaluation, basis=(), axes=tuple(position.agent for position in history[-1])
        ),
    )


def answer_manager(given: ManagerIn) -> ManagerOut:
    """Raises BadInput when `trust` names an agent that gave no response."""
    roster = tuple(response.agent for response in given.responses)
    trust, warnings = resolve_trust(roster, given.trust)
    decision = decide_verdict(
        given.reason,
        tuple(response.position for response in given.responses),
        trust,
        roster=roster,
        evidence={response.agent: response.arguments for response in given.responses},
    )
    return ManagerOut(
        final_verdict=decision.final_verdict,
        confidence=decision.confidence,
        insufficient_evidence=decision.insufficient_evidence,
        incomplete=decision.incomplete,
        follow_ups=decision.follow_ups,
        rationale=decision.rationale,
        warnings=warnings,
    )


def answer_cobra(given: CobraIn) -> CobraOut:
    return cobra(
        tuple(response.response for response in given.responses), given.trust, given.algorithm
    )


def _standing_after_each(rounds: Sequence[Round]) -> Iterator[tuple[Position, ...]]:
    standing: dict[str, Position] = {}
    for entries in rounds:
        standing |= {entry.agent: entry.position for entry in entries}
        yield tuple(standing.values())

"""
The rules of verdict debates as filters: one validated object in, one object out.

Here a number out of range, an unknown verdict or an agent named twice is the caller's mistake and
is refused, unlike a brain's reply, which is repaired. Labels, trust, presets and the rules to decide
by are those of the panel that the caller hands in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)

from parley.bus.contracts.base import Contract, Share, Text, Token
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import FollowUp, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams, briefs_list
from parley.bus.errors import BadInput
from parley.coordinator.protocols.verdicts.cobra import (
    CobraAlgorithm,
    CobraResponse,
    CobraResult,
    cobra,
)
from parley.coordinator.protocols.verdicts.decide import Case, spread_of
from parley.coordinator.protocols.verdicts.declare import Heard, declare
from parley.coordinator.protocols.verdicts.disagreement import disagreements
from parley.coordinator.protocols.verdicts.manager import decide_verdict
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.sensitivity import sensitivity_of
from parley.coordinator.protocols.verdicts.termination import compile_stops, evaluate
from parley.coordinator.protocols.verdicts.trust import resolve_trust


@dataclass(frozen=True, slots=True)
class Ground:
    """What the rules are applied under: a panel with everybody who can sit on it, its presets."""

    panel: VerdictPanel
    presets: Mapping[str, VerdictParams]


def _reason(given: object) -> object:
    by_name = TerminationReason.__members__
    return by_name.get(given.upper(), given) if isinstance(given, str) else given


def _algorithm(given: object) -> object:
    by_name = CobraAlgorithm.__members__
    return by_name.get(given.upper(), given) if isinstance(given, str) else given


StrictShare = Annotated[Share, Field(strict=True)]


def _label(verdict: str, panel: VerdictPanel) -> str:
    label = verdict.strip().lower()
    if label not in panel.verdicts:
        raise ValueError(f"unknown verdict {verdict!r}; known: {', '.join(panel.verdicts)}")
    return label


class PositionIn(Contract):
    agent: Token
    verdict: str
    confidence: StrictShare

    @field_validator("verdict")
    @classmethod
    def _is_one_of_the_labels(cls, verdict: str, info: ValidationInfo) -> str:
        return _label(verdict, info.context.panel) if isinstance(info.context, Ground) else verdict

    def position(self, panel: VerdictPanel) -> Position:
        """Raises ValueError for a verdict that is none of the panel's; case does not matter."""
        return Position(self.agent, _label(self.verdict, panel), self.confidence)


class ManagerResponseIn(PositionIn):
    """`arguments` are quoted in the rationale as the agent's key evidence."""

    arguments: tuple[Text, ...] = ()


class CobraResponseIn(PositionIn):
    evidence: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("evidence")
    @classmethod
    def _scores_are_shares(
        cls, evidence: dict[str, JsonValue], info: ValidationInfo
    ) -> dict[str, JsonValue]:
        labels = info.context.panel.labels if isinstance(info.context, Ground) else ()
        for name in [one.measured_by for one in labels if one.measured_by is not None]:
            score = evidence.get(name)
            if score is not None and not _is_share(score):
                raise ValueError(f"{name} must be a number from 0 to 1, not {score!r}")
        return evidence

    def response(self, panel: VerdictPanel) -> CobraResponse:
        position = self.position(panel)
        return CobraResponse(*position, spread_of(panel, position.verdict, self.evidence))


def _is_share(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


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
    def _one_source_of_parameters(self) -> Self:
        if self.params is not None and self.preset is not None:
            raise ValueError("give params or a preset, not both")
        return self

    def params_among(self, presets: Mapping[str, VerdictParams]) -> VerdictParams:
        """Raises BadInput for a preset that is none of them."""
        if self.preset is not None and self.preset not in presets:
            raise BadInput(f"unknown preset {self.preset!r}; known: {', '.join(presets)}")
        return self.params or presets[self.preset or "default"]


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


def answer_terminate_verdicts(given: TerminateVerdictsIn, ground: Ground) -> TerminateVerdictsOut:
    """By the brief's stop rules. Raises BadInput for an unknown preset."""
    history = tuple(_standing_after_each(given.history, ground.panel))
    params = given.params_among(ground.presets)
    evaluation = evaluate(history, compile_stops(briefs_list(params)))
    return TerminateVerdictsOut(
        terminate=evaluation.terminate,
        reason=evaluation.reason,
        disagreement=evaluation.disagreement,
        disagreement_history=disagreements(history),
        unchanged_streak=evaluation.unchanged_streak,
        declaration=declare(
            evaluation,
            Heard(tuple(position.agent for position in history[-1])),
            sensitivity_of(ground.panel.model_copy(update={"params": params}), history),
        ),
    )


def answer_manager(given: ManagerIn, ground: Ground) -> ManagerOut:
    """Raises BadInput when `trust` names an agent that gave no response."""
    roster = tuple(response.agent for response in given.responses)
    trust, warnings = resolve_trust(roster, given.trust, ground.panel.trust)
    seats = tuple(Persona(name=name) for name in roster) or ground.panel.personas
    panel = ground.panel.model_copy(update={"personas": seats, "trust": trust})
    positions = tuple(response.position(panel) for response in given.responses)
    decision = decide_verdict(
        given.reason,
        Case(panel, (positions,)),
        quotes={response.agent: response.arguments for response in given.responses},
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


def answer_cobra(given: CobraIn, ground: Ground) -> CobraOut:
    panel = ground.panel
    responses = tuple(response.response(panel) for response in given.responses)
    return cobra(responses, given.trust, panel.verdicts, given.algorithm)


def _standing_after_each(
    rounds: Sequence[Round], panel: VerdictPanel
) -> Iterator[tuple[Position, ...]]:
    standing: dict[str, Position] = {}
    for entries in rounds:
        standing |= {entry.agent: entry.position(panel) for entry in entries}
        yield tuple(standing.values())

"""The panel of a debate of verdicts: who sits on it, when it stops, how it is decided."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from parley.bus.contracts.base import Amount, Contract, Seconds, Share, Token, Whole, is_absent
from parley.bus.contracts.budget import Budget
from parley.bus.contracts.panel import ManagedPanel
from parley.bus.contracts.verdicts.content import Label, PanelLabel

NO_LIMITS = (None, None, None, None)


class VerdictParams(Contract):
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 3
    consensus_threshold: Share = 0.3
    stalemate_threshold: Annotated[Whole, Field(ge=1)] = 2
    high_confidence_threshold: Share = 0.85
    consensus_needs_majority: bool = True
    mixed_content_min_confidence: Share = 0.6
    skip_unchallenged: bool = False
    # How many rounds before the last travel with an ask; the standing statements always do.
    history_rounds: Whole = 0
    # A debate that has used this much is not asked for another round; None sets no limit.
    budget_calls: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    # Read and written together.
    budget_tokens: Annotated[Whole, Field(ge=1)] | None = Field(None, exclude_if=is_absent)
    # In the currency of the prices.
    budget_cost: Annotated[Amount, Field(gt=0)] | None = Field(None, exclude_if=is_absent)
    # Of waiting for the personas: each step counts for its slowest.
    budget_seconds: Annotated[Seconds, Field(gt=0)] | None = Field(None, exclude_if=is_absent)


class VerdictPanel(ManagedPanel):
    protocol: Literal["verdicts"] = "verdicts"
    # Gravest first: ties, colours, prompts and reports follow this order.
    labels: tuple[PanelLabel, ...] = ()
    # The implicit last label, of who cannot tell; also what stands where nobody spoke.
    undecided: Label = "uncertain"
    preset: str = "default"
    params: VerdictParams = VerdictParams()
    # Trust in each persona, by name; complete once the panel is resolved.
    trust: dict[Token, Share] = {}
    # How many personas must have spoken; None means more than half of the roster.
    quorum: Annotated[Whole, Field(ge=1)] | None = None

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Every label that a persona may choose, `undecided` last; empty where the log names none."""
        return (*(label.name for label in self.labels), self.undecided) if self.labels else ()

    @property
    @override
    def limits(self) -> Budget | None:
        """Where a limit is set twice the smaller holds."""
        among_params = (
            self.params.budget_calls,
            self.params.budget_tokens,
            self.params.budget_cost,
            self.params.budget_seconds,
        )
        if among_params == NO_LIMITS:
            return self.budget
        own = self.budget or Budget()
        limits = (own.calls, own.tokens, own.cost, own.seconds)
        calls, tokens, cost, seconds = map(_smaller, limits, among_params)
        return Budget.model_validate(
            {"calls": calls, "tokens": tokens, "cost": cost, "seconds": seconds}
        )

    @property
    def quorum_size(self) -> int:
        return self.quorum if self.quorum is not None else len(self.personas) // 2 + 1


def _smaller(one: float | None, other: float | None) -> float | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)

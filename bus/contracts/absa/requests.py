"""
What each persona of the pipeline is asked. The text itself is the input of the debate.

`attempt` is 2 when a stage or judge that stayed silent is asked once more.
"""

from typing import Annotated, Literal

from pydantic import Field

from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateTurn,
    Protocol,
    SharedContext,
)
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import AteOutput, AtsaOutput, ValidatorOutput
from parley.bus.contracts.base import RequestBase, Token, Whole


class AbsaRequestBase(RequestBase):
    language_code: str = "ko"
    attempt: Annotated[int, Field(ge=1, le=2)] = 1


class AteRequest(AbsaRequestBase):
    kind: Literal["ate_request"] = "ate_request"


class AtsaRequest(AbsaRequestBase):
    kind: Literal["atsa_request"] = "atsa_request"
    ate: AteOutput


class ValidationRequest(AbsaRequestBase):
    kind: Literal["validation_request"] = "validation_request"
    ate: AteOutput
    atsa: AtsaOutput


class DebateTurnRequest(AbsaRequestBase):
    """`history` holds the turns before this one, oldest first; `context` has the memory slot or not."""

    kind: Literal["debate_turn_request"] = "debate_turn_request"
    protocol: Protocol
    round: Annotated[Whole, Field(ge=1)]
    key: Token
    persona: DebatePersona
    context: SharedContext
    history: tuple[DebateTurn, ...] = ()


class JudgeRequest(AbsaRequestBase):
    kind: Literal["judge_request"] = "judge_request"
    protocol: Protocol
    context: SharedContext
    turns: tuple[DebateTurn, ...] = ()


class ReviewRequest(AbsaRequestBase):
    """
    Asked of all Stage 2 reviewers at once: they review Stage 1, not each other.

    `review_context` is None when no debate ran.
    """

    kind: Literal["review_request"] = "review_request"
    ate: AteOutput
    atsa: AtsaOutput
    validator: ValidatorOutput
    review_context: ReviewContext | None = None


AbsaRequest = (
    AteRequest | AtsaRequest | ValidationRequest | DebateTurnRequest | JudgeRequest | ReviewRequest
)

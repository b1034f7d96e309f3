"""Whether a model could be asked, found out without asking it anything."""

from dataclasses import dataclass

from parley.agents.llm.completion import open_endpoint
from parley.agents.llm.fault import Fault, FaultKind, explained
from parley.bus.errors import BadInput
from parley.configs.model import SET_NAME, ModelChoice

_WITHIN_S = 10.0
_LISTED_KIB = 4096
_SHOWN = 5
_UNLISTED = (
    "it lists no models, so it is not known whether it serves chat completions;"
    " check that the address ends in /v1"
)


@dataclass(frozen=True, slots=True)
class EndpointProbe:
    """What is known of a model, in words; not `sure` where the endpoint does not say."""

    text: str
    sure: bool


async def look_up(choice: ModelChoice) -> EndpointProbe:
    """Raises BadInput, Unreachable or Unsuitable with one line that says what to set."""
    who = f"{choice.name} at {choice.host}"
    async with open_endpoint(choice, timeout_s=_WITHIN_S, max_reply_kib=_LISTED_KIB) as endpoint:
        try:
            known = await endpoint.models()
        except Fault as fault:
            if fault.kind is FaultKind.MODEL:
                return EndpointProbe(f"{who}: {_UNLISTED}", sure=False)
            raise explained(fault, choice.key_advice) from None
    if choice.name in known:
        return EndpointProbe(f"{who}: reachable, model known", sure=True)
    others = (", ".join(known[:_SHOWN]) or "none") + (" …" if len(known) > _SHOWN else "")
    raise BadInput(f"{choice.host} knows no model {choice.name!r} (it has: {others}): {SET_NAME}")

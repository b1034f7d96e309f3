"""Whether a model could be asked, found out without asking it anything."""

from parley.agents.model.fault import Fault, FaultKind, explained
from parley.agents.model.wire import open_wire
from parley.bus.errors import BadInput
from parley.configs.model import SET_NAME, ModelChoice

_WITHIN_S = 10.0
_LISTED_KIB = 4096
_SHOWN = 5


async def look_up(choice: ModelChoice) -> str:
    """
    What is known of it, in words.

    Raises BadInput, Unreachable or Unsuitable with one line that says what to set.
    """
    async with open_wire(choice, timeout_s=_WITHIN_S, max_reply_kib=_LISTED_KIB) as wire:
        try:
            known = await wire.models()
        except Fault as fault:
            if fault.kind is FaultKind.MODEL:
                return f"{choice.name} at {choice.host}: reachable, does not list its models"
            if fault.kind is FaultKind.KEY:
                raise BadInput(f"{fault}: {choice.key_advice}") from None
            raise explained(fault) from None
    if choice.name in known:
        return f"{choice.name} at {choice.host}: reachable, model known"
    others = ", ".join(known[:_SHOWN]) + (" …" if len(known) > _SHOWN else "")
    raise BadInput(f"{choice.host} knows no model {choice.name!r} (it has: {others}): {SET_NAME}")

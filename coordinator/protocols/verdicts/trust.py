"""How far each agent is trusted, a share of one; it weighs votes, never who may speak."""

from collections.abc import Mapping, Sequence

from parley.bus.errors import BadInput

UNKNOWN_AGENT_TRUST = 0.5

# An agent of earlier panels: their configurations still name it.
RETIRED_AGENT = "semantic"


def resolve_trust(
    roster: Sequence[str], overrides: Mapping[str, float], usual: Mapping[str, float] = {}
) -> tuple[dict[str, float], tuple[str, ...]]:
    """
    The trust in every agent of the roster, and warnings about overrides that were dropped.

    `usual` is the trust in whom no override names.
    """
    strangers = [agent for agent in overrides if agent not in roster]
    unknown = [agent for agent in strangers if agent != RETIRED_AGENT]
    if unknown:
        raise BadInput(
            f"trust is given for {', '.join(map(repr, unknown))}, "
            f"but the roster is: {', '.join(roster) or 'empty'}"
        )
    resolved = {
        agent: overrides.get(agent, usual.get(agent, UNKNOWN_AGENT_TRUST)) for agent in roster
    }
    return resolved, tuple(
        f"trust for {agent!r} is ignored: no panel has that agent any more" for agent in strangers
    )

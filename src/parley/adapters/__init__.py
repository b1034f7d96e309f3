"""
Agents of other frameworks as brains: pydantic-ai `Agent`, LangChain runnable, openai-agents `Agent`,
an HTTP endpoint, an agent that speaks A2A.

They are known by the package that their class comes from; none of these packages is imported
before somebody hands over an object of it.
"""

from importlib import import_module

from parley.adapters.filling import Speak, filling
from parley.adapters.http import A2A
from parley.bus.extras import extra

# The package of a class, and the module here that asks its objects.
_KNOWN = {
    "pydantic_ai": "parley.adapters.pydantic_ai",
    "langchain_core": "parley.adapters.langchain",
    "agents": "parley.adapters.openai_agents",
}
_CLASSES = {"pydantic_ai": "AbstractAgent", "langchain_core": "Runnable", "agents": "Agent"}


def adapted(what: object, *, language: str = "en") -> Speak | None:
    """How to ask the agent, or the URL of one; None for what is neither."""
    if isinstance(what, str) and what.startswith(("http://", "https://")):
        from parley.adapters.http import endpoint  # noqa: PLC0415 - only who has one

        return endpoint(what)
    if isinstance(what, str) and what.startswith(A2A):
        with extra("a2a", "a2a:URL"):
            from parley.adapters.a2a import filler  # noqa: PLC0415 - only who has one
        return filling(filler(what.removeprefix(A2A)), language)
    for base in type(what).__mro__:
        package = base.__module__.partition(".")[0]
        if _CLASSES.get(package) == base.__name__:
            return filling(import_module(_KNOWN[package]).filler(what), language)
    return None

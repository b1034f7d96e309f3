"""
Parley: debates between agents as durable event streams on NATS.

    async with parley.connect() as client, client.serve(panel):
        debate = await client.submit(panel, "…")
        print((await debate.result(timeout=60)).verdict)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parley import until as until
    from parley.agents.brain import Brain as Brain
    from parley.agents.worker import Worker as Worker
    from parley.bus.errors import ParleyError as ParleyError
    from parley.client import Client as Client
    from parley.client import Debate as Debate
    from parley.client import Event as Event
    from parley.client import Result as Result
    from parley.client import Verification as Verification
    from parley.client import connect as connect
    from parley.panel import Ask as Ask
    from parley.panel import Panel as Panel
    from parley.panel import Turn as Turn
    from parley.seat import OpenAsk as OpenAsk

__version__ = "0.1.0"

# Public names and the modules that hold them; imported when they are used.
_PUBLIC = {
    "Ask": "parley.panel",
    "Brain": "parley.agents.brain",
    "Client": "parley.client",
    "Debate": "parley.client",
    "Event": "parley.client",
    "OpenAsk": "parley.seat",
    "Panel": "parley.panel",
    "ParleyError": "parley.bus.errors",
    "Result": "parley.client",
    "Turn": "parley.panel",
    "Verification": "parley.client",
    "Worker": "parley.agents.worker",
    "connect": "parley.client",
    "until": "parley.until",
}

__all__ = [
    "Ask",
    "Brain",
    "Client",
    "Debate",
    "Event",
    "OpenAsk",
    "Panel",
    "ParleyError",
    "Result",
    "Turn",
    "Verification",
    "Worker",
    "connect",
    "until",
]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'parley' has no attribute {name!r}")
    module = import_module(_PUBLIC[name])
    return module if _PUBLIC[name] == f"parley.{name}" else getattr(module, name)

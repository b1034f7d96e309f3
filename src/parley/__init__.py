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
    from parley.agents.brain import Answer as Answer
    from parley.agents.brain import Brain as Brain
    from parley.agents.brain import BrainFailure as BrainFailure
    from parley.agents.brain import Task as Task
    from parley.agents.worker import Worker as Worker
    from parley.bus.errors import BadInput as BadInput
    from parley.bus.errors import BusError as BusError
    from parley.bus.errors import Gone as Gone
    from parley.bus.errors import NotFound as NotFound
    from parley.bus.errors import ParleyError as ParleyError
    from parley.bus.errors import Unavailable as Unavailable
    from parley.bus.errors import Unreachable as Unreachable
    from parley.bus.errors import Unsuitable as Unsuitable
    from parley.client import Client as Client
    from parley.client import connect as connect
    from parley.debate import Debate as Debate
    from parley.debate import Event as Event
    from parley.debate import Result as Result
    from parley.debate import Verification as Verification
    from parley.panel import Panel as Panel
    from parley.seat import OpenAsk as OpenAsk
    from parley.speaking import Ask as Ask
    from parley.speaking import Turn as Turn

__version__ = "0.1.0"

# Public names and the modules that hold them; imported when they are used.
_PUBLIC = {
    "Answer": "parley.agents.brain",
    "Ask": "parley.speaking",
    "BadInput": "parley.bus.errors",
    "Brain": "parley.agents.brain",
    "BrainFailure": "parley.agents.brain",
    "BusError": "parley.bus.errors",
    "Client": "parley.client",
    "Debate": "parley.debate",
    "Event": "parley.debate",
    "Gone": "parley.bus.errors",
    "NotFound": "parley.bus.errors",
    "OpenAsk": "parley.seat",
    "Panel": "parley.panel",
    "ParleyError": "parley.bus.errors",
    "Result": "parley.debate",
    "Task": "parley.agents.brain",
    "Turn": "parley.speaking",
    "Unavailable": "parley.bus.errors",
    "Unreachable": "parley.bus.errors",
    "Unsuitable": "parley.bus.errors",
    "Verification": "parley.debate",
    "Worker": "parley.agents.worker",
    "connect": "parley.client",
    "until": "parley.until",
}

__all__ = [
    "Answer",
    "Ask",
    "BadInput",
    "Brain",
    "BrainFailure",
    "BusError",
    "Client",
    "Debate",
    "Event",
    "Gone",
    "NotFound",
    "OpenAsk",
    "Panel",
    "ParleyError",
    "Result",
    "Task",
    "Turn",
    "Unavailable",
    "Unreachable",
    "Unsuitable",
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

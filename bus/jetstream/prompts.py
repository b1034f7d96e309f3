"""
Agents of Synadia's agent protocol: found by NATS micro, prompted at
`agents.prompt.parley.{owner}.{name}`. Its own package speaks the protocol.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack

import anyio
from synadia_ai.agent_service import AgentService, PromptStream
from synadia_ai.agents import Envelope, ProtocolError

from parley.bus.errors import ParleyError
from parley.bus.jetstream.connection import Connection
from parley.bus.port import PromptedAgent

HARNESS = "parley"
PROMPTS_AT_ONCE = 16


async def answer_prompts(
    connection: Connection, owner: str, agents: Sequence[PromptedAgent]
) -> None:
    """Until cancelled. Processes that offer the same agents share the prompts."""
    async with AsyncExitStack() as stack:
        for one in agents:
            service = AgentService(
                agent=HARNESS,
                owner=owner,
                session_name=one.name,
                nc=connection.client,
                description=one.about,
                attachments_ok=False,
                max_concurrent_prompts=PROMPTS_AT_ONCE,
            )
            service.on_prompt(_Handler(one))
            await service.start()
            stack.push_async_callback(_stop, service)
        await anyio.sleep_forever()


async def _stop(service: AgentService) -> None:
    with anyio.CancelScope(shield=True):
        await service.stop()


class _Handler:
    def __init__(self, agent: PromptedAgent) -> None:
        self._agent = agent

    async def __call__(self, envelope: Envelope, stream: PromptStream) -> None:
        try:
            async for text in self._agent.answer(envelope.prompt):
                await stream.send(text)
        except ParleyError as error:
            raise ProtocolError(" ".join(str(error).split())) from error

"""Panels as agents of Synadia's agent protocol: a prompt is debated, its answer is the debate."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial

from parley.bus.port import PromptedAgent
from parley.client import Client
from parley.console.runtime.desk import Desk
from parley.console.runtime.submission import Submission

LONGEST_PIECE = 2000


async def serve_prompts(client: Client, owner: str) -> None:
    """Until cancelled. Panels that read nothing but images cannot be prompted."""
    desk = Desk(client, client.settings.panels)
    agents = [
        PromptedAgent(one.name, one.title, partial(_debated, desk, one.name))
        for one in desk.panels().panels
        if one.input != "image"
    ]
    await client.operations.answer_prompts(owner, agents)


async def _debated(desk: Desk, panel: str, prompt: str) -> AsyncIterator[str]:
    """Every fact in words, a line each; the outcome last."""
    debate = await desk.submit(Submission.model_validate({"panel": panel, "text": prompt}))
    async with aclosing(debate.events()) as events:
        async for event in events:
            if event.text:
                yield f"{event.text[:LONGEST_PIECE]}\n"
    yield (await desk.outcome(debate)).text

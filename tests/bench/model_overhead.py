"""
What our client path costs on top of a bare `openai` call, at no model latency.

The endpoint runs in a process of its own. Each block asks the same question both ways, one after
the other: bare (`chat.completions.create` with the very same body) and as a turn of the model
brain (prompt rendered, answer validated, usage counted). Both are measured in CPU time, so that a
busy machine does not decide; what the endpoint takes would only bring the two closer together.

    python -m tests.bench.model_overhead
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai

from parley.agents.model.body import messages_of, parameters_of
from parley.agents.model.manners import Manners
from parley.agents.model.question import Abilities
from parley.agents.model.verdicts import VerdictQuestions
from tests.model_server import model_server
from tests.unit.model.asking import ROUND, brain, settings, task

BLOCKS = 30
CALLS = 20


async def ratio(blocks: int = BLOCKS, calls: int = CALLS) -> tuple[float, float, float]:
    """Ours over bare, and the medians of both in milliseconds."""
    with endpoint() as url:
        chosen = settings(url, timeout_s=30)
        question = await VerdictQuestions().ask(task(ROUND), Abilities())
        messages: Any = messages_of(question.prompt, question.form, Manners())
        parameters = parameters_of(chosen, question.form, Manners())
        async with (
            openai.AsyncOpenAI(api_key="none", base_url=url) as client,
            brain(url, timeout_s=30) as ours,
        ):

            async def bare_call() -> None:
                said = await client.chat.completions.create(
                    model="m", messages=messages, extra_body=parameters
                )
                assert said.choices[0].message.content

            async def our_turn() -> None:
                assert (await ours.speak(task(ROUND))).content.kind == "reply"

            pairs = [
                (await timed(bare_call, calls), await timed(our_turn, calls)) for _ in range(blocks)
            ]
    quotient = statistics.median(own / bare for bare, own in pairs)
    bare = statistics.median(bare for bare, _ in pairs)
    return quotient, bare * 1000, statistics.median(own for _, own in pairs) * 1000


async def timed(work: Callable[[], Awaitable[None]], calls: int) -> float:
    """Of this process's own time: the endpoint's and that of other programs do not count."""
    began = time.process_time()
    for _ in range(calls):
        await work()
    return (time.process_time() - began) / calls


@contextmanager
def endpoint() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.bench.model_overhead", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def serve() -> None:
    async with model_server() as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        times, bare_ms, own_ms = asyncio.run(ratio())
        print(f"bare {bare_ms:.2f} ms, ours {own_ms:.2f} ms, ratio {times:.2f}")

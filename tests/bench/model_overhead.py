"""
What our client path costs on top of a bare `openai` call, at no model latency.

The endpoint runs in a process of its own. The same question is asked both ways in turns: bare
(`chat.completions.create` with the very same body) and as a turn of the model brain (prompt
rendered, answer validated, usage counted). Compared are the medians, in CPU time of this process
and by the clock, which also counts what the endpoint takes.

    python -m tests.bench.model_overhead
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import openai

from parley.agents.llm.endpoint_capabilities import EndpointCapabilities
from parley.agents.llm.question import Abilities
from parley.agents.llm.request_body import messages_of, parameters_of
from parley.agents.llm.verdicts.questions import VerdictQuestions
from tests.model_server import model_server
from tests.unit.agents.llm.asking import ROUND, brain, settings, task

CALLS = 400


class Cost(NamedTuple):
    """Of one call, in milliseconds."""

    cpu_ms: float
    clock_ms: float


class Overhead(NamedTuple):
    bare: Cost
    ours: Cost

    @property
    def cpu(self) -> float:
        return self.ours.cpu_ms / self.bare.cpu_ms

    @property
    def clock(self) -> float:
        return self.ours.clock_ms / self.bare.clock_ms


async def overhead(calls: int = CALLS) -> Overhead:
    with endpoint() as url:
        chosen = settings(url, timeout_s=30)
        question = await VerdictQuestions().ask(task(ROUND), Abilities())
        messages: Any = messages_of(question.prompt, question.form, EndpointCapabilities())
        parameters = parameters_of(chosen, question.form, EndpointCapabilities())
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

            for work in (bare_call, our_turn):
                await work()
            pairs = [(await timed(bare_call), await timed(our_turn)) for _ in range(calls)]
    return Overhead(*map(_median, zip(*pairs, strict=True)))


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


async def timed(work: Callable[[], Awaitable[None]]) -> Cost:
    cpu, clock = time.process_time(), time.perf_counter()
    await work()
    return Cost((time.process_time() - cpu) * 1e3, (time.perf_counter() - clock) * 1e3)


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
        seen = asyncio.run(overhead())
        print(f"bare {seen.bare}\nours {seen.ours}\nCPU {seen.cpu:.2f}, clock {seen.clock:.2f}")

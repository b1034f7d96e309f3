"""An `Agent` of openai-agents: its own instructions, tools and model; the persona's prompt is its input."""

import sys
from typing import Any

from parley.adapters.filling import Fill, Filled
from parley.agents.llm.question import AnyQuestion, Unusable
from parley.bus.contracts.base import Usage


def filler(agent: Any) -> Fill:
    # Its package is called `agents`, and was imported by whoever made the agent.
    sdk: Any = sys.modules["agents"]

    async def fill(question: AnyQuestion) -> Filled:
        prompt = question.prompt
        asked = agent.clone(output_type=question.form)
        try:
            result = await sdk.Runner.run(asked, f"{prompt.system}\n\n{prompt.user}")
        except sdk.ModelBehaviorError as error:
            raise Unusable(str(error)) from error
        used = result.context_wrapper.usage
        usage = Usage(
            model_calls=used.requests,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
        )
        return Filled(result.final_output_as(question.form), usage)

    return fill

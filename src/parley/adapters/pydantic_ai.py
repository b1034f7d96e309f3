"""A pydantic-ai `Agent`: its own instructions, tools and model, with the persona's prompt beside."""

from pydantic_ai import UnexpectedModelBehavior
from pydantic_ai.agent import AbstractAgent

from parley.adapters.filling import Fill, Filled
from parley.agents.llm.question import AnyQuestion, Unusable
from parley.bus.contracts.base import Usage


def filler(agent: AbstractAgent[None, object]) -> Fill:
    async def fill(question: AnyQuestion) -> Filled:
        prompt = question.prompt
        try:
            result = await agent.run(
                prompt.user, instructions=prompt.system, output_type=question.form
            )
        except UnexpectedModelBehavior as error:
            raise Unusable(str(error)) from error
        used = result.usage
        usage = Usage(
            model_calls=used.requests,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
        )
        return Filled(result.output, usage)

    return fill

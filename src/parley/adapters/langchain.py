"""A LangChain runnable: a chat model, a chain or a graph that takes messages and gives text."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from parley.adapters.filling import Fill, Filled
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import AnyQuestion, Form
from parley.agents.llm.schema import compact_schema
from parley.bus.contracts.base import NOTHING_USED, Usage


def filler(runnable: Runnable[Any, Any]) -> Fill:
    async def fill(question: AnyQuestion) -> Filled:
        form: type[Form] = question.form
        system = f"{question.prompt.system}\n\n[JSON_SCHEMA]\n{compact_schema(form)}"
        said = await runnable.ainvoke([SystemMessage(system), HumanMessage(question.prompt.user)])
        if isinstance(said, form):
            return Filled(said)
        last = _last_message(said)
        return Filled(filled_in(form, _text(last)), _usage(last))

    return fill


def _last_message(said: object) -> object:
    """A graph gives its state, in which the last message is the answer."""
    if isinstance(said, dict) and said.get("messages"):
        return said["messages"][-1]
    return said


def _text(said: object) -> str:
    return str(said.text) if isinstance(said, BaseMessage) else str(said)


def _usage(said: object) -> Usage:
    told = said.usage_metadata if isinstance(said, AIMessage) else None
    if told is None:
        return NOTHING_USED
    return Usage(
        model_calls=1, input_tokens=told["input_tokens"], output_tokens=told["output_tokens"]
    )

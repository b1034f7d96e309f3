"""
Answers kept by their prompt, so that a repeated question costs nothing.

In the memory of this process, and, where that is wanted, on the server, where another replica that
is handed the same ask finds them. A persona finds only what it said itself.
"""

import hashlib
import json
from collections import OrderedDict

import structlog
from pydantic import TypeAdapter, ValidationError

from parley.agents.llm.question import AnyQuestion, Form
from parley.agents.llm.schema import schema_of
from parley.bus.contracts.facts import Content
from parley.bus.errors import BusError
from parley.bus.port import Guard, Register, Stores
from parley.bus.subjects import ANSWERS, answer_key
from parley.configs.model import ModelChoice, ModelSettings

_CONTENT: TypeAdapter[Content] = TypeAdapter(Content)

log = structlog.get_logger()


class Answers:
    """`bus` is None where nobody shares."""

    def __init__(self, settings: ModelSettings, bus: Stores | None) -> None:
        self._room = settings.cached_answers
        shared = settings.shared_answers and bus is not None
        self._register: Register | None = bus.register(ANSWERS) if shared and bus else None
        self._own: OrderedDict[str, Content] = OrderedDict()

    @property
    def kept(self) -> bool:
        return self._room > 0 or self._register is not None

    async def find(self, key: str) -> Content | None:
        if key in self._own:
            self._own.move_to_end(key)
            return self._own[key]
        if self._register is None:
            return None
        try:
            found = await self._register.newest(key)
            return _CONTENT.validate_json(found.data) if found is not None else None
        except (BusError, ValidationError) as error:
            log.warning("no_kept_answer", key=key, reason=str(error))
            return None

    async def keep(self, key: str, content: Content) -> None:
        self._own[key] = content
        while len(self._own) > self._room:
            self._own.popitem(last=False)
        if self._register is not None:
            try:
                data = _CONTENT.dump_json(content, exclude_none=True)
                await self._register.replace(key, data, Guard(key, 0))
            except BusError as error:
                log.debug("answer_not_kept", key=key, reason=str(error))


def key_of(panel: str, persona: str, question: AnyQuestion, choice: ModelChoice) -> str:
    """Whatever could change the answer is in it, but for chance."""
    form: type[Form] = question.form
    asked = [
        question.prompt.digest,
        schema_of(form),
        choice.address,
        choice.api,
        choice.known_family,
        choice.name,
        choice.temperature,
        choice.seed,
        choice.max_output_tokens,
    ]
    return answer_key(panel, persona, hashlib.sha256(json.dumps(asked).encode()).hexdigest())

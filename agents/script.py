"""
The scripted brain: plays a file of what is said. Simulations, demos, drills and test vectors use it.

Protocols write their scripts in their own way, found by the entry points of the group
`parley.scripts`. Any protocol can be played by steps, each with what its personas answer:

    panel: market
    params: {reserve: 10}            # as after --set
    text: A clock, 1870              # debated unless an input is given
    steps:
      offers-1: {ann: {kind: offer, amount: 12}, ben: {silent: true}}
      offers-2: {ben: {kind: offer, amount: 15, delay_s: 0.5}}

A line may also say `delay_s`, `silent: true` (it never answers) or `fail: why`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, cast

import anyio
from pydantic import Field, JsonValue, ValidationError, model_validator
from typing_extensions import override

from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.cue import Cue
from parley.agents.files import ParsedFiles
from parley.bus.contracts.base import Contract, Token
from parley.bus.contracts.facts import Content, FailureReason, Request
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.bus.plugins import Plugins
from parley.configs.careful_yaml import parse_yaml

# The name under which a debate's script travels among the blobs of its input.
SCRIPT_BLOB = "script"
DIRECTIONS = tuple(Cue.model_fields)


class Script(Contract):
    """What the scripts of all protocols have."""

    # The key of the lines, by which a file is known.
    key: ClassVar[str]

    panel: Token
    preset: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)
    roster: tuple[Token, ...] | None = None
    # What is debated unless an input is given.
    text: Annotated[str, Field(max_length=200_000)] = ""

    @property
    def about(self) -> str:
        return self.text

    @property
    def settings(self) -> dict[str, JsonValue]:
        """What else the script sets of the panel, as after --set."""
        return {}

    def agents(self) -> set[str]:
        """Whoever has a line."""
        raise NotImplementedError

    def mistakes(self, panel: PanelBase) -> list[str]:
        """What the script says that cannot be said on the panel, each as `place: problem`."""
        del panel
        return []

    def cue(self, step: str, request: Request, persona: str) -> Cue | None:
        """When the persona speaks, or that it does not."""
        raise NotImplementedError

    def recite(self, step: str, request: Request, persona: str) -> Content:
        """What the persona says. Raises BrainFailure where the script has it fail."""
        raise NotImplementedError


class StepLine(Cue):
    content: Content | None = None


class StepScript(Script):
    """For every protocol: contents by step and persona."""

    key: ClassVar[str] = "steps"

    steps: dict[Token, dict[Token, StepLine]]

    @model_validator(mode="before")
    @classmethod
    def _lines_as_people_write_them(cls, value: object) -> object:
        if not isinstance(value, Mapping) or not isinstance(value.get("steps"), Mapping):
            return value
        return {
            **value,
            "steps": {
                step: {
                    persona: cls.line_as_written(str(step), str(persona), raw)
                    for persona, raw in by.items()
                }
                if isinstance(by, Mapping)
                else by
                for step, by in value["steps"].items()
            },
        }

    @classmethod
    def line_as_written(cls, step: str, persona: str, raw: object) -> object:
        """A line is the content itself, with the directions beside it."""
        if not isinstance(raw, Mapping) or "content" in raw:
            return raw
        directions = {key: raw[key] for key in DIRECTIONS if key in raw}
        content = {key: value for key, value in raw.items() if key not in directions}
        if not content and (directions.get("silent") or directions.get("fail") is not None):
            return directions
        return {**directions, "content": cls.content_as_written(step, persona, content)}

    @classmethod
    def content_as_written(
        cls, step: str, persona: str, content: Mapping[str, object]
    ) -> Mapping[str, object]:
        del step, persona
        return content

    @override
    def agents(self) -> set[str]:
        return {persona for lines in self.steps.values() for persona in lines}

    def line(self, step: str, persona: str) -> StepLine | None:
        return self.steps.get(step, {}).get(persona)

    @override
    def cue(self, step: str, request: Request, persona: str) -> Cue | None:
        return self.line(step, persona)

    @override
    def recite(self, step: str, request: Request, persona: str) -> Content:
        line = self.line(step, persona)
        if line is not None and line.fail is not None:
            raise BrainFailure(FailureReason.BRAIN_ERROR, line.fail)
        if line is None or line.content is None:
            return self.unscripted(step, request, persona)
        return line.content

    def unscripted(self, step: str, request: Request, persona: str) -> Content:
        """What is said by somebody without a line. Raises BrainFailure where that is nothing."""
        del request
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"the script has no line for {persona} in {step}"
        )


# How a protocol's scripts are written.
SCRIPTS: Mapping[str, type[Script]] = Plugins("parley.scripts", cast("Any", type))


def is_script(content: Mapping[str, object]) -> bool:
    """Whether a file with these keys holds the lines of a debate."""
    keys = {StepScript.key, *(script.key for script in SCRIPTS.values())}
    return not keys.isdisjoint(content)


def script_schema(content: object, protocol: str | None = None) -> type[Script]:
    """By the protocol, where it is known, and by the key of the lines."""
    keys = set(content) if isinstance(content, Mapping) else set()
    if protocol is not None:
        own = SCRIPTS.get(protocol)
        if own is not None and own.key in keys:
            return own
        return StepScript if own is None or StepScript.key in keys else own
    known = sorted(SCRIPTS.items(), key=lambda one: one[0] != _panel_in(content))
    fitting = [script for _, script in known if script.key in keys]
    return fitting[0] if fitting else StepScript


def parse_script(text: str | bytes, source: str = "script", protocol: str | None = None) -> Script:
    """Raises BadInput that names every mistake."""
    content = parse_yaml(text, source)
    try:
        return script_schema(content, protocol).model_validate(content)
    except ValidationError as error:
        mistakes = "; ".join(
            f"{'.'.join(str(part) for part in mistake['loc']) or 'file'}: {mistake['msg']}"
            for mistake in error.errors(include_url=False)
        )
        raise BadInput(f"{source}: {mistakes}") from error


def recite(script: Script, request: Request, persona: str, step: str = "") -> Content:
    """What the script lets a persona say. Raises BrainFailure where it has it fail."""
    return script.recite(step, request, persona)


class ScriptedBrain:
    """Plays the script that travels with the debate, or one given to it for all debates."""

    name = "script"

    def __init__(self, script: Script | None = None) -> None:
        self._given = script
        self._files: dict[str, ParsedFiles[Script]] = {}

    async def speak(self, task: Task) -> Answer:
        script = self._given or await self._travelling(task)
        cue = script.cue(task.step, task.request, task.persona)
        if cue is not None and cue.silent:
            await anyio.sleep_forever()
        if cue is not None and cue.delay_s:
            await anyio.sleep(cue.delay_s)
        return Answer(script.recite(task.step, task.request, task.persona))

    async def _travelling(self, task: Task) -> Script:
        ref = task.input.blobs.get(SCRIPT_BLOB)
        if ref is None:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST, "the debate carries no script to play"
            )
        protocol = task.protocol
        if protocol not in self._files:
            self._files[protocol] = ParsedFiles(lambda data: parse_script(data, protocol=protocol))
        return await self._files[protocol].read(task, ref)


def _panel_in(content: Any) -> object:
    return content.get("panel") if isinstance(content, Mapping) else None

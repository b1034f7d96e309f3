"""Every prompt of a panel, rendered in both languages and held to the rules (`parley prompts lint`)."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from parley.agents.brain import Task
from parley.agents.llm.prompt_rules import faults, said_by_others
from parley.agents.llm.question import (
    FAMILIES,
    Abilities,
    Prompt,
    QuestionOptions,
    RegisteredQuestions,
)
from parley.agents.llm.verdicts.questions import IMAGE
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.subjects import DebateRef
from parley.configs.panel_files import panel_files_of
from parley.configs.panels import panel_path, read_panel
from parley.console.inputs.kind import input_of
from parley.console.runtime.inputs import Material
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.prompt_files import prompts_in
from parley.console.runtime.stand_ins import asks
from parley.console.runtime.submit import panel_for
from parley.prompts import LANGUAGES

# Long enough that a prompt cannot hold it twice by chance.
TEXTS = {
    "en": "The soup was served cold at our table, but the waiter by the window was friendly all evening.",
    "ko": "우리 자리에 나온 수프는 다 식어 있었지만 창가 쪽 직원은 저녁 내내 친절했고 계산도 아주 빨랐으며 주차장도 넓어서 편하게 다녀왔어요.",
}
# As much of a picture as its file has to say.
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0\x08\x02"


@dataclass(frozen=True, slots=True)
class Rendered:
    """`where` names panel, language, persona and step."""

    where: str
    prompt: Prompt
    theirs: frozenset[str]
    placeholders: tuple[str, ...]
    fields: tuple[str, ...]

    def faults(self) -> list[str]:
        found = faults(self.prompt, self.theirs, self.placeholders, self.fields)
        return [f"{self.where}: {one}" for one in found]


async def rendered(name: str, panels_dir: Path | None = None) -> AsyncIterator[Rendered]:
    """One for each kind of ask of each persona, in each language; images seen and unseen."""
    content, _ = read_panel(panel_path(name, panels_dir))
    for sets in panel_files_of(content.protocol).courses:
        wishes = Wishes(sets=sets, panels_dir=panels_dir, models=True)
        for language in LANGUAGES:
            material = Material(text=TEXTS[language])
            panel = panel_for(wished_panel(name, wishes).panel, material.text, language)
            for persona, step, request in _asked(panel, material):
                for vision in (False, True) if _sees(panel) else (False,):
                    where = f"{name} {language} {persona} {step}{' vision' if vision else ''}"
                    yield await _rendered(
                        where, panel, persona, step, request, language, panels_dir, vision=vision
                    )


def _sees(panel: Panel) -> bool:
    return input_of(panel).takes(panel) in {"image", "both"}


def _asked(panel: Panel, material: Material) -> Iterator[tuple[str, str, Request]]:
    """The first of each kind, and the second, which others spoke before."""
    for persona in panel.everybody:
        seen: list[str] = []
        for step, request in asks(panel, persona, material, None):
            if seen.count(request.kind) < 2:  # noqa: PLR2004
                seen.append(request.kind)
                yield persona, step, request


async def _rendered(  # noqa: PLR0913, PLR0917  one argument for each thing that makes a prompt
    where: str,
    panel: Panel,
    persona: str,
    step: str,
    request: Request,
    language: str,
    panels_dir: Path | None,
    *,
    vision: bool,
) -> Rendered:
    ref = BlobRef(sha256=hashlib.sha256(_PNG).hexdigest(), size=len(_PNG), media_type="image/png")

    async def fetch(_ref: BlobRef) -> bytes:
        return _PNG

    about = DebateInput(text=TEXTS[language], blobs={IMAGE: ref} if _sees(panel) else {})
    task = Task(
        ref=DebateRef(panel.name, "lint"),
        persona=persona,
        step=step,
        request=request,
        input=about,
        fetch=fetch,
    )
    options = QuestionOptions(language, prompts_in(panels_dir), measures=False)
    question = await RegisteredQuestions(options).ask(task, Abilities(vision, language))
    known = FAMILIES[panel.protocol].placeholders or ()
    theirs = frozenset({TEXTS[language], *said_by_others(request)})
    return Rendered(where, question.prompt, theirs, known, tuple(question.form.model_fields))

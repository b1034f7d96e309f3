"""What a panel that is free of mistakes will still not do, each in one line."""

from collections.abc import Iterator
from pathlib import Path

from parley.agents.llm.question import FAMILIES
from parley.agents.registry import thinks_offline
from parley.bus.contracts.panel import PanelBase
from parley.configs.panel_files import PanelFile
from parley.console.runtime.prompt_files import prompts_in, unused_prompts
from parley.prompts import FALLBACK, PromptFolders


def notes_on(panel: PanelFile, panels_dir: Path | None, language: str) -> Iterator[str]:
    """`language` is the one in which models are asked."""
    protocol = panel.protocol
    yield from _on_people(panel)
    if not thinks_offline(panel.name, protocol, panel.brains):
        yield "nobody thinks offline for it: use --brain model or a script"
    family = FAMILIES.get(protocol)
    if family is None:
        yield f"no model can be asked: nobody registered how panels of {protocol} ask"
        return
    yield from unused_prompts(panel.name, protocol, panel.everybody, panels_dir)
    if family.placeholders is not None:
        folders = PromptFolders(protocol, prompts_in(panels_dir))
        yield from _on_prompts(panel, folders, language)


def _on_people(panel: PanelBase) -> Iterator[str]:
    for name, person in panel.people.items():
        rest = "is waited for" if person.waits else "is asked, the others go on"
        yield (
            f"{name} is a person: no agent speaks there; {rest}, up to"
            f" {lasting(person.person_deadline_s)} a step (parley sit {panel.name}/{name}, or the page)"
        )


def lasting(seconds: float) -> str:
    for unit, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:g} {name}"
    return f"{seconds:g} seconds"


def _on_prompts(panel: PanelBase, folders: PromptFolders, language: str) -> Iterator[str]:
    own = {path.stem for path in folders.own_files(panel.name)}
    for role in sorted(own):
        found = folders.find_own(panel.name, role, language)
        if found is None or found.parent.name != language:
            yield f"no prompt {role!r} in {language}"
    about = folders.find_own(panel.name, "about", language)
    if language != FALLBACK and (about is None or about.parent.name != language):
        yield f"no prompt 'about' in {language}: question and labels are told as they stand here"
    nameless = [
        one.name
        for one in panel.personas
        if not one.human
        and not (one.role or one.speciality)
        and folders.find_own(panel.name, one.name, language) is None
    ]
    if nameless:
        yield (
            f"no role and no speciality: {', '.join(nameless)};"
            " a model is told no more of them than the name"
        )

"""The prompts that stand beside a user's panel files: found, checked, and what they leave out."""

from collections.abc import Collection, Iterable
from pathlib import Path

from parley.agents.llm.question import FAMILIES, Form, suits
from parley.bus.errors import BadInput
from parley.configs.panels import panel_paths, read_panel
from parley.prompts import EXAMPLES, FOLDER, LANGUAGES, PromptFolders, examples_in, misspelt


def prompts_in(panels_dir: Path | None) -> Path | None:
    return panels_dir / FOLDER if panels_dir is not None else None


def prompt_mistakes(panel: str, protocol: str, panels_dir: Path | None) -> list[str]:
    """One line for each placeholder that nobody fills in, each file or example of no use."""
    family = FAMILIES.get(protocol)
    if family is None:
        return []
    mistakes = []
    folders = PromptFolders(protocol, prompts_in(panels_dir))
    own = folders.own_files(panel) if family.placeholders is not None else ()
    for path in (*own, *folders.own_examples(panel)):
        try:
            if path.name.endswith(EXAMPLES):
                mistakes += _suiting_nothing(path, family.forms)
            else:
                mistakes += misspelt(path, family.placeholders or ())
        except BadInput as error:
            mistakes.append(str(error))
    return mistakes


def _suiting_nothing(path: Path, forms: Collection[type[Form]] | None) -> list[str]:
    """Raises BadInput for a file that holds no examples."""
    return [
        f"{path}: {place}.answer: no persona is asked for all of {', '.join(one.answer)}"
        " (the fields that a prompt asks for: parley prompts show)"
        for place, one in enumerate(examples_in(path))
        if forms is not None and not any(suits(one, form) for form in forms)
    ]


def raise_for_prompts(panels: Iterable[str], panels_dir: Path | None) -> None:
    """Raises BadInput with one line for each mistake in the user's prompts for the panels."""
    if panels_dir is None:
        return
    paths = panel_paths(panels_dir)
    mistakes = [
        mistake
        for name in panels
        if name in paths
        for mistake in prompt_mistakes(name, read_panel(paths[name])[0].protocol, panels_dir)
    ]
    if mistakes:
        raise BadInput("\n".join(mistakes))


def unused_prompts(
    panel: str, protocol: str, everybody: Iterable[str], panels_dir: Path | None
) -> list[str]:
    """The user's prompts for the panel that no model will be told."""
    folders = PromptFolders(protocol, prompts_in(panels_dir))
    own, examples = folders.own_files(panel), folders.own_examples(panel)
    family = FAMILIES.get(protocol)
    if family is None:
        return [f"{path}: nobody asks models for panels of {protocol}" for path in own + examples]
    names = set(everybody)
    known = {*family.roles, *names}
    unread = [
        f"{path}: will not be read: it is of no language or no persona of the panel"
        for path in examples
        if path.parent.name not in LANGUAGES or path.name.removesuffix(EXAMPLES) not in names
    ]
    if family.placeholders is None:
        return [
            *unread,
            *(f"{path}: panels of {protocol} have no prompts of their own" for path in own),
        ]
    return [*unread, *_unused(own, known, family.roles)]


def _unused(own: Iterable[Path], known: Collection[str], roles: Iterable[str]) -> list[str]:
    return [
        f"{path}: will not be read: there is no language {path.parent.name!r}"
        if path.parent.name not in LANGUAGES
        else f"{path}: will not be read: {path.stem!r} is neither a persona nor one of"
        f" {', '.join(roles)}"
        for path in own
        if path.parent.name not in LANGUAGES or path.stem not in known
    ]

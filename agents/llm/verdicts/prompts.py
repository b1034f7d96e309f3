"""
The prompts of a panel of verdicts, filled in with what the panel says about itself.

The system text is the rules, then the panel's question and labels, then who is asked: everything
that stays the same in all debates of a persona. What others wrote never stands there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from parley.agents.llm.untrusted import plain
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import Brief, brief_in
from parley.prompts import PromptFolders, Section, example_sections, fill, render

PROTOCOL = "verdicts"
# Personas of panels, in their languages.
PROMPTS_KEPT = 256
PLACEHOLDERS = (
    "persona",
    "role",
    "speciality",
    "goal",
    "stance",
    "style",
    "question",
    "labels",
    "first_label",
    "undecided",
)
# Whatever file of the protocol a panel may replace; a persona's own prompt has the persona's name.
ROLES = (
    "rules",
    "about",
    "about_any",
    "card",
    "persona",
    "opening",
    "round",
    "ruling",
    "dissent",
    "localize",
    "seen",
    "unseen",
    "reporting",
    "manager",
    "report",
)


@lru_cache(maxsize=PROMPTS_KEPT)
def prompts_for(
    folders: PromptFolders, panel: str, language: str, brief: str, persona: str
) -> "PanelPrompts":
    """Filled in once for all debates of a panel; `brief` as requests carry it."""
    told = brief_in(brief)
    known = {one.name: one for one in told.personas}
    return PanelPrompts(folders, panel, language, told, known.get(persona, Persona(name=persona)))


@dataclass(frozen=True, eq=False)
class PanelPrompts:
    """In one language, for one persona of one panel."""

    folders: PromptFolders
    panel: str
    language: str
    brief: Brief
    persona: Persona
    _texts: dict[str, str] = field(default_factory=dict)
    _systems: dict[tuple[str, str], str] = field(default_factory=dict)

    def text(self, role: str) -> str:
        if role not in self._texts:
            read = self.folders.read(self.panel, role, self.language)
            self._texts[role] = fill(read, self._values)
        return self._texts[role]

    def system(self, rules: str = "rules", usual: str = "persona") -> str:
        if (rules, usual) not in self._systems:
            self._systems[rules, usual] = self._system(rules, usual)
        return self._systems[rules, usual]

    def _system(self, rules: str, usual: str) -> str:
        """`usual` is the prompt of whoever has neither one of their own nor a speciality."""
        about = self.text("about" if self.brief.labels else "about_any")
        card = self.text("card")
        own = self._own(usual)
        role = f"{card}\n{own}" if own else card
        sections = [Section("PANEL", about), Section("ROLE", role)]
        if rules == "rules":
            found = self.folders.examples(self.panel, self.persona.name, self.language)
            sections += example_sections(found, self.language)
        return render(self.text(rules), sections)

    def _own(self, usual: str) -> str:
        name = self.persona.name
        may = name not in ROLES or name == usual
        if may and self.folders.find_own(self.panel, name, self.language) is not None:
            return self.text(name)
        described = bool(self.persona.role or self.persona.speciality)
        return "" if described else self.text(usual)

    @cached_property
    def _values(self) -> Mapping[str, str]:
        labels, persona = self.brief.labels, self.persona
        return {
            "persona": persona.name,
            "role": one_line(persona.role),
            "speciality": one_line(persona.speciality),
            "goal": one_line(persona.goal or ""),
            "stance": persona.stance or "",
            "style": one_line(persona.style or ""),
            "question": one_line(self.brief.question),
            "labels": "\n".join(_told(one.name, one.means) for one in labels),
            "first_label": labels[0].name if labels else self.brief.undecided,
            "undecided": self.brief.undecided,
        }


def one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _told(name: str, means: str) -> str:
    meaning = one_line(means)
    return f"- `{name}`: {meaning}" if meaning else f"- `{name}`"

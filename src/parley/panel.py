"""
A panel from Python: its labels, when it stops, and who speaks.

    panel = Panel("merge-review", labels=["reject", "approve"], stop=until.rounds(3))

    @panel.persona("security", role="Security reviewer")
    async def security(ask: Ask) -> Turn: ...
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Self, TypeAlias, TypeVar

from pydantic import JsonValue

from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.panels import brains_of, panel_of, parse_sets, resolve
from parley.speaking import Ask, Turn
from parley.until import Until

Label: TypeAlias = str | Mapping[str, str]
Speak: TypeAlias = Callable[[Ask], Awaitable[Turn] | Turn]
SpeakT = TypeVar("SpeakT", bound=Speak)


class Panel:
    """A panel and those who speak on it. Nothing is opened or read before it is served."""

    def __init__(
        self,
        name: str,
        *,
        labels: Iterable[Label],
        stop: Until | None = None,
        undecided: str = "unsure",
        title: str = "",
        **more: JsonValue,
    ) -> None:
        """`labels` gravest first; `more` are further keys of a panel file (`decide`, `visibility`)."""
        self.name = name
        self._content: dict[str, object] = {
            "title": title,
            "protocol": "verdicts",
            "labels": [{"name": one} if isinstance(one, str) else dict(one) for one in labels],
            "undecided": undecided,
            **({"stop": [dict(rule) for rule in stop.rules]} if stop is not None else {}),
            **more,
        }
        self._personas: dict[str, dict[str, object]] = {}
        self._trust: dict[str, float] = {}
        # As a file has it, whatever its protocol.
        self._file: PanelBase | None = None
        # Whose rules think for it, where its file names them.
        self.rules: str | None = None
        self.brains: dict[str, object] = {}

    @classmethod
    def from_file(
        cls, path: str | Path, *, preset: str = "default", sets: Iterable[str] = ()
    ) -> Self:
        """
        The panel of a file; `sets` are what `--set` takes: `deadline_s=5`.

        Its personas can be given brains; those without are left to agents elsewhere, or to the
        panel's own rules. Raises BadInput with one line for each mistake.
        """
        file = Path(path)
        panel = cls(file.stem, labels=())
        folder = file.parent
        panel._file = resolve(file.stem, preset, parse_sets(sets), panels_dir=folder).panel
        panel.rules = brains_of((file.stem,), folder).get(file.stem)
        return panel

    def persona(
        self,
        name: str,
        *,
        role: str = "",
        speciality: str = "",
        goal: str | None = None,
        trust: float | None = None,
    ) -> Callable[[SpeakT], SpeakT]:
        """Seat a function; it is asked once in every round."""

        def decorate(speak: SpeakT) -> SpeakT:
            self.seat(name, speak, role=role, speciality=speciality, goal=goal, trust=trust)
            return speak

        return decorate

    def seat(  # noqa: PLR0913 - one argument for each thing that is said of a persona
        self,
        name: str,
        brain: object,
        *,
        role: str = "",
        speciality: str = "",
        goal: str | None = None,
        trust: float | None = None,
    ) -> None:
        """
        Seat a brain: a function, an object or class with `speak`, an agent of another framework.

        Raises BadInput for a seat that is taken, or that the panel's file does not have.
        """
        if name in self.brains or self._personas.get(name, {}).get("human"):
            raise BadInput(f"panel {self.name}: persona {name!r} is seated twice")
        described = {"name": name, "role": role, "speciality": speciality, "goal": goal}
        if self._file is not None:
            self._check_seat_of_file(name, any((role, speciality, goal, trust)))
        self._add(described, trust)
        self.brains[name] = brain

    def human(  # noqa: PLR0913 - as above
        self,
        name: str,
        *,
        role: str = "",
        speciality: str = "",
        deadline_s: float | None = None,
        waits: bool = True,
        trust: float | None = None,
    ) -> None:
        """
        Seat a person, asked through `Client.asks`, `parley sit` or the page.

        `deadline_s` is at most 30 days, three where nothing is said. Without `waits` the others go
        on, and the turn counts in the round it comes in.
        """
        if self._file is not None:
            raise BadInput(f"panel {self.name}: whether {name!r} is a person stands in its file")
        if name in self._personas:
            raise BadInput(f"panel {self.name}: persona {name!r} is seated twice")
        described = {"name": name, "role": role, "speciality": speciality, "human": True}
        self._add({**described, "deadline_s": deadline_s, "waits": waits}, trust)

    def _add(self, described: Mapping[str, object], trust: float | None) -> None:
        name = str(described["name"])
        self._personas[name] = {k: v for k, v in described.items() if v is not None}
        if trust is not None:
            self._trust[name] = trust

    def _check_seat_of_file(self, name: str, described: bool) -> None:  # noqa: FBT001
        assert self._file is not None
        if name not in self._file.everybody:
            unknown = name_unknown("persona", name, self._file.everybody)
            raise BadInput(f"panel {self.name}: {unknown}")
        if described:
            raise BadInput(f"panel {self.name}: what {name!r} is stands in the panel's file")

    def resolved(self) -> PanelBase:
        """As a debate runs it. Raises BadInput with one line for each mistake."""
        if self._file is not None:
            return self._file
        content = {
            **self._content,
            "personas": list(self._personas.values()),
            "trust": self._trust,
        }
        return panel_of(self.name, content).panel

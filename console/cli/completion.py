"""
Shell completion: which command, panel, persona or debate begins like this.

What stands here is told without importing the commands; their options are told by themselves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand
from typer.main import get_command
from typing_extensions import override

from parley.bus.errors import ParleyError

# Nobody waits longer for a list of ids.
WITHIN_S = 1.0
MOST_IDS = 50
MOST_SHOWN = 500

Values = Callable[["Settings"], Iterable[str]]

if TYPE_CHECKING:
    # Imported by whoever is asked for them.
    from parley.configs.settings import Settings


def panels(settings: "Settings") -> Iterable[str]:
    from parley.configs.panels import panel_paths  # noqa: PLC0415

    return panel_paths(settings.panels)


def seats(settings: "Settings") -> Iterable[str]:
    """PANEL/PERSONA."""
    from parley.configs.files import read_mapping  # noqa: PLC0415
    from parley.configs.panels import panel_paths  # noqa: PLC0415

    for name, path in panel_paths(settings.panels).items():
        with suppress(ParleyError):
            given = read_mapping(path).get("personas")
            for one in given if isinstance(given, list) else []:
                persona = one.get("name") if isinstance(one, dict) else one
                if isinstance(persona, str):
                    yield f"{name}/{persona}"


def debates(settings: "Settings") -> Iterable[str]:
    """The newest of the log and of the archive."""
    import anyio  # noqa: PLC0415

    from parley.client import join  # noqa: PLC0415

    async def ask() -> set[str]:
        found = set[str]()
        with anyio.move_on_after(WITHIN_S):
            # A shell that completes shows no warnings.
            async with join(settings, warn=lambda _: None) as client:
                found.update(await client.reading.ids(MOST_IDS))
        return found

    return sorted(anyio.run(ask), reverse=True)


# What the words behind a command are; only the first of them is a panel or a seat.
_FIRST: Mapping[str, Values] = {
    **dict.fromkeys(("run", "submit", "batch", "panels"), panels),
    **dict.fromkeys(("agent", "sit"), seats),
    **dict.fromkeys(("show", "watch", "cancel", "delete", "rerun"), debates),
    **dict.fromkeys(("replay", "verify", "backtest"), debates),
}
_EACH: Mapping[str, Values] = {**dict.fromkeys(("export", "report"), debates), "agent": seats}
_OPTIONS: Mapping[str, Values] = {"--panel": panels, "--without": seats, "--debate": debates}


def completed(name: str, module: str) -> TyperCommand | None:
    """What stands for a command while its words are completed; None for one with none of these."""
    known = name in _FIRST or name in _EACH or name in {"list", "up", "import", "serve"}
    return _Words(name, module) if known else None


class _Words(TyperCommand):
    def __init__(self, name: str, module: str) -> None:
        more = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(name, context_settings=more, add_help_option=False)
        self._module = module

    @override
    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        if incomplete.startswith("-"):
            options: list[Any] = get_command(import_module(self._module).app).shell_complete(
                ctx, incomplete
            )
            return options
        return [CompletionItem(one) for one in self._words(ctx.args) if one.startswith(incomplete)]

    def _words(self, given: Sequence[str]) -> list[str]:
        from parley.configs.settings import load  # noqa: PLC0415

        name, first = self.name or "", all(one.startswith("-") for one in given)
        values = _OPTIONS.get(given[-1]) if given else None
        values = values or _EACH.get(name) or (_FIRST.get(name) if first else None)
        if values is None:
            return []
        try:
            return list(values(load(flags={"nats.url": _behind("--nats", given)})))[:MOST_SHOWN]
        except ParleyError:
            # A shell that completes shows no errors.
            return []


def _behind(option: str, given: Sequence[str]) -> str | None:
    if option not in given[:-1]:
        return None
    return given[given.index(option) + 1]

"""The seats that the settings give a model of their own, compared with the panels there are."""

from collections.abc import Iterator
from pathlib import Path

from parley.bus.errors import BadInput
from parley.configs.model import ModelSettings
from parley.configs.names import name_unknown
from parley.configs.panels import panel_paths, read_panel


def unknown_seats(model: ModelSettings, panels_dir: Path | None) -> list[str]:
    """One line for each on which nobody can sit: its model would never be asked."""
    return [f"model.seats: {mistake}" for mistake in _mistakes(model, panel_paths(panels_dir))]


def _mistakes(model: ModelSettings, paths: dict[str, Path]) -> Iterator[str]:
    for seat in model.seats:
        panel, _, persona = seat.partition("/")
        if panel not in paths:
            yield f"{seat}: {name_unknown('panel', panel, paths)}"
        elif persona and (known := _everybody(paths[panel])) and persona not in known:
            yield f"{seat}: {name_unknown('persona', persona, known)}"


def _everybody(path: Path) -> tuple[str, ...]:
    """Nobody on a panel with mistakes: those are told where it is used."""
    try:
        content, _ = read_panel(path)
    except BadInput:
        return ()
    # Parameters may seat speakers of their own.
    return tuple(dict.fromkeys((*content.everybody, *content.usual_roster)))

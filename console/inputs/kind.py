"""
What the debates of a protocol are about, and how that is read: from a file, stdin, a text, a form.

Protocols are found by the entry points of the group `parley.inputs`; one that says nothing is
given a text, or a file as what it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.bus.plugins import Plugins
from parley.configs.panels import Resolution
from parley.console.runtime.inputs import Material, read_material

Takes = Literal["text", "image", "both", "question"]


@dataclass(frozen=True, slots=True)
class Form:
    """What somebody filled in who submits over HTTP; an image is looked at elsewhere."""

    text: str | None = None
    question: dict[str, JsonValue] | str | None = None


def _text_or_file(_panel: PanelBase, given: str) -> list[Material]:
    return [read_material(given)]


def _written_text(panel: PanelBase, form: Form) -> Material:
    return Material(text=text_of(form, f"the panel {panel.name} reads a text"))


def _as_it_is(panel: Panel, _text: str, _language: str | None) -> Panel:
    return panel


def _complete(panel: Panel) -> Resolution:
    return Resolution(panel)


def _no_refusal(_panel: PanelBase, _material: Material, *, by_model: bool) -> str | None:
    del by_model
    return None


@dataclass(frozen=True, slots=True)
class InputKind:
    """`read`, `write` and `complete` raise BadInput that names every mistake."""

    takes: Callable[[PanelBase], Takes] = lambda _panel: "text"
    # Everything that one argument of the command line stands for.
    read: Callable[[PanelBase, str], list[Material]] = _text_or_file
    # What a form without an image stands for.
    write: Callable[[PanelBase, Form], Material] = _written_text
    # The panel as it suits a text; without a language it is found out.
    suit: Callable[[Panel, str, str | None], Panel] = _as_it_is
    # The panel with what its file left to defaults, and what to warn of.
    complete: Callable[[Panel], Resolution] = _complete
    # Why those who answer could not think about it; models can make do with less.
    refusal: Callable[..., str | None] = _no_refusal
    # What to warn of in an input whose language was found out.
    doubt: Callable[[Material], str | None] = lambda _material: None
    # What can be chosen by `--regime`.
    regimes: tuple[str, ...] = ()


INPUTS: Mapping[str, InputKind] = Plugins("parley.inputs", InputKind)
PLAIN = InputKind()


def input_of(panel: PanelBase) -> InputKind:
    return INPUTS.get(panel.protocol, PLAIN)


def refusal_of(panel: PanelBase, material: Material, *, by_model: bool) -> str | None:
    kind = input_of(panel)
    if material.image is not None and kind.takes(panel) not in {"image", "both"}:
        return f"image: the panel {panel.name} reads a text"
    return kind.refusal(panel, material, by_model=by_model)


def text_of(form: Form, why: str) -> str:
    if form.text is None or not form.text.strip():
        raise BadInput(f"text: is empty; {why}")
    return form.text

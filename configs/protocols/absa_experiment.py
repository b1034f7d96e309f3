"""
Experiment YAML for the aspect-sentiment pipeline, as documents 001, 002 and 004 show it.

Parameters stand at the top, under `pipeline`, or under `global.pipeline` (a conditions file).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from parley.bus.contracts.absa.debate import Protocol
from parley.bus.contracts.absa.params import DEFAULT_ORDER, AbsaParams
from parley.configs.mistakes import dotted
from parley.configs.names import name_unknown
from parley.configs.panel_files import Experiment, Override

# Blocks that only hold others, by where they may stand.
_AROUND: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("pipeline", "global"),
    ("global",): ("pipeline",),
}
# Metadata that reads like a parameter, with what it is taken for.
_METADATA = {"max_rounds": "debate.rounds sets the number of rounds"}
_CONDITION = ("episodic_memory", "condition")
_SEEDS = ("experiment", "repeat", "seeds")
# Of two spellings; `max_rounds` and `rounds` are further apart.
_NEARLY_ALIKE = 0.8
_FIRST: Protocol = "v1"


@dataclass(slots=True)
class _Found:
    values: dict[str, object] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)


def read_absa_experiment(content: Mapping[str, object], origin: str) -> Experiment:
    found = _Found()
    for place, block in _blocks(content, ()):
        _read(block, place, (), AbsaParams, found)
    seeds = _seeds(content, found)
    warnings = [f"{origin}: metadata, not used: {', '.join(found.metadata)}"]
    guessed = _protocol_of(found.values)
    if guessed is not None:
        warnings.append(f"{origin}: its speakers are those of debate.protocol {guessed}: taken")
        found.values["debate.protocol"] = guessed
    return Experiment(
        overrides=tuple(Override(key, value, origin) for key, value in found.values.items()),
        warnings=tuple(warnings if found.metadata else warnings[1:]),
        mistakes=tuple(f"{origin}: {one}" for one in found.mistakes),
        seeds=seeds,
    )


def _blocks(
    block: Mapping[str, object], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    yield place, block
    for name in _AROUND.get(place, ()):
        inner = block.get(name)
        if isinstance(inner, Mapping):
            yield from _blocks(inner, (*place, name))


def _read(
    block: Mapping[str, object],
    place: tuple[str, ...],
    path: tuple[str, ...],
    model: type[BaseModel],
    found: _Found,
) -> None:
    """`place` is where it stands in the file, `path` where it belongs in the parameters."""
    around = _AROUND.get(place, ()) if not path else ()
    for key, value in block.items():
        here = (*place, key)
        if key in around and isinstance(value, Mapping):
            continue
        if key in model.model_fields:
            inner = _model_in(model.model_fields[key].annotation)
            if inner is not None and isinstance(value, Mapping):
                _read(value, here, (*path, key), inner, found)
            elif inner is None or value is not None:
                found.values[".".join((*path, key))] = value
        elif not path and key == _CONDITION[0] and isinstance(value, Mapping):
            _read_memory(value, here, found)
        elif not (not place and key == _SEEDS[0] and _at(block, _SEEDS) is not None):
            _read_unknown(key, here, [*model.model_fields, *around], found)


def _read_memory(block: Mapping[str, object], place: tuple[str, ...], found: _Found) -> None:
    for key, value in block.items():
        if key == _CONDITION[1]:
            found.values["memory_condition"] = value
        else:
            _read_unknown(key, (*place, key), [_CONDITION[1]], found)


def _read_unknown(key: str, here: tuple[str, ...], known: Sequence[str], found: _Found) -> None:
    if key in _METADATA:
        found.metadata.append(f"{dotted(here)} ({_METADATA[key]})")
    elif get_close_matches(key, known, n=1, cutoff=_NEARLY_ALIKE):
        above = f"{dotted(here[:-1])}: " if here[:-1] else ""
        found.mistakes.append(above + name_unknown("key", key, known))
    else:
        found.metadata.append(dotted(here))


def _protocol_of(values: Mapping[str, object]) -> Protocol | None:
    """The first generation where only its speakers are named; None where the file need not say."""
    order, personas = values.get("debate.order"), values.get("debate.personas")
    named = [*(order if isinstance(order, list) else ())]
    named += list(personas) if isinstance(personas, Mapping) else []
    if "debate.protocol" in values or not named:
        return None
    return _FIRST if set(named) <= set(DEFAULT_ORDER[_FIRST]) else None


def _seeds(content: Mapping[str, object], found: _Found) -> tuple[int, ...]:
    """Of `experiment.repeat.seeds`: what a batch repeats itself with."""
    listed = _at(content, _SEEDS)
    if listed is None:
        return ()
    if isinstance(listed, list) and listed and all(type(one) is int for one in listed):
        return tuple(dict.fromkeys(listed))
    found.mistakes.append(f"{dotted(_SEEDS)}: should be a list of whole numbers")
    return ()


def _at(content: Mapping[str, object], place: Sequence[str]) -> object:
    value: object = content
    for part in place:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model itself, or as one side of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType):
        return next((m for m in map(_model_in, get_args(annotation)) if m is not None), None)
    return None

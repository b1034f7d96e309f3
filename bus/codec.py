"""Facts to bytes and back. What a message is, its subject says; what is inside must agree with it."""

from functools import cache, lru_cache
from typing import TypeVar, cast

from pydantic import ValidationError

from parley.bus.contracts.facts import CORE_FACTS, Ask, Fact, FactBase, Submitted
from parley.bus.contracts.panel import DebateInput, PanelBase
from parley.bus.contracts.registry import finding_types
from parley.bus.errors import DecodeError, NotInstalled
from parley.bus.subjects import CONTROL, ask_tail, tail_of

F = TypeVar("F", bound=FactBase)

# The personas of a panel are asked at about the same moment; what is kept is far smaller than
# what travels as a blob.
ASKS_KEPT = 64
# All debates of a panel have the same few.
TAILS_KEPT = 1024
# Panels as they were submitted, by the bytes that hold them; most debates have one of a few.
PANELS_KEPT = 256
LARGEST_PANEL_KEPT = 32 * 1024
SUBMITTED = "submitted"
_INPUT = b',"input":{'
_PANELS: dict[bytes, PanelBase] = {}

# How the subject of a fact begins, where that is not the name of its type.
_HEADS = {
    "submitted": "submitted",
    "cancel": "cancel",
    "deleted": "deleted",
    "turn": "turn",
    "fired": "fired",
    "asked": "ctl.ask",
}


def encode(fact: Fact) -> bytes:
    return fact.__pydantic_serializer__.to_json(fact, exclude_none=True)


def decode(tail: str, data: bytes) -> Fact:
    """Raises DecodeError with a reason that is fit for a quarantine record."""
    if tail == SUBMITTED and (known := _resubmitted(data)) is not None:
        return known
    model = _model_of(tail)
    if model is None:
        kind = NotInstalled if tail.startswith(CONTROL) else DecodeError
        raise kind(f"no fact is known for subject …{tail}")
    fact = cast("Fact", _validated(model, data))
    _check(tail, tail_of(fact))
    if isinstance(fact, Submitted):
        _keep_panel(data, fact)
    return fact


def _resubmitted(data: bytes) -> Submitted | None:
    """A submission of a panel that was read before: debates of one panel share its object."""
    head, given = _before_input(data)
    panel = _PANELS.get(head)
    if panel is None:
        return None
    try:
        about = DebateInput.__pydantic_validator__.validate_json(given)
    except ValidationError:
        return None
    return Submitted.model_construct(panel=panel, input=about)


def _keep_panel(data: bytes, fact: Submitted) -> None:
    """Only where the input is really what follows: a key of that name may stand elsewhere."""
    head, given = _before_input(data)
    try:
        if DebateInput.__pydantic_validator__.validate_json(given) != fact.input:
            return
    except ValidationError:
        return
    if len(head) > LARGEST_PANEL_KEPT:
        return
    _PANELS[head] = fact.panel
    if len(_PANELS) > PANELS_KEPT:
        del _PANELS[next(iter(_PANELS))]


def _before_input(data: bytes) -> tuple[bytes, bytes]:
    """What comes before the last `input` of a submission, and the input; empty where there is none."""
    cut = data.rfind(_INPUT)
    return (data[:cut], data[cut + len(_INPUT) - 1 : -1]) if cut > 0 else (b"", b"")


@lru_cache(maxsize=TAILS_KEPT)
def _model_of(tail: str) -> type[FactBase] | None:
    start = len(CONTROL) if tail.startswith(CONTROL) else 0
    end = tail.find(".", start)
    return _models().get(tail if end < 0 else tail[:end])


@cache
def _models() -> dict[str, type[FactBase]]:
    """Every fact there is, by how its subject begins."""
    core = {str(one.model_fields["type"].default): one for one in CORE_FACTS}
    known = {**core, **finding_types()}
    return {_HEADS.get(name, f"{CONTROL}{name}"): model for name, model in known.items()}


@lru_cache(maxsize=ASKS_KEPT)
def decode_ask(tail: str, data: bytes) -> Ask:
    """An ask as its personas read it; once, where several of them share a process."""
    ask = _validated(Ask, data)
    _check(tail, ask_tail(ask))
    return ask


def _validated(model: type[F], data: bytes) -> F:
    try:
        fact: F = model.__pydantic_validator__.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "message"
        if first["type"] == "union_tag_invalid":
            unknown = f"no protocol that is installed here knows {first['ctx']['tag']!r}"
            raise NotInstalled(f"{model.__name__}: {where}: {unknown}") from error
        raise DecodeError(f"{model.__name__}: {where}: {first['msg']}") from error
    return fact


def _check(subject_says: str, content_says: str) -> None:
    if subject_says != content_says:
        raise DecodeError(f"subject says …{subject_says}, content says …{content_says}")

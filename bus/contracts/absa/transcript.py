"""How turns read as text in a prompt: one form for the personas, the judge and the record."""

import json
from collections.abc import Iterable, Sequence

from parley.bus.contracts.absa.debate import DebateTurn, EditTarget, Protocol

NO_TURNS = "없음"


def history_text(turns: Sequence[DebateTurn], protocol: Protocol) -> str:
    return "\n".join(line for turn in turns for line in _lines(turn, protocol)) or NO_TURNS


def _lines(turn: DebateTurn, protocol: Protocol) -> Iterable[str]:
    if protocol == "v1":
        yield f"- {turn.author}({turn.stance}): {turn.message}"
        return
    for edit in turn.proposed_edits:
        yield (
            f"- {turn.author}: {edit.op} target={_compact(edit.target)} "
            f"value={edit.value} evidence={edit.evidence}"
        )
    if not turn.proposed_edits:
        yield f"- {turn.author}: {turn.message or '(no proposed_edits)'}"


def _compact(target: EditTarget) -> str:
    """`aspect_ref` is always shown, even when it is null; what was not said is left out."""
    shown = {"aspect_ref": target.aspect_ref, **target.model_dump(mode="json", exclude_none=True)}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))

"""
What version 3 of the rules changed against version 2, field by field, each by its ruling.

`version2` holds what every recording of version 2 came to, and logs of it that still have to fold.
The recordings of today were made of the same statements.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from parley.coordinator.core.audit import audit
from parley.coordinator.core.results import result_of
from parley.files.reader import read_archive

HERE = Path(__file__).parent
BEFORE = HERE / "version2"
RESULTS = sorted(BEFORE.rglob("*.result.json"))
LOGS = sorted(BEFORE.rglob("*.jsonl"))
DECLARED = r"(run\.)?declarations\[\d+\]\."
# Where a result may differ, and the row of the rulings that says so.
ON_PURPOSE = {
    DECLARED + r"node": "row 22",
    DECLARED + r"termination_rationale\.\w+": "rows 23 and 24",
    DECLARED + r"details\.delta_sem": "row 24",
    DECLARED + r"details\.mode": "row 26",
    DECLARED + r"termination_type": "row 27",
    r"turns\[\d+\]\.answers": "row 7",
    r"process_trace\[\d+\]\.output\.suggested_label": "row 14",
    r"meta\.(adopt_decision|adopt_reason|debate_override_stats\.override_reason)": "row 16",
    r"run\.reason": "row 16",
    r"meta\.debate_override_stats\.ev_adopted": "row 33",
    r"final_result\.\w+\[\d+\]\.aspect_term": "row 34",
    r"meta\.input_text": "row 34",
    r"stage2_(ate|atsa)\.(label|confidence)": "the sentence label",
    r"(moderator|process_trace\[\d+\]\.output)\.(applied_rules|final_label|rationale"
    r"|decision_reason|arbiter_flags\.rule_e_block_reason)": "the sentence label",
    r"final_result\.(label|rationale)": "the sentence label",
    r"analysis_flags\.correction_occurred": "the sentence label",
    r"meta\.memory\.prompt_injection_left_out": "the cap on injected memory",
    r"process_trace\[\d+\]\.call_metadata\.seconds": "measured anew",
}
GATED = {"disabled"}


def differences(was: JsonValue, now: JsonValue, path: str = "") -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in {**was, **now}:
            if key not in was or key not in now:
                yield f"{path}.{key}".lstrip(".")
            else:
                yield from differences(was[key], now[key], f"{path}.{key}".lstrip("."))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif was != now:
        yield path


def read(path: Path) -> dict[str, JsonValue]:
    """Turns of a parallel round in the order of the roster: who was quicker makes no difference."""
    result: dict[str, JsonValue] = json.loads(path.read_text(encoding="utf-8"))
    turns = result.get("turns")
    if isinstance(turns, list):
        turns.sort(key=lambda one: json.dumps(one, sort_keys=True))
    return result


@pytest.mark.parametrize("path", RESULTS, ids=[path.name for path in RESULTS])
def test_only_what_the_rulings_change_differs(path: Path) -> None:
    was, now = read(path), read(HERE / path.relative_to(BEFORE))
    found = list(differences(was, now))
    assert [one for one in found if not any(re.fullmatch(rule, one) for rule in ON_PURPOSE)] == []
    gated = any(one == "meta.adopt_reason" for one in found)
    assert gated is (path.name.split(".")[0] in GATED)


def test_every_named_change_is_seen() -> None:
    found = [
        one
        for path in RESULTS
        for one in differences(read(path), read(HERE / path.relative_to(BEFORE)))
    ]
    unseen = [rule for rule in ON_PURPOSE if not any(re.fullmatch(rule, one) for one in found)]
    assert unseen == []


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_a_debate_of_version_2_folds_and_says_who_decided_it(path: Path) -> None:
    (debate,) = read_archive(path).debates
    assert debate.broken == ()
    found = audit(debate.facts)
    assert found.state.closed is not None
    assert found.unverified is not None
    assert found.unverified.startswith("decided by version 2 of the rules of")
    result = json.loads(result_of(debate.ref, found.state).model_dump_json())
    assert result.get("status", result.get("run", {}).get("status")) == "completed"

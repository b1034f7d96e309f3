"""The auditor must use nothing of ours, pass what is in order, and find what is not."""

import ast
import hashlib
import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import auditor
from tests.chaos.auditor import EXPECTED, EXPECTED_ON, Stored, violations

RECORDED = Path(__file__).parents[1] / "replay"
ROOT = "debate.38.forensic.d1"
Log = list[Stored]


def test_it_uses_nothing_of_ours() -> None:
    tree = ast.parse(Path(auditor.__file__).read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert "nats" in imported
    assert imported - {"nats"} <= sys.stdlib_module_names
    assert "__import__" not in ast.dump(tree)


def _tail(fact: dict[str, Any]) -> str:
    step = fact.get("step")
    whom = fact.get("personas", ())
    return {
        "turn": f"turn.{step}.{fact.get('persona')}",
        "fired": f"fired.{step}",
        "asked": f"ctl.ask.{step}.{whom[0] if len(whom) == 1 else 'all'}",
        "abstained": f"ctl.abstained.{step}.{fact.get('persona')}",
        "submitted": "submitted",
        "cancel": "cancel",
    }.get(fact["type"], f"ctl.{fact['type']}")


def written(facts: list[tuple[int, dict[str, Any]]]) -> Log:
    """As the writers would have, one after the other, each under its guard."""
    log: Log = []
    control = 0
    for sequence, (time_ns, fact) in enumerate(facts, 1):
        tail = _tail(fact)
        headers = {EXPECTED: "0"}
        if tail.startswith("ctl."):
            headers = {EXPECTED: str(control), EXPECTED_ON: f"{ROOT}.ctl.>"}
            control = sequence
        data = json.dumps(fact).encode()
        log.append(Stored(sequence, f"{ROOT}.{tail}", time_ns, headers, data))
    return log


def recorded(name: str) -> list[tuple[int, dict[str, Any]]]:
    lines = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    return [(one["time_ns"], one["fact"]) for one in lines if one["kind"] == "fact"]


DEBATES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))


@pytest.mark.parametrize("name", DEBATES)
def test_recorded_debates_are_in_order(name: str) -> None:
    assert violations(written(recorded(name)), ["forensic/d1"]) == []


# With abstentions by deadline, two rounds and a decision.
FACTS = recorded("missed_turns")
KINDS = [fact["type"] for _, fact in FACTS]


def changed(at: int, **fields: object) -> list[tuple[int, dict[str, Any]]]:
    facts = list(FACTS)
    facts[at] = (facts[at][0], {**facts[at][1], **fields})
    return facts


def without(*kinds: str) -> Log:
    """The rest is written as if nothing were missing."""
    facts = [(time_ns, dict(fact)) for time_ns, fact in FACTS if fact["type"] not in kinds]
    for ordinal, (_, fact) in enumerate(facts):
        if "decided_at" in fact:
            fact["decided_at"] = ordinal
    return written(facts)


def again(kind: str) -> Log:
    log = written(FACTS)
    one = log[KINDS.index(kind)]
    return [*log, replace(one, sequence=len(log) + 1)]


def spoilt(at: int, **fields: Any) -> Log:
    log = written(FACTS)
    log[at] = replace(log[at], **fields)
    return log


ASK, TURN, FIRED = KINDS.index("asked"), KINDS.index("turn"), KINDS.index("fired")
SECOND_ASK = KINDS.index("asked", ASK + 1)
CLOSED = KINDS.index("closed")
PLANTED: dict[str, tuple[Callable[[], Log], str]] = {
    "closed twice": (lambda: again("closed"), "closed 2 times"),
    "terminated twice": (lambda: again("terminated"), "terminated 2 times"),
    "a turn twice": (lambda: again("turn"), "speaks twice"),
    "an ask after the end": (
        lambda: written([*FACTS, (FACTS[-1][0], {**FACTS[ASK][1], "step": "x", "decided_at": 22})]),
        "asked follows the end",
    ),
    "never closed": (lambda: without("closed"), "closed 0 times"),
    "never terminated": (lambda: without("terminated"), "without a declaration"),
    "never opened": (lambda: without("opened"), "before the opening"),
    "never submitted": (lambda: without("submitted"), "before the submission"),
    "never asked": (lambda: without("asked"), "where nobody asked it"),
    "turns that are gone": (lambda: without("turn"), "does not wait for"),
    "no deadline": (lambda: without("fired"), "before its deadline"),
    "no abstention": (lambda: without("abstained"), "does not wait for"),
    "a fork": (lambda: written(changed(SECOND_ASK, decided_at=7)), "rests on 7 facts"),
    "a look ahead": (lambda: written(changed(SECOND_ASK, decided_at=20)), "rests on 20 facts"),
    "another's turn": (lambda: written(changed(TURN, persona="nobody")), "where nobody asked"),
    "a turn in disguise": (
        lambda: spoilt(TURN, subject=f"{ROOT}.turn.opening.spatial"),
        "stands on turn.opening.spatial",
    ),
    "a deadline too early": (
        lambda: spoilt(FIRED, time_ns=FACTS[ASK][0] + 10**8),
        "passes after 0.100 s",
    ),
    "an end that goes on": (
        lambda: written(changed(SECOND_ASK, declaration={"termination_status": "terminate"})),
        "asked declares 'terminate'",
    ),
    "no guard": (lambda: spoilt(CLOSED, headers={}), "was written after None"),
    "another guard": (
        lambda: spoilt(CLOSED, headers={EXPECTED: "0", EXPECTED_ON: f"{ROOT}.ctl.closed"}),
        "was written after 0",
    ),
    "an unguarded turn": (lambda: spoilt(TURN, headers={}), "not guarded"),
    "a forged header": (
        lambda: spoilt(TURN, headers={EXPECTED: "0", "Nats-Subject": f"{ROOT}.ctl.closed"}),
        "carries Nats-Subject",
    ),
    "no fact": (lambda: spoilt(TURN, data=b"[]"), "holds no fact"),
    "another fact": (lambda: spoilt(CLOSED, data=b'{"type":"opened"}'), "holds 'opened'"),
    "another partition": (
        lambda: spoilt(TURN, subject="debate.1.forensic.d1.turn.opening.noise"),
        "no place in any debate",
    ),
    "a strange subject": (lambda: spoilt(TURN, subject="debate.x"), "no place in any debate"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_wrong_is_found(planted: str) -> None:
    log, problem = PLANTED[planted]
    found = violations(log(), ["forensic/d1"])
    assert any(problem in one for one in found), found


def test_a_debate_that_was_accepted_must_be_there() -> None:
    found = violations(written(FACTS), ["forensic/d1", "forensic/d2"])
    assert found == ["forensic/d2 was accepted and is neither in the log nor in the archive"]


PLACE = f"archive.{ROOT}"
Packed = dict[str, Any]


def packed(log: Log) -> Packed:
    """As the body of a record in the archive, by the documents."""
    kept: list[dict[str, Any]] = []
    chain = "forensic/d1"
    for one in log:
        lines = "\r\n".join(f"{name}: {value}" for name, value in one.headers.items())
        text = {
            "tail": one.subject.removeprefix(f"{ROOT}."),
            "sequence": one.sequence,
            "time_ns": one.time_ns,
            "headers": lines,
            "data": one.data.decode(),
        }
        parts = [chain, *map(str, text.values())]
        linked = "\n".join([*parts[:5], "", parts[5], ""])
        chain = hashlib.sha256(linked.encode()).hexdigest()
        kept.append({**text, "chain": chain})
    return {"panel": "forensic", "debate_id": "d1", "stream": "PARLEY", "records": kept}


def shelved(log: Log, *, body: Packed | None = None, subject: str = PLACE, **said: Any) -> Stored:
    body = body or packed(log)
    last = body["records"][-1]
    through, chain = last["sequence"], last["chain"]
    summary = {"stream": "PARLEY", "through": through, "chain": chain, **said}
    data = zlib.compress(json.dumps(body).encode())
    return Stored(1, subject, 0, {"Parley-Summary": json.dumps(summary)}, data)


WHOLE = written(FACTS)


def altered(**fields: object) -> Packed:
    """One record was changed, and its digest was not."""
    body = packed(WHOLE)
    body["records"][TURN] |= fields
    return body


def shortened(*, at: int) -> Packed:
    body = packed(WHOLE)
    del body["records"][at]
    return body


@pytest.mark.parametrize("rest", [[], WHOLE, WHOLE[7:]], ids=["purged", "in both", "half purged"])
def test_a_debate_in_the_archive_is_in_order(rest: Log) -> None:
    assert violations(rest, ["forensic/d1"], [shelved(WHOLE)]) == []
    late = replace(WHOLE[TURN], sequence=len(WHOLE) + 1)
    assert violations([*rest, late], ["forensic/d1"], [shelved(WHOLE)]) == []


IN_THE_ARCHIVE: dict[str, tuple[Log, list[Stored], str]] = {
    "in neither": ([], [], "neither in the log nor in the archive"),
    "two records": ([], [shelved(WHOLE), shelved(WHOLE)], "is archived twice"),
    "a changed fact": ([], [shelved(WHOLE, body=altered(data="{}"))], "is not what was archived"),
    "a changed time": ([], [shelved(WHOLE, body=altered(time_ns=1))], "is not what was archived"),
    "a changed header": ([], [shelved(WHOLE, body=altered(headers=""))], "not what was archived"),
    "another fact in the log": (
        [replace(WHOLE[TURN], data=b"{}")],
        [shelved(WHOLE)],
        "is not in the archive as it stands in the log",
    ),
    "a fact that is only in the log": (
        WHOLE,
        [shelved([*WHOLE[:TURN], *WHOLE[TURN + 1 :]])],
        "is not in the archive as it stands in the log",
    ),
    "a fact that is lost": ([], [shelved(WHOLE, body=shortened(at=TURN))], "is not what was"),
    "the last fact is lost": (
        [],
        [shelved(WHOLE[:-1], through=len(WHOLE))],
        "does not end where it says",
    ),
    "not closed": ([], [shelved(WHOLE[:-1])], "closed 0 times"),
    "goes on": (
        [replace(WHOLE[CLOSED], sequence=len(WHOLE) + 1)],
        [shelved(WHOLE)],
        "written after its debate was archived",
    ),
    "another debate": ([], [shelved(WHOLE, body=packed(WHOLE) | {"debate_id": "d2"})], "another"),
    "another partition": (
        [],
        [shelved(WHOLE, subject="archive.debate.1.forensic.d1")],
        "no debate",
    ),
    "no record": ([], [replace(shelved(WHOLE), data=b"none")], "cannot be read"),
}


@pytest.mark.parametrize("planted", IN_THE_ARCHIVE)
def test_what_is_wrong_in_the_archive_is_found(planted: str) -> None:
    log, archive, problem = IN_THE_ARCHIVE[planted]
    found = violations(log, ["forensic/d1"], archive)
    assert any(problem in one for one in found), found

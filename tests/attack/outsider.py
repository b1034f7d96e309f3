"""An audit of log and archive by nats-py and json alone: nothing of Parley's own is asked."""

import base64
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

STREAM, ARCHIVE, BLOBS = "PARLEY", "PARLEY-ARCHIVE", "parley-blobs"
MARK = b"X-Attack"


# Place, subject, header, payload.
_Read = tuple[int, str, bytes, bytes]


@dataclass
class Found:
    records: int = 0
    archived: int = 0
    # Of the attacker's, by where they stand in a debate.
    foreign: Counter[str] = field(default_factory=Counter)
    # What was decided, by debate; only of those that are closed.
    outcomes: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stored:
    tail: str
    data: bytes
    is_foreign: bool


async def audited(url: str, seed: Path, written: Collection[int], honest: Collection[str]) -> Found:
    """`written` are the places in the log that the server confirmed to the attacker."""
    found = Found()
    debates: dict[str, list[_Stored]] = defaultdict(list)
    seen = set[int]()
    async for sequence, subject, head, data in _everything(url, seed, found):
        if sequence in seen:
            continue
        seen.add(sequence)
        foreign = MARK in head or sequence in written
        name, tail = _split(subject)
        found.records += 1
        found.foreign[_kind(tail)] += foreign
        debates[name].append(_Stored(tail, data, foreign))
    for name, stored in debates.items():
        found.violations += _violations(name, stored, must_end=name in honest)
        outcome = _outcome(stored)
        if outcome is not None:
            found.outcomes[name] = outcome
    return found


async def _everything(url: str, seed: Path, found: Found) -> AsyncIterator[_Read]:
    """The log, then the archive: what moves meanwhile comes twice."""
    client = await nats.connect(url, nkeys_seed=str(seed))
    try:
        async for one in _records(client, STREAM, "debate.>"):
            yield one
        places = Counter[str]()
        async for _, subject, head, data in _records(client, ARCHIVE, ">"):
            places[subject] += 1
            if MARK in head or places[subject] > 1:
                found.violations.append(f"{subject}: {'forged' if MARK in head else 'two records'}")
                continue
            for one in await _archived(client, subject, head, data):
                yield one
        found.archived = len(places)
    finally:
        await client.close()


async def _records(client: Client, stream: str, subjects: str) -> AsyncIterator[_Read]:
    """
    One by one, by the server's own account of each: place, subject, header, payload.

    No consumer: nats-py stops reading for good at a subject that is no text.
    """
    state = (await client.jetstream().stream_info(stream)).state
    following = state.first_seq
    while following <= state.last_seq:
        wanted = json.dumps({"seq": following, "next_by_subj": subjects}).encode()
        answer = await client.request(f"$JS.API.STREAM.MSG.GET.{stream}", wanted, timeout=20)
        one = json.loads(answer.data).get("message")
        if one is None:
            return
        following = one["seq"] + 1
        head, data = (base64.b64decode(one.get(part, "")) for part in ("hdrs", "data"))
        yield one["seq"], one["subject"], head, data


async def _archived(client: Client, subject: str, head: bytes, data: bytes) -> list[_Read]:
    lines = [line for line in head.split(b"\r\n") if line.startswith(b"Parley-Summary: ")]
    body = json.loads(lines[0].partition(b": ")[2]).get("body")
    if body is not None:
        store = await client.jetstream().object_store(BLOBS)
        data = (await store.get(body["sha256"])).data or b""
    root = subject.removeprefix("archive.")
    return [
        (
            kept["sequence"],
            f"{root}.{kept['tail']}",
            kept.get("headers", "").encode("latin-1"),
            kept.get("data", "").encode() or base64.b64decode(kept.get("base64", "")),
        )
        for kept in json.loads(zlib.decompress(data))["records"]
    ]


def _split(subject: str) -> tuple[str, str]:
    _, _, rest = subject.partition(".")
    _, _, rest = rest.partition(".")
    panel, _, rest = rest.partition(".")
    debate, _, tail = rest.partition(".")
    return f"{panel}/{debate}", tail


def _kind(tail: str) -> str:
    return tail.partition(".")[0]


def _violations(name: str, stored: list[_Stored], *, must_end: bool) -> list[str]:
    wrong = []
    tails = Counter(one.tail for one in stored)
    for tail, least in (("ctl.terminated", 1), ("ctl.closed", 1)):
        if tails[tail] > 1 or (must_end and tails[tail] < least):
            wrong.append(f"{name}: {tail} stands {tails[tail]} times")
    for one in stored:
        if _kind(one.tail) in ("ctl", "fired"):
            if one.is_foreign:
                wrong.append(f"{name}: the attacker wrote {one.tail}")
            elif not _is_fact(one):
                wrong.append(f"{name}: {one.tail} holds {one.data[:80]!r}")
    ours = Counter(one.tail for one in stored if _kind(one.tail) == "turn" and not one.is_foreign)
    wrong += [f"{name}: {tail} was spoken {n} times" for tail, n in ours.items() if n > 1]
    asked = Counter(one.tail for one in stored if one.tail.startswith("ctl.ask."))
    wrong += [f"{name}: {tail} was asked {n} times" for tail, n in asked.items() if n > 1]
    return wrong


def _is_fact(one: _Stored) -> bool:
    try:
        fact: Any = json.loads(one.data)
    except ValueError:
        return False
    words = one.tail.split(".")
    expected = {"ask": "asked"}.get(words[1], words[1]) if words[0] == "ctl" else "fired"
    return isinstance(fact, dict) and fact.get("type") == expected


def _outcome(stored: list[_Stored]) -> str | None:
    """Why it ended, how it was decided and what it closed with, without when."""
    facts = {
        one.tail: json.loads(one.data) for one in stored if one.tail in _DECISIVE and _is_fact(one)
    }
    if "ctl.closed" not in facts:
        return None
    return json.dumps(
        [{key: facts.get(tail, {}).get(key) for key in keys} for tail, keys in _DECISIVE.items()],
        sort_keys=True,
    )


_DECISIVE = {
    "ctl.terminated": ("reason",),
    "ctl.decided": ("decision",),
    "ctl.closed": ("status", "reason", "detail"),
}

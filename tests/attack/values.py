"""Facts as they were recorded, and every field of them at its extremes."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from parley.bus.port import LARGEST_RECORD_BYTES

RECORDED = Path(__file__).parents[1] / "replay"
_PLACE = "@@here@@"
_IN_JSON = json.dumps(_PLACE).encode()
MEGABYTE = 1_000_000
# What the log takes at most, less room for the rest of a fact.
FITS = 400_000

NUMBERS: dict[str, bytes] = {
    "0": b"0",
    "-1": b"-1",
    "1e308": b"1e308",
    "-1e308": b"-1e308",
    "1e999": b"1e999",
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "2^63": b"9223372036854775808",
    "5,000 digits": b"9" * 5000,
    "5,000 decimals": b"0." + b"9" * 5000,
    "a tiny fraction": b"5e-324",
    "a text": b'"1"',
    "true": b"true",
    "null": b"null",
}
TEXTS: dict[str, bytes] = {
    "empty": b'""',
    "1 MB": b'"' + b"x" * MEGABYTE + b'"',
    "as long as fits": b'"' + b"x" * FITS + b'"',
    "as long as fits, Korean": b'"' + "한".encode() * (FITS // 3) + b'"',
    "half a character": b'"\\ud800"',
    "NUL": b'"\\u0000"',
    "not UTF-8": b'"\xff\xfe"',
    "a wildcard": b'"debate.>"',
    "right to left": '"\u202e\u2066x"'.encode(),
    "a terminal's escape": b'"\\u001b]0;x\\u0007\\u001b[2J"',
    "markup": b'"<script>alert(1)</script>"',
    "a bad pattern": b'"[z-a]+(("',
    "a slow pattern": b'"(a+)+$"',
    "a path": b'"../../../../etc/passwd"',
    "a number": b"1e308",
}
ODD_JSON: dict[str, bytes] = {
    "nothing": b"",
    "a brace": b"{",
    "a list": b"[1,2,3]",
    "null": b"null",
    "a text": b'"x"',
    "no fact": b'{"hello":"world"}',
    "10,000 levels": b"[" * 10_000 + b"]" * 10_000,
    "100,000 objects deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "not UTF-8": b"\xff\xfe\x00\x01",
    "UTF-16": '{"type":"turn"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"type":"turn"}',
    "20,000 keys": b"{" + b",".join(b'"k%d":1' % n for n in range(20_000)) + b"}",
    "NUL bytes": b"\x00" * 100,
    "a number of 100,000 digits": b'{"version":' + b"1" * 100_000 + b"}",
    "as long as fits": b"x" * FITS,
    "too long for the log": b"x" * (LARGEST_RECORD_BYTES + 1024),
}


@cache
def recorded() -> tuple[dict[str, Any], ...]:
    """One fact of each kind; turns, asks and submissions one for each kind of content."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted(RECORDED.rglob("*.jsonl")):
        for line in path.read_text().splitlines():
            fact = json.loads(line).get("fact")
            if fact is not None:
                found.setdefault((fact["type"], _kind(fact)), fact)
    return tuple(found.values())


def of_type(*types: str) -> list[dict[str, Any]]:
    return [fact for fact in recorded() if fact["type"] in types]


def _kind(fact: dict[str, Any]) -> str:
    inner = fact.get("content") or fact.get("request") or fact.get("panel") or {}
    return str(inner.get("kind") or inner.get("protocol") or "")


def spoiled(fact: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The fact once for each field and extreme, with what was done in words."""
    seen: set[str] = set()
    for path, value in _leaves(fact, ()):
        name = ".".join("*" if isinstance(part, int) else str(part) for part in path)
        if name in seen:
            continue
        seen.add(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        pool = NUMBERS if is_number else TEXTS if isinstance(value, str) else {}
        whole = json.dumps(_with(fact, path, _PLACE)).encode()
        for what, extreme in pool.items():
            yield f"{name} = {what}", whole.replace(_IN_JSON, extreme)


def twice(fact: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Each top-level name given twice, and one more that nobody knows."""
    whole = json.dumps(fact).encode()
    for name in fact:
        again = json.dumps({name: None}).encode()[1:]
        yield f"{name} twice", whole[:-1] + b"," + again
    yield "an unknown field", whole[:-1] + b',"unknown":1}'


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from _leaves(inner, (*path, place))
    else:
        yield path, value


def _with(value: Any, path: tuple[str | int, ...], leaf: object) -> Any:
    if not path:
        return leaf
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], leaf)
    return copy

"""Whatever arrives, a reader says that it is nothing, in one way; it never does worse."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import yaml
from hypothesis import example, given, settings

from parley.agents.deliberation.question import parse_question
from parley.agents.forensic.labels import Verdict
from parley.agents.script import parse_script
from parley.bus.codec import decode, decode_ask, encode
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import BadInput, DecodeError
from parley.bus.journal import Journal
from parley.bus.memory import NO_FAULTS, MemoryBus, MemoryServer
from parley.bus.port import Record
from parley.bus.subjects import DebateRef, Subjects, tail_of
from parley.files.lines import Recorded, blob_line, fact_lines
from parley.files.reader import read_archive
from tests.debates import DEADLOCK, panel, play

FACTS, _ = play(panel(), DEADLOCK)
REF = DebateRef("forensic", "d1")
BLOB = BlobRef(sha256="2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", size=3)
SCRIPT = """
rounds:
  - {frequency: [ai_generated, .92], noise: {verdict: authentic, confidence: .88}}
  - {noise: {silent: true}}
follow_ups:
  spatial: {summary: "the sky", regions: [[10, 20, 100, 80, 0.9]]}
"""
MANY = settings(max_examples=150, deadline=None)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=15,
)
tails = st.sampled_from([tail_of(fact) for fact in FACTS]) | st.text(max_size=40)


@st.composite
def altered(draw, originals):
    """A true one with a piece cut out, doubled, or replaced."""
    original = draw(st.sampled_from(originals))
    start = draw(st.integers(0, len(original)))
    stop = draw(st.integers(start, min(len(original), start + 40)))
    piece = draw(
        st.binary(max_size=8)
        | st.sampled_from([b"", original[start:stop] * 2, b"NaN", b"1e999", b'"\\ud800"', b"null"])
    )
    return original[:start] + piece + original[stop:]


@st.composite
def misfilled(draw, originals):
    """A true one with one field, somewhere, of another kind."""
    message = json.loads(draw(st.sampled_from(originals)))
    place = message
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return json.dumps(message).encode()
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or draw(st.booleans()):
            place[key] = draw(values)
            return json.dumps(message).encode()
        place = place[key]


encoded = [encode(fact) for fact in FACTS]
messages = st.one_of(
    st.binary(max_size=60),
    values.map(lambda value: json.dumps(value).encode()),
    altered(encoded),
    misfilled(encoded),
)


@MANY
@given(tail=tails, data=messages)
@example(tail="turn.opening.noise", data=b"[" * 10_000)
@example(tail="turn.opening.noise", data=b'{"a":' * 10_000 + b"1" + b"}" * 10_000)
@example(tail="turn.opening.noise", data=b"9" * 10_000)
def test_the_decoders_of_facts(tail, data):
    """What decodes is a fact: it can be written again, and is read as the same."""
    with suppress(DecodeError):
        decode_ask(tail, data)
    try:
        fact = decode(tail, data)
    except DecodeError:
        return
    assert decode(tail, encode(fact)) == fact


@MANY
@given(subject=st.text(max_size=60), data=messages)
def test_the_journal_and_any_subject(subject, data):
    journal = Journal(MemoryBus(MemoryServer(NO_FAULTS, 0, 0)), Subjects())
    for read in (journal.decode, journal.decode_ask):
        with suppress(DecodeError):
            read(Record(1, subject, data, 0))


BOMB = "\n".join(
    ["params:", "  a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
texts = st.one_of(
    st.text(max_size=80),
    st.binary(max_size=80),
    values.map(yaml.safe_dump),
    altered([SCRIPT.encode()]),
    st.text(alphabet="[]{}:,-?!&*|>'\"%@` \n#ab1.~<", max_size=60),
)


@MANY
@given(text=texts)
@example(text="[" * 10_000)
@example(text="- " * 10_000)
@example(text=BOMB)
@example(text="params: &a {b: *a}")
@example(text="2001-99-99")
@example(text="!!timestamp x")
@example(text="!!int ''")
@example(text="!!bool maybe")
@example(text="9" * 5000)
def test_the_readers_of_travelling_files(text):
    for read in (parse_script, parse_question):
        with suppress(BadInput):
            read(text)


def archive(*facts):
    recorded = [Recorded(fact, 1_000 + number) for number, fact in enumerate(facts)]
    return [line.encode() for line in fact_lines(REF, recorded)]


lines = [*archive(*FACTS), blob_line(BLOB, b"foo").encode()]
archives = st.lists(
    st.one_of(
        st.sampled_from(lines),
        st.binary(max_size=60),
        values.map(lambda value: json.dumps(value).encode()),
        altered(lines),
        misfilled(lines),
    ),
    max_size=4,
).map(b"\n".join)


@MANY
@given(content=archives)
@example(content=b"9" * 5000)
@example(content=b"[" * 10_000)
@example(content=blob_line(BLOB, b"foo").replace("Zm9v", "ü").encode())
def test_the_reader_of_archives(content):
    with TemporaryDirectory() as home:
        file = Path(home) / "debates.jsonl"
        file.write_bytes(content)
        with suppress(BadInput, DecodeError):
            read_archive(file)


@MANY
@given(said=st.text(max_size=50))
@example(said="one\u2028two\x85three\x1cfour")
def test_whatever_is_said_survives_the_archive(said):
    content = Statement(verdict=Verdict.AUTHENTIC, confidence=0.5, reasoning=said)
    turn = TurnTaken(step="opening", persona="noise", content=content)
    with TemporaryDirectory() as home:
        file = Path(home) / "debates.jsonl"
        file.write_bytes(b"\n".join(archive(FACTS[0], turn)))
        (debate,) = read_archive(file).debates
    assert debate.facts == (FACTS[0], turn)
    assert debate.broken == ()

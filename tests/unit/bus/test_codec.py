import pytest

from parley.agents.forensic.labels import Verdict
from parley.bus.codec import decode, encode
from parley.bus.contracts.facts import DeadlineFired, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import DecodeError
from parley.bus.subjects import DebateRef, Subjects, partition_of, tail_of
from tests.debates import DEADLOCK, panel, play

TURN = TurnTaken(
    step="opening", persona="noise", content=Statement(verdict=Verdict.AUTHENTIC, confidence=0.5)
)


def test_every_fact_of_a_debate_survives_the_wire():
    facts, _ = play(panel(), DEADLOCK)
    assert {fact.type for fact in facts} >= {"submitted", "opened", "asked", "turn", "decided"}
    for fact in facts:
        assert decode(tail_of(fact), encode(fact)) == fact
        assert encode(decode(tail_of(fact), encode(fact))) == encode(fact)


@pytest.mark.parametrize(
    ("tail", "data", "says"),
    [
        ("turn.opening.noise", b"\xff\xfe", "TurnTaken"),
        ("turn.opening.noise", b"", "TurnTaken"),
        ("turn.opening.noise", b"[" * 10_000, "TurnTaken"),
        ("turn.opening.noise", b"{}", "step"),
        ("turn.opening.noise", encode(TURN).replace(b'"version":1', b'"version":2'), "version"),
        ("turn.opening.noise", encode(TURN).replace(b"0.5", b"NaN"), "confidence"),
        ("turn.opening.noise", encode(TURN).replace(b"0.5", b"1.5"), "confidence"),
        ("turn.opening.noise", encode(TURN).replace(b'"statement"', b'"sermon"'), "sermon"),
        ("turn.opening.noise", encode(TURN).replace(b'"brain"', b'"x":1,"brain"'), "x"),
        (
            "turn.opening.noise",
            encode(TURN).replace(b'"brain":""', b'"brain":"\\ud800"'),
            "hex escape",
        ),
        ("turn.opening.spatial", encode(TURN), "subject says …turn.opening.spatial"),
        ("turn.round-1.noise", encode(TURN), "content says …turn.opening.noise"),
        ("ctl.mystery", b"{}", "no fact is known"),
        ("gossip", b"{}", "no fact is known"),
        ("", b"{}", "no fact is known"),
    ],
)
def test_what_is_not_a_fact_is_refused_with_a_reason(tail, data, says):
    if data == encode(TURN) and tail == tail_of(TURN):
        pytest.fail("the replacement above did not take")
    with pytest.raises(DecodeError) as caught:
        decode(tail, data)
    assert says in str(caught.value)


def test_subjects_are_read_as_they_are_spelled():
    subjects = Subjects("team.debate")
    ref = DebateRef("forensic", "d1")
    subject = subjects.of(ref, DeadlineFired(step="round-1"))
    assert subject == "team.debate.38.forensic.d1.fired.round-1"
    assert subjects.parse(subject) == (ref, "fired.round-1")
    assert subjects.parse("debate.38.forensic.d1.fired.round-1") is None
    assert subjects.parse("team.debate.forensic") is None


@pytest.mark.parametrize(
    "subject",
    [
        "debate.*.forensic.*.submitted",
        "debate.0.forensic.*.submitted",
        "debate.38.*.d1.submitted",
        "debate.forensic.d1.submitted",
        "debate.37.forensic.d1.submitted",
        "debate.038.forensic.d1.submitted",
        "debate.+38.forensic.d1.submitted",
        "debate.102.forensic.d1.submitted",
        "debate..forensic.d1.submitted",
        "debate.0.forensic.>.submitted",
        "debate.0.forensic.\ufffd.submitted",
        "debate.0.forensic.d\x00.submitted",
        f"debate.{partition_of('x' * 65)}.forensic.{'x' * 65}.submitted",
        "debate.0.forensic..submitted",
        "debate.38.forensic.d1.",
        "debate.38.forensic.d1",
    ],
)
def test_a_debate_cannot_be_named_so_that_it_reaches_into_others(subject):
    assert Subjects().parse(subject) is None


def test_debates_of_one_panel_share_its_object_and_nothing_else() -> None:
    first = encode(Submitted(panel=panel(), input=DebateInput(text="one")))
    other = encode(Submitted(panel=panel(), input=DebateInput(text='two ,"input":{')))
    read = [decode("submitted", data) for data in (first, other, first)]
    assert [encode(one) for one in read] == [first, other, first]
    assert all(isinstance(one, Submitted) for one in read)
    assert read[0].panel is read[1].panel is read[2].panel  # type: ignore[union-attr]


@pytest.mark.parametrize("tail", [b'{"text":7,"blobs":{}}}', b'{"text":"x"', b"{}} "])
def test_a_known_panel_excuses_no_bad_input(tail: bytes) -> None:
    good = encode(Submitted(panel=panel(), input=DebateInput(text="one")))
    decode("submitted", good)
    bad = good[: good.rindex(b"{", 0, good.rindex(b'"text"') + 1)] + tail
    if tail.startswith(b"{}"):
        assert decode("submitted", bad).input == DebateInput()  # type: ignore[union-attr]
    else:
        with pytest.raises(DecodeError):
            decode("submitted", bad)

import json

import pytest

from tests.unit.console.calling import Call
from tests.vectors_a import VECTORS, Vector


def ask(parley: Call, rule: str, *questions: object) -> list[dict[str, object]]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    called = parley("rules", rule, stdin=lines.encode())
    assert called.code == 0, called.out
    return [json.loads(line) for line in called.out.splitlines()]


def rows(vector: Vector) -> list[list[dict[str, object]]]:
    return [
        [{"agent": one.agent, "verdict": one.verdict, "confidence": one.confidence} for one in row]
        for row in vector.history
    ]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_vectors_through_terminate_verdicts_and_manager(parley: Call, vector: Vector) -> None:
    history = rows(vector)
    questions = [
        {"params": vector.params.model_dump(), "history": history[: number + 1]}
        for number in range(len(history))
    ]
    answers = ask(parley, "terminate-verdicts", *questions)
    assert [answer["terminate"] for answer in answers] == [False] * vector.rounds + [True]
    assert answers[-1]["reason"] == vector.reason.value
    assert [answer["disagreement"] for answer in answers] == pytest.approx(
        vector.disagreement_history
    )
    [decision] = ask(parley, "manager", {"reason": vector.reason.value, "responses": history[-1]})
    assert decision["final_verdict"] == vector.verdict
    assert decision["confidence"] == pytest.approx(vector.confidence, abs=5e-5)
    assert decision["insufficient_evidence"] == vector.insufficient_evidence


def test_a_preset_and_a_declaration(parley: Call) -> None:
    vector = next(one for one in VECTORS if one.id == "A-10")
    [answer] = ask(parley, "terminate-verdicts", {"preset": "fast", "history": rows(vector)})
    assert answer["terminate"] is True
    declaration = answer["declaration"]
    assert isinstance(declaration, dict)
    assert declaration["termination_status"] == "terminate"
    assert declaration["termination_type"] == "answer_convergence"


def test_cobra(parley: Call) -> None:
    question = {
        "responses": [
            {"agent": "a", "verdict": "ai_generated", "confidence": 0.9},
            {"agent": "b", "verdict": "authentic", "confidence": 0.7},
        ],
        "trust": {"a": 0.8, "b": 0.6},
        "algorithm": "rot",
    }
    [answer] = ask(parley, "cobra", question)
    assert answer["final_verdict"] == "ai_generated"
    assert answer["confidence"] == pytest.approx(0.8511, abs=5e-5)
    assert answer["disagreement_level"] == pytest.approx(0.6072, abs=5e-5)


GOOD = b'{"responses": [], "trust": {}}'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"zzz", "not JSON"),
        (b"", "empty line"),
        (b"[]", "should be a valid dictionary"),
        (b"\xff\xfe", "not UTF-8 (byte 0)"),
        (b'{"responses": NaN}', "NaN is no number"),
        (b'{"responses": [], "trust": {"a": 1e999}}', "trust.a"),
        (b'{"responses": [], "responses": []}', "responses: stands twice"),
        (b"[" * 100_000, "not JSON"),
        (b'{"responses": [], "nix": 1}', "unknown key 'nix'"),
        (
            b'{"responses": [{"agent": "a", "verdict": "foo", "confidence": 2}]}',
            "responses.0.confidence: should be less than or equal to 1",
        ),
    ],
    ids=["text", "empty", "list", "bytes", "nan", "inf", "twice", "depth", "key", "values"],
)
def test_a_bad_line_is_answered_in_its_place(parley: Call, line: bytes, problem: str) -> None:
    called = parley("rules", "cobra", stdin=b"\n".join((GOOD, line, GOOD)) + b"\n")
    assert called.code == 2
    first, second, third = map(json.loads, called.out.splitlines())
    assert first == third
    assert first["final_verdict"] == "uncertain"
    assert list(second) == ["error"]
    assert problem in second["error"]


def test_all_mistakes_of_a_line_are_named(parley: Call) -> None:
    line = b'{"responses": [{"agent": "a b", "verdict": "foo", "confidence": 2}]}\n'
    error = json.loads(parley("rules", "cobra", stdin=line).out)["error"]
    assert all(key in error for key in ("0.agent", "0.verdict", "0.confidence"))


def test_no_lines_no_answers(parley: Call) -> None:
    called = parley("rules", "manager")
    assert (called.code, called.out, called.err) == (0, "", "")

"""`parley run --brain model` as a person calls it."""

import json
import subprocess
import sys
from functools import partial

import anyio.to_thread
import pytest

from tests.model_minds import ENGLISH, KOREAN, sensible
from tests.model_server import ModelServer, model_server, noise_concedes
from tests.unit.agents.llm.asking import PNG

CANARY = "sk-canary-4f1c09d7e2"


@pytest.fixture
def parley(monkeypatch):
    """The command as a process, with nothing in its environment but these settings."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    async def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        command = [sys.executable, "-m", "parley", *arguments]
        return await anyio.to_thread.run_sync(
            partial(
                subprocess.run, command, capture_output=True, text=True, timeout=60, check=False
            )
        )

    return call


CASES = {
    "no-name": ({"OPENAI_API_KEY": CANARY}, 2, "PARLEY_MODEL__NAME"),
    "no-key": ({"PARLEY_MODEL__NAME": "m"}, 2, "PARLEY_MODEL__API_KEY"),
    "wrong-key": ({"url": "", "OPENAI_API_KEY": CANARY}, 2, "refuses the key (401)"),
    "unset-key": ({"url": ""}, 2, "PARLEY_MODEL__API_KEY"),
    "key-of-another": (
        {
            "url": "",
            "key": "",
            "PARLEY_MODEL__SEATS": '{"forensic": {"base_url": "http://localhost:PORT/v1"}}',
        },
        2,
        """wants a key (401): no key is set for forensic: set PARLEY_MODEL__SEATS='{"forensic": {""",
    ),
    "user-in-the-address": (
        {"url": "", "user": ""},
        2,
        "refuses the user in its address (401): set PARLEY_MODEL__BASE_URL",
    ),
    "unknown-model": ({"url": "", "key": "", "PARLEY_MODEL__NAME": "x"}, 2, "PARLEY_MODEL__NAME"),
    "wrong-path": ({"url": "/oops", "key": ""}, 2, "PARLEY_MODEL__BASE_URL"),
    "unreachable": (
        {"PARLEY_MODEL__BASE_URL": "http://127.0.0.1:9/v1", "PARLEY_MODEL__NAME": "m"},
        3,
        "PARLEY_MODEL__BASE_URL",
    ),
}


@pytest.mark.parametrize(("given", "code", "hint"), CASES.values(), ids=CASES)
async def test_what_is_wrong_is_said_in_one_line(parley, given, code, hint):
    async with model_server(key="right", model="m", indiscreet=True) as server:
        variables = _variables(given, server)
        ended = await parley("run", "forensic", "a photo", "--brain", "model", **variables)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (code, "")
    assert line.startswith("parley: ")
    assert hint in line
    assert CANARY not in ended.stderr


async def test_a_traceback_does_not_hold_the_key(parley):
    async with model_server(key="right", indiscreet=True) as server:
        variables = _variables({"url": "", "OPENAI_API_KEY": CANARY}, server)
        call = ("run", "forensic", "a photo", "--brain", "model", "--verbose")
        ended = await parley(*call, **variables)
    assert ended.returncode == 2
    assert "Traceback" in ended.stderr
    assert CANARY not in ended.stderr


def _variables(given: dict[str, str], server: ModelServer) -> dict[str, str]:
    variables = {key: value for key, value in given.items() if key.isupper()}
    if "url" in given:
        variables |= {
            "PARLEY_MODEL__BASE_URL": server.url + given["url"],
            "PARLEY_MODEL__NAME": given.get("PARLEY_MODEL__NAME", "m"),
        }
    if "user" in given:
        at_somebody = variables["PARLEY_MODEL__BASE_URL"].replace("://", f"://me:{CANARY}@")
        variables["PARLEY_MODEL__BASE_URL"] = at_somebody
    if "PARLEY_MODEL__SEATS" in given:
        port = server.url.rpartition(":")[2].partition("/")[0]
        seats = given["PARLEY_MODEL__SEATS"].replace("PORT", port)
        variables["PARLEY_MODEL__SEATS"] = seats
    if "key" in given:
        variables["PARLEY_MODEL__API_KEY"] = "right"
    variables["PARLEY_MODEL__MAX_PAUSE_S"] = "0.05"
    return variables


@pytest.mark.parametrize("managed", [True, False])
async def test_run_prints_the_result_of_a_debate_on_a_model(parley, tmp_path, managed):
    photo = tmp_path / "photo.png"
    photo.write_bytes(PNG)
    async with model_server(mind=noise_concedes) as server:
        ended = await parley(
            *("run", "forensic", str(photo), "--brain", "model", "--json"),
            *(() if managed else ("--set", "manager=false")),
            PARLEY_MODEL__BASE_URL=server.url,
            PARLEY_MODEL__NAME="m",
            PARLEY_MODEL__VISION="true",
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    result = json.loads(ended.stdout)
    assert result["final_verdict"] == "ai_generated"
    assert result["total_rounds"] == 1
    assert result["nominal_llm_calls"] == 4
    assert result["actual_llm_calls"] == len(server.questions) == 8 + managed
    assert result["usage"]["input_tokens"] == 100 * (8 + managed)
    asked = [call["messages"][1]["content"] for call in server.questions]
    assert [one[0]["type"] for one in asked[:8]] == ["image_url"] * 8
    assert all(isinstance(one, str) for one in asked[8:])
    said = result.get("manager_report", {})
    assert said.get("summary") == ("The upper left corner stands out." if managed else None)
    assert ("manager" in result["usage_by_persona"]) == managed


def _endpoint(server: ModelServer) -> dict[str, str]:
    return {"PARLEY_MODEL__BASE_URL": server.url, "PARLEY_MODEL__NAME": "m"}


async def test_a_question_in_free_text_is_deliberated(parley):
    async with model_server(mind=sensible()) as server:
        ended = await parley(
            *("run", "deliberation", "Should the library open at night?", "--brain", "model"),
            *("--regime", "L1", "--json"),
            **_endpoint(server),
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    result = json.loads(ended.stdout)
    assert result["conclusion"] == "Open the library at night on trial."
    assert result["termination_reason"] == "answer_convergence"
    assert set(result["brains"].values()) == {"model:m"}
    assert result["actual_llm_calls"] == len(server.questions)


async def test_a_batch_is_run_on_a_model(parley, tmp_path):
    lines = [{"id": "en", "text": ENGLISH}, {"id": "ko", "text": KOREAN}]
    data = tmp_path / "reviews.jsonl"
    data.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    out = tmp_path / "out"
    async with model_server(mind=sensible()) as server:
        ended = await parley(
            "batch", "absa", str(data), "-o", str(out), "--brain", "model", **_endpoint(server)
        )
    assert ended.returncode == 0, ended.stderr
    records = [json.loads(line) for line in (out / "outputs.jsonl").read_text().splitlines()]
    assert [one["meta"]["text_id"] for one in records] == ["en", "ko"]
    assert [one["meta"]["language_code"] for one in records] == ["en", "ko"]
    for one in records:
        tuples = one["final_result"]["final_tuples"]
        assert [item["polarity"] for item in tuples] == ["positive", "negative"]

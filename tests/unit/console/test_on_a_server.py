"""The commands against a running system: `parley up` as a process, the rest beside it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.unit.console.calling import Call, Called

PARLEY = [sys.executable, "-m", "parley"]
SCRIPT = """
rounds:
  - {frequency: [ai_generated, .92], noise: [authentic, .88],
     watermark: [uncertain, .5], spatial: [uncertain, .3]}
"""
SILENT = """
params: {deadline_s: 4}
rounds:
  - {frequency: [authentic, .9], noise: {silent: true}, watermark: {silent: true}, spatial: {silent: true}}
"""


# A port that was free a moment ago may be taken on a busy machine.
ATTEMPTS = 5


class Up:
    """`parley up` on a port of its own."""

    def __init__(self, directory: Path, archived_after_s: float = 60.0) -> None:
        self._archived_after_s = archived_after_s
        self.store = directory / ".parley"
        self.log = directory / "log"
        for _ in range(ATTEMPTS):
            self._start(directory)
            if "Ctrl-C" in self.greeting or "is taken" not in self.log.read_text():
                break
            self.process.wait(60)
            assert self.process.stdout is not None
            self.process.stdout.close()
        assert "Ctrl-C" in self.greeting, self.log.read_text()

    def _start(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*PARLEY, "up", "--port", str(self.port)],
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=directory,
                env={
                    **os.environ,  # noqa: TID251 - for the process
                    "PARLEY_LOG__LEVEL": "info",
                    "PARLEY_ARCHIVE__AFTER": str(self._archived_after_s),
                },
            )
        self.greeting = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.greeting += line.decode()
            if line.startswith(b"Ctrl-C"):
                break

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module", params=[0.0, 0.1], ids=["in the log", "archived"])
def up(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Up]:
    """What a command shows is the same wherever the debate stands by then."""
    system = Up(tmp_path_factory.mktemp("up"), request.param)
    yield system
    if system.process.poll() is None:
        system.stop(signal.SIGTERM)


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.yaml"
    file.write_text(SCRIPT)
    return f"script:{file}"


@pytest.fixture
def silent(tmp_path: Path) -> str:
    file = tmp_path / "silent.yaml"
    file.write_text(SILENT)
    return f"script:{file}"


@pytest.fixture
def ask(parley: Call, up: Up) -> Call:
    def run(*arguments: object) -> Called:
        return parley(*arguments, "--nats", up.url)

    return run


def test_up_says_how_to_go_on(up: Up) -> None:
    assert f"Parley is up at {up.url}" in up.greeting
    assert f"parley watch --nats {up.url}" in up.greeting
    assert "Debates are kept in .parley." in up.greeting


def test_a_debate_from_submission_to_export(ask: Call, parley: Call, script: str) -> None:
    assert ask("submit", "forensic", "--brain", script, "--id", "one").out == "one\n"
    watched = ask("watch", "one")
    assert (watched.code, watched.err) == (0, "")
    assert watched.out.splitlines()[-1] == "closed: completed (high confidence deadlock)"
    result = json.loads(ask("show", "one", "--json").out)
    assert result["final_verdict"] == "manipulated"
    assert result["debate_id"] == "one"
    shown = ask("show", "forensic/one").out
    assert "closed: completed after 1 round" in shown
    assert "verdict: manipulated, confidence 0.70" in shown
    assert ask("verify", "one").out.startswith("forensic/one: holds")
    file = Path("one.jsonl")
    assert ask("export", "one", "-o", file).code == 0
    assert ask("export", "one").out == file.read_text()
    assert json.loads(parley("replay", file, "--json").out) == result
    assert ask("replay", "one").out == parley("replay", file).out
    assert ask("report", "one", "--json").out == parley("report", file, "--json").out
    anew = ("--set", "max_rounds=1", "--json")
    assert ask("backtest", "one", *anew).out == parley("backtest", file, *anew).out
    assert ask("import", file).out == "forensic/one: is there already\n"
    listed = [json.loads(line) for line in ask("list", "--json").out.splitlines()]
    [one] = [line for line in listed if line["debate_id"] == "one"]
    assert (one["panel"], one["status"], one["outcome"]) == (
        "forensic",
        "completed",
        "manipulated",
    )


def test_an_import_into_another_server(
    ask: Call, parley: Call, script: str, tmp_path: Path
) -> None:
    ask("submit", "forensic", "a photo", "--brain", script, "--id", "moves")
    ask("watch", "moves")
    file = tmp_path / "moves.jsonl"
    ask("export", "moves", "-o", file)
    other = Up(tmp_path)
    try:
        there = ("--nats", other.url)
        assert "17 facts archived" in parley("import", file, *there).out
        assert parley("import", file, *there).out == "forensic/moves: is there already\n"
        shown = parley("show", "moves", "--json", *there).out
        assert shown == ask("show", "moves", "--json").out
        assert parley("verify", "moves", *there).code == 0
        again = parley("export", "moves", *there).out
        assert [json.loads(line).get("fact") for line in again.splitlines()] == [
            json.loads(line).get("fact") for line in file.read_text().splitlines()
        ]
    finally:
        assert other.stop(signal.SIGINT) == 130


def test_a_debate_that_went_another_way_is_not_imported(ask: Call, script: str) -> None:
    ask("submit", "forensic", "--brain", script, "--id", "here")
    ask("watch", "here")
    ask("submit", "forensic", "something else", "--brain", script, "--id", "there")
    ask("watch", "there")
    ask("export", "there", "-o", "there.jsonl")
    renamed = [
        line.replace('"debate_id":"there"', '"debate_id":"here"')
        for line in Path("there.jsonl").read_text().splitlines()
    ]
    Path("forged.jsonl").write_text("\n".join(renamed))
    forged = ask("import", "forged.jsonl")
    assert forged.code == 2
    assert "line 1, fact 0 (submitted): altered" in forged.err


def test_watching_as_json_lines(ask: Call, script: str) -> None:
    ask("submit", "forensic", "--brain", script, "--id", "lines")
    facts = [json.loads(line) for line in ask("watch", "lines", "--json").out.splitlines()]
    assert [fact["fact"]["type"] for fact in facts][:3] == ["submitted", "opened", "asked"]
    assert facts[-1]["fact"]["type"] == "closed"
    sequences = [fact["sequence"] for fact in facts]
    assert sequences == sorted(sequences)
    assert {fact["debate_id"] for fact in facts} == {"lines"}
    assert ask("watch", "lines", "--from-now").out == ""


def test_watching_declarations_alone(ask: Call, script: str) -> None:
    ask("submit", "forensic", "--brain", script, "--id", "declares")
    told = [
        json.loads(line) for line in ask("watch", "declares", "--declarations").out.splitlines()
    ]
    facts = [json.loads(line) for line in ask("watch", "declares", "--json").out.splitlines()]
    own = {
        line["sequence"]: line["fact"]["declaration"]
        for line in facts
        if line["fact"].get("declaration")
    }
    assert len(own) > 1
    assert set(own) <= {line["sequence"] for line in told}
    assert {line["debate_id"] for line in told} == {"declares"}
    assert all("fact" not in line for line in told)
    stopped = [line["declaration"]["termination_status"] for line in told]
    assert stopped[-1] == "terminate"
    assert stopped.count("continue") >= 1
    assert ask("watch", "declares", "--declarations", "--from-now").out == ""
    assert ask("watch", "--declarations", "--partials").code == 2


def test_watching_everything_until_interrupted(ask: Call, up: Up, script: str) -> None:
    command = [*PARLEY, "watch", "--from-start", "--json", "--nats", up.url]
    piped = subprocess.PIPE
    with subprocess.Popen(command, stdout=piped, stderr=piped) as watcher:
        ask("submit", "forensic", "--brain", script, "--id", "live")
        assert watcher.stdout is not None
        for line in watcher.stdout:
            seen = json.loads(line)
            if (seen["debate_id"], seen["fact"]["type"]) == ("live", "closed"):
                break
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(60) == 130
        assert watcher.stderr is not None
        assert watcher.stderr.read() == b"parley: interrupted\n"


def test_an_id_is_used_once(ask: Call, script: str) -> None:
    for code in (0, 2):
        called = ask("submit", "forensic", "--brain", script, "--id", "twice")
        assert called.code == code
    assert called.err == "parley: the id 'twice' is taken\n"


def test_a_debate_is_cancelled_once(ask: Call, silent: str) -> None:
    ask("submit", "forensic", "--brain", silent, "--id", "slow")
    assert "slow" in ask("list", "--status", "open").out
    assert ask("cancel", "slow", "--why", "wrong photo").code == 0
    watched = ask("watch", "slow").out
    assert "cancelled: wrong photo" in watched
    assert "closed: cancelled (cancelled)" in watched
    again = ask("cancel", "slow")
    assert again.code == 1
    assert again.err == "parley: slow is closed already (cancelled)\n"
    assert ask("verify", "slow").code == 0


@pytest.mark.parametrize("command", ["show", "watch", "cancel", "verify", "replay", "export"])
def test_an_unknown_debate(ask: Call, command: str) -> None:
    called = ask(command, "nix")
    assert called.code == 2
    assert called.err == "parley: no debate 'nix' on this server (parley list shows them)\n"


@pytest.mark.parametrize("name", ["*", "a b", "x.y.z", ">"])
def test_names_that_are_no_ids(ask: Call, name: str) -> None:
    called = ask("show", name)
    assert called.code == 2
    assert "is no id of a debate" in called.err


def test_run_leaves_its_debates_to_a_system_that_is_up(ask: Call, script: str) -> None:
    called = ask("run", "forensic", "hello", "--brain", script, "--json")
    assert called.code == 0
    result = json.loads(called.out)
    assert result["status"] == "completed"
    assert result["debate_id"] in ask("list").out


def test_run_on_a_private_server(parley: Call, script: str) -> None:
    called = parley("run", "forensic", "one", "two", "--brain", script, "--json")
    assert (called.code, called.err) == (0, "")
    results = [json.loads(line) for line in called.out.splitlines()]
    assert [one["final_verdict"] for one in results] == ["manipulated", "manipulated"]
    assert not Path(".parley").exists()


def test_several_debates_are_told_apart(parley: Call, script: str) -> None:
    lines = parley("run", "forensic", "one", "two", "--brain", script).out.splitlines()
    assert len({line.split()[0] for line in lines}) == 2
    assert sum("closed: completed" in line for line in lines) == 2


def test_a_failed_debate_is_code_1(parley: Call, silent: str) -> None:
    called = parley("run", "forensic", "--brain", silent, "--set", "deadline_s=.5", "--json")
    assert called.code == 1
    result = json.loads(called.out)
    assert (result["status"], result["termination_reason"]) == ("failed", "quorum_lost")


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show", "x"),
        ("watch",),
        ("coordinator",),
        ("agent", "forensic/noise"),
        ("submit", "forensic", "x", "--brain", "script"),
        ("run", "forensic", "x", "--brain", "script"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_server_there(parley: Call, arguments: tuple[str, ...]) -> None:
    called = parley(*arguments, "--nats", "nats://127.0.0.1:9")
    assert called.code == 3
    assert called.out == ""
    assert called.err.count("\n") == 1
    assert called.err.startswith("parley: no NATS server answers at 127.0.0.1:9")


def test_submit_waits_for_the_outcome(up: Up, parley: Call, script: str) -> None:
    asked = ("submit", "forensic", "--brain", script, "--nats", up.url, "--wait")
    told = parley(*asked, "--topic", "Case 17", "--label", "team=core", "--id", "case-17")
    assert told.code == 0, told.err
    assert "closed: completed" in told.out
    exported = parley("export", "case-17", "--nats", up.url)
    submitted = json.loads(exported.out.splitlines()[0])
    about = submitted.get("fact", submitted)["input"]
    assert (about["topic"], about["labels"]) == ("Case 17", {"team": "core"})
    for words in ("case 17", "team=core"):
        (row,) = parley("list", "--search", words, "--json", "--nats", up.url).out.splitlines()
        assert json.loads(row)["topic"] == "Case 17 · team=core"
    assert "about: Case 17 · team=core" in parley("show", "case-17", "--nats", up.url).out


def test_submit_names_every_label_that_is_none(up: Up, parley: Call, script: str) -> None:
    asked = ("submit", "forensic", "--brain", script, "--nats", up.url)
    told = parley(*asked, "--label", "a b=1", "--label", "c", "--label", f"d={'x' * 201}")
    assert told.code == 2
    assert [line.split(":")[1].strip() for line in told.err.splitlines()] == [
        "--label a b=1",
        "--label c",
        "--label d",
    ]


def test_a_debate_is_found_by_a_part_of_its_id(up: Up, parley: Call, script: str) -> None:
    for name in ("alike-one-77q1", "alike-two-77q2"):
        asked = ("submit", "forensic", "--brain", script, "--nats", up.url, "--wait")
        assert parley(*asked, "--id", name).code == 0
    assert json.loads(parley("show", "77q2", "--nats", up.url, "--json").out)["debate_id"] == (
        "alike-two-77q2"
    )
    assert parley("show", "alike-one", "--nats", up.url).code == 0
    told = parley("show", "alike", "--nats", up.url)
    assert told.code == 2
    assert "may be any of 2 debates: forensic/alike-one-77q1, forensic/alike-two-77q2" in told.err
    assert parley("show", "q2", "--nats", up.url).code == 2


def test_a_debate_is_run_again(up: Up, parley: Call, script: str) -> None:
    asked = ("submit", "forensic", "--brain", script, "--nats", up.url, "--wait")
    assert parley(*asked, "--id", "first-run", "--label", "team=core").code == 0
    told = parley("rerun", "first-run", "--id", "second-run", "--wait", "--nats", up.url)
    assert told.code == 0, told.err
    assert told.out.splitlines()[-1] == "second-run"
    first, second = (
        json.loads(parley("show", name, "--nats", up.url, "--json").out)
        for name in ("first-run", "second-run")
    )
    assert first["final_verdict"] == second["final_verdict"]
    exported = parley("export", "second-run", "--nats", up.url).out.splitlines()[0]
    about = json.loads(exported).get("fact", json.loads(exported))["input"]
    assert about["labels"] == {"team": "core", "rerun_of": "first-run"}
    assert parley("rerun", "nobody-here", "--nats", up.url).code == 2


def test_a_deleted_debate_says_so_wherever_it_is_asked_for(
    ask: Call, script: str, silent: str, tmp_path: Path
) -> None:
    ask("submit", "forensic", "a secret", "--brain", script, "--id", "goes")
    ask("watch", "goes")
    ask("export", "goes", "-o", tmp_path / "goes.jsonl")
    deleted = ask("delete", "goes", "--why", "a name")
    assert (deleted.code, deleted.out) == (0, "goes: deleted\n"), deleted.err
    assert ask("delete", "goes").code == 0
    for command in ("show", "watch", "verify", "replay", "export", "report"):
        said = ask(command, "goes")
        assert said.code != 0, command
        assert "goes was deleted at " in said.err, (command, said.err)
        assert "a name" in said.err
        assert "secret" not in said.out
    listed = [json.loads(line) for line in ask("list", "--json").out.splitlines()]
    [one] = [line for line in listed if line["debate_id"] == "goes"]
    assert (one["status"], one["topic"], one["outcome"]) == ("deleted", "", None)
    assert "deleted" in ask("list", "--status", "deleted").out
    again = ask("submit", "forensic", "another", "--brain", script, "--id", "goes")
    assert (again.code, "taken" in again.err) == (2, True)
    assert "was deleted" in ask("import", tmp_path / "goes.jsonl").err
    ask("submit", "forensic", "--brain", silent, "--id", "runs")
    assert "cancel it first" in ask("delete", "runs").err
    ask("cancel", "runs")


COMPLETE = r"""
eval "$("$PARLEY" --show-completion bash)"
COMP_WORDS=($LINE)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_parley_completion "$PARLEY"
printf '%s\n' "${COMPREPLY[@]}"
"""


def complete(line: str, up: Up) -> list[str]:
    """As bash would, in the shell itself."""
    shell = subprocess.run(
        ["bash", "-c", COMPLETE],
        env={
            "PATH": os.environ["PATH"],  # noqa: TID251 - for the shell
            "PARLEY": str(Path(sys.executable).with_name("parley")),
            "LINE": line,
            "PARLEY_NATS__URL": up.url,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert shell.stderr == ""
    return shell.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("parley sub", ["submit"]),
        ("parley submit fo", ["forensic"]),
        ("parley run forensic fo", []),
        ("parley list --panel del", ["deliberation"]),
        ("parley agent forensic/no", ["forensic/noise"]),
        ("parley agent forensic/noise forensic/spa", ["forensic/spatial"]),
        ("parley up --without review/sec", ["review/security"]),
        ("parley submit --top", ["--topic"]),
        ("parley dlq re", ["redrive"]),
    ],
)
def test_a_shell_completes(line: str, words: list[str], up: Up) -> None:
    assert complete(line, up) == words


def test_a_shell_completes_ids(ask: Call, script: str, up: Up) -> None:
    ask("submit", "forensic", "--brain", script, "--id", "zebra-1")
    assert complete("parley show zeb", up) == ["zebra-1"]
    assert complete("parley export one zebra-1 zeb", up) == ["zebra-1"]
    assert complete("parley show --nats nats://127.0.0.1:1 zeb", up) == []


def test_logs_are_json_lines_and_it_stops_in_order(parley: Call, up: Up) -> None:
    taken = parley("up", "--port", up.port)
    assert taken.code == 2
    assert f"port {up.port} is taken" in taken.err
    assert f"join it with --nats {up.url}" in taken.err
    again = parley("up", "--store", up.store)
    assert again.code == 2
    assert f"in use by process {up.process.pid}" in again.err
    assert f"join it with --nats {up.url}" in again.err
    assert up.stop(signal.SIGTERM) == 0
    events = [json.loads(line) for line in up.log.read_text().splitlines()]
    ready = [event for event in events if event["event"] == "agent_ready"]
    assert {event["persona"] for event in ready} >= {"frequency", "noise", "watermark", "spatial"}
    assert "stopping" in {event["event"] for event in events}
    assert parley("list", "--nats", up.url).code == 3


def test_a_debate_goes_on_after_a_kill(parley: Call, silent: str, tmp_path: Path) -> None:
    first = Up(tmp_path)
    parley("submit", "forensic", "--brain", silent, "--id", "survivor", "--nats", first.url)
    first.stop(signal.SIGKILL)
    second = Up(tmp_path)
    try:
        watched = parley("watch", "survivor", "--nats", second.url)
        assert "closed: failed (quorum lost)" in watched.out
        assert parley("verify", "survivor", "--nats", second.url).code == 0
    finally:
        second.stop(signal.SIGTERM)


def test_the_demo_ends_with_verdicts_in_plain_words(parley: Call, tmp_path: Path) -> None:
    called = parley("demo", "--out", tmp_path / "shown")
    assert (called.code, called.err) == (0, "")
    lines = [line.strip() for line in called.out.splitlines()]
    assert lines.count("=> Verdict: manipulated, confidence 0.70.") == 2
    assert "Why it ended after 3 rounds: the agents agree." in lines
    assert lines.count("A vote at the start would have said ai_generated.") == 2
    assert any(line.startswith("=> Manipulated, probably: a camera took it") for line in lines)
    assert f"The report with pictures: {tmp_path / 'shown' / 'copy_moved.html'}" in lines
    assert (tmp_path / "shown" / "copy_moved.html").stat().st_size > 100_000
    assert any("parley up" in line for line in lines[-4:])

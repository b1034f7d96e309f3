import os
import subprocess
import sys
from pathlib import Path

import pytest

from parley.bus.errors import (
    BadInput,
    Conflict,
    DecodeError,
    NotFound,
    ParleyError,
    ProtocolError,
    Unavailable,
    Unreachable,
    Unsuitable,
)
from parley.console.cli.exits import Ending
from tests.unit.console.calling import Call


def raising(error: BaseException) -> int:
    def command() -> None:
        raise error

    return Ending().run(command)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("x"), 2),
        (DecodeError("x"), 2),
        (NotFound("x"), 2),
        (Unreachable("x"), 3),
        (Unsuitable("x"), 3),
        (Unavailable("x"), 3),
        (Conflict("x"), 1),
        (ProtocolError("x"), 1),
        (KeyboardInterrupt(), 130),
        (BaseExceptionGroup("tasks", [BaseExceptionGroup("inner", [Unreachable("x")])]), 3),
        (BaseExceptionGroup("tasks", [KeyboardInterrupt(), BadInput("x")]), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert raising(error) == code


def test_one_line_for_each_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    raising(BadInput("a.yaml: first\nb.yaml: second"))
    assert capsys.readouterr().err == "parley: a.yaml: first\nparley: b.yaml: second\n"


def test_errors_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    raising(BadInput("\x1b[2J\x1b]0;title\x07evil\r"))
    assert capsys.readouterr().err == "parley: evil\n"


def test_the_traceback_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    ending = Ending()
    ending.be_verbose(True)

    def command() -> None:
        raise BadInput("x")

    assert ending.run(command) == 2
    assert "Traceback" in capsys.readouterr().err
    raising(BadInput("x"))
    assert "Traceback" not in capsys.readouterr().err


def test_verbose_may_stand_before_and_after_the_command(parley: Call) -> None:
    assert "Traceback" in parley("--verbose", "panels", "nix").err
    assert "Traceback" in parley("panels", "nix", "--verbose").err
    assert "Traceback" not in parley("panels", "nix").err


def test_bugs_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())
    with pytest.raises(BaseExceptionGroup):
        raising(BaseExceptionGroup("tasks", [ParleyError("x"), ZeroDivisionError()]))


def test_a_reader_that_leaves_is_no_reason_to_complain() -> None:
    code = (
        "import sys; sys.stdin.readline(); from parley.console.cli.exits import Ending;"
        "sys.exit(Ending().run(lambda: print('x' * 100_000, flush=True)))"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    writer.stdout.close()
    writer.stdout = None
    _, err = writer.communicate(b"go\n")
    assert err == b""
    assert writer.returncode == 1


@pytest.mark.parametrize("asked", ["--help", "--version", "panels", "run --help"])
def test_output_that_nobody_reads_to_its_end_ends_silently(asked: str) -> None:
    """Without one byte read, which is as soon as a reader can leave."""
    reader, writer = os.pipe()
    os.close(reader)
    begin = "from parley.console.cli.start import main; main()"
    try:
        ended = subprocess.run(
            [sys.executable, "-c", begin, *asked.split()],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("lisst",), "unknown command 'lisst': did you mean 'list'?"),
        (("show",), "Missing argument 'ID'. (see parley show --help)"),
        (("list", "--bogus"), "No such option: --bogus"),
        (
            ("rules", "nix"),
            "unknown rule 'nix' (known: terminate-verdicts, terminate-regime, manager, cobra,",
        ),
        (("panels", "forensc"), "unknown panel 'forensc': did you mean 'forensic'?"),
        (("config", "chek"), "No such command 'chek'"),
        (("up", "--port", "0"), "Invalid value for '--port'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_command_line_is_one_line_and_code_2(
    parley: Call, arguments: tuple[str, ...], problem: str
) -> None:
    called = parley(*arguments)
    assert called.code == 2
    assert called.out == ""
    assert problem in called.err
    assert called.err.count("\n") == 1


CANARY = "hunter2canary"
SEED = f"SUA{CANARY}"
# A settings file, variables and arguments with one mistake, and a secret near it.
LEAKS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "address": (f"nats: {{url: 'natz://me:{CANARY}@host:4222'}}", {}, ()),
    "address-as-block": (f"nats: 'nats://me:{CANARY}@host'", {}, ()),
    "address-in-variable": ("", {"PARLEY_NATS__URL": f"host:{CANARY}@x:1:2"}, ()),
    "address-as-flag": ("", {}, ("--nats", f"http://me:{CANARY}@host")),
    "address-as-argument": ("", {}, (f"nats://me:{CANARY}@host", "more")),
    "password-as-list": (f"nats: {{user: me, password: [{CANARY}]}}", {}, ()),
    "password-beside-a-mistake": (f"nats: {{user: me, password: {CANARY}, replicas: 9}}", {}, ()),
    "password-misspelt": (f"nats: {{user: me, pasword: {CANARY}}}", {}, ()),
    "password-with-a-colon": (f"nats:\n  password: a: {CANARY}", {}, ()),
    "password-like-an-alias": (f"nats:\n  password: *{CANARY}", {}, ()),
    "password-like-a-tag": (f"nats:\n  password: !{CANARY}", {}, ()),
    "password-like-a-number": ("nats:\n  password: 2024-13-41\n  user: " + CANARY, {}, ()),
    "password-cut-off": (f'nats:\n  password: "{CANARY}', {}, ()),
    "seed-instead-of-its-file": (f"nats: {{nkey_seed_file: {SEED}}}", {}, ()),
    "login-instead-of-its-file": ("", {"PARLEY_NATS__CREDS_FILE": SEED}, ()),
    "key-instead-of-its-file": (f"nats: {{tls_key_file: {SEED}}}", {}, ()),
    "monitor": (f"nats: {{monitor: 'ftp://me:{CANARY}@host'}}", {}, ()),
    "token-too-short": ("web: {read_token: hunter2canary}", {}, ()),
    "token-as-block": (f"web: {CANARY}", {}, ()),
    "key-as-block": (f"model: {CANARY}", {}, ()),
    "key-of-a-seat": (f"model: {{seats: {{forensic: {CANARY}}}}}", {}, ()),
    "keys-of-seats": ("", {"PARLEY_MODEL__SEATS": f'{{"a": {{"api_key": "{CANARY}"'}, ()),
    "endpoint": (f"model: {{base_url: 'ftp://me:{CANARY}@host'}}", {}, ()),
    "other-endpoint": ("", {"OPENAI_BASE_URL": f"ftp://me:{CANARY}@host"}, ("--brain", "model")),
    "nobody-there": ("", {}, ("--nats", f"nats://me:{CANARY}@127.0.0.1:9")),
}


@pytest.mark.parametrize(("file", "variables", "arguments"), LEAKS.values(), ids=LEAKS)
def test_no_mistake_makes_a_secret_public(  # noqa: PLR0913, PLR0917
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file, variables, arguments
):
    (tmp_path / "parley.yaml").write_text(file)
    monkeypatch.chdir(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command = ("run", "forensic", "x") if "--brain" in arguments else ("list",)
    called = parley("--verbose", *command, *arguments)
    assert called.code in {2, 3}
    assert "parley: " in called.err
    assert CANARY not in called.err + called.out
    assert "2024-13-41" not in called.err

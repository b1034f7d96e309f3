"""Where no containers can be run, the run of the compose files says so, and what is missing."""

import pytest

from tests.containers.__main__ import play


@pytest.mark.parametrize(
    ("short", "code", "begins"),
    [(True, 0, "SKIPPED: no containers here: "), (False, 1, "no containers here: ")],
)
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    short: bool,
    code: int,
    begins: str,
) -> None:
    monkeypatch.setenv("PATH", "")
    assert play(short=short) == code
    out, err = capsys.readouterr()
    assert out == ""
    [line] = err.splitlines()
    assert line.startswith(begins)
    assert "apt-get install podman" in line

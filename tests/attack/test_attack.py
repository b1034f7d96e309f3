"""The short form of `make attack`, and the page that says who may do what."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from parley.bus.jetstream.accounts import VIEWER, accounts
from parley.bus.jetstream.infra import Layout
from tests.attack.page import GROUP_BROKEN, GROUP_OPEN, GROUP_READ, GROUP_WRITE
from tests.attack.plan import GROUPS
from tests.attack.rights import PAGE, Right, may, rights
from tests.attack.run import PRETENDED

LONGEST_S = 280.0
LEAST_ATTEMPTS = 1000


@pytest.mark.timeout(300)
def test_a_thousand_attempts_do_no_harm() -> None:
    """In a process of its own: connections that the server cuts leave litter behind."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.attack", "--most=3"],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},  # noqa: TID251 - ours, and the path
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            said, _ = run.communicate(timeout=LONGEST_S)
        finally:
            # With everybody it started, should it hang.
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == 0, said
    attempts = re.search(r"^attempts +(\d+) with", said, re.MULTILINE)
    assert attempts is not None, said
    assert int(attempts[1]) >= LEAST_ATTEMPTS, said
    assert re.search(r"^exceptions +0 in \d+ processes", said, re.MULTILINE), said
    assert re.search(r"^audit +0 violations$", said, re.MULTILINE), said
    for group in GROUPS:
        assert f"| {group} |" in said, group


def test_every_group_of_attempts_stands_on_the_page_with_its_outcome() -> None:
    page = PAGE.read_text()
    groups = (*GROUPS, GROUP_OPEN, GROUP_READ, GROUP_WRITE, GROUP_BROKEN, PRETENDED)
    for group in groups:
        outcome = re.search(rf"^\| {re.escape(group)} \| .+ \| (\d+) \|$", page, re.MULTILINE)
        assert outcome is not None, group
        assert outcome[1] == "0", f"{group} did harm"


def test_the_page_grants_what_the_accounts_grant() -> None:
    made = accounts({"some": ("body",)}, Layout())
    granted = {Right(VIEWER, "hears", "live.>")}
    for guest in made.guests:
        role = "persona" if guest.login.name == "some-body" else guest.login.name
        hears = ("_INBOX.>", *guest.hears, *(("$SRV.>",) if guest.discoverable else ()))
        sends = (*(service.subject for service in guest.services), *guest.says)
        for verb, subjects in (("sends", sends), ("hears", hears)):
            granted |= {Right(role, verb, _for_anybody(one)) for one in subjects}
    written = {one for one in rights() if one.login != "coordinator"}
    assert written == granted


def _for_anybody(subject: str) -> str:
    named = subject.replace("some-body", "{panel}-{persona}")
    tokens = {"some": "{panel}", "body": "{persona}"}
    return ".".join(tokens.get(token, token) for token in named.split("."))


@pytest.mark.parametrize(
    ("login", "subject", "granted"),
    [
        ("forensic-noise", "debate.12.forensic.d.turn.opening.noise", True),
        ("forensic-noise", "debate.12.forensic.d.turn.opening.spatial", False),
        ("forensic-noise", "debate.12.absa.d.turn.opening.noise", False),
        ("forensic-noise", "debate.12.forensic.d.turn.opening.noise.more", False),
        ("submitter", "debate.12.forensic.d.cancel", True),
        ("submitter", "debate.12.forensic.d.ctl.closed", False),
        ("viewer", "debate.12.forensic.d.cancel", False),
    ],
)
def test_rights_are_read_as_the_server_reads_them(login: str, subject: str, granted: bool) -> None:
    assert may(login, "sends", subject.encode()) is granted

"""Single records that somebody published by hand, and the commands of an operator."""

import json
from pathlib import Path

import anyio
import pytest

from parley.bus.codec import encode
from parley.bus.contracts.facts import Asked, Closed, Opened, Status, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef
from parley.configs.settings import load
from parley.connection import open_journal
from tests.bus.worlds import NatsServer
from tests.debates import panel
from tests.hostile.intruder import intruder
from tests.unit.console.calling import Call, Called

# An intruder speaks to the server by hand, without a login.
pytestmark = pytest.mark.own_server

SUBMITTED = Submitted(panel=panel(), input=DebateInput(text="a photograph"))
CLOSED = Closed(decided_at=1, status=Status.COMPLETED, reason="forged", detail="")


async def _bury_an_ask(url: str) -> None:
    ask = Asked(
        decided_at=1,
        step="opening",
        personas=("noise",),
        input=DebateInput(),
        request=OpeningRequest(),
        deadline_s=1.0,
    )
    async with open_journal(load(flags={"nats.url": url}), create=False) as journal:
        subject = journal.subjects.of(DebateRef("forensic", "d1"), ask)
        sequence = await journal.bus.append(Entry(subject, encode(ask), "forged"))
        await journal.bus.bury(sequence, "forged")


async def _submit(url: str, debate: str) -> None:
    async with open_journal(load(flags={"nats.url": url}), create=False) as journal:
        await journal.submit(DebateRef("forensic", debate), SUBMITTED)


@pytest.fixture
def ask(parley: Call, server: NatsServer) -> Call:
    """Of a server on which somebody published by hand; d1 and d2 are true debates."""

    def run(*arguments: object) -> Called:
        return parley(*arguments, "--nats", server.url)

    run("infra", "apply")
    anyio.run(_submit, server.url, "d1")
    with intruder(server.port) as someone:
        someone.publish(b"debate.0.forensic.bad!id.submitted", encode(SUBMITTED))
        someone.publish(b"debate.0.forensic.*.submitted", encode(SUBMITTED))
        someone.publish(b"debate.nopanel.x1.submitted", b"{}")
        someone.publish(b"debate.nopanel.x2.ctl.opened", encode(Opened(decided_at=1)))
        someone.publish(b"debate.38.forensic.d1.submitted", encode(SUBMITTED))
        someone.publish(b"debate.28.forensic.d2.submitted", b"\xff")
        someone.publish(b"debate.28.forensic.d2.ctl.closed", encode(CLOSED))
        someone.flush()
    anyio.run(_submit, server.url, "d2")
    return run


def test_only_what_was_submitted_is_listed_and_once(ask: Call) -> None:
    called = ask("list", "--json")
    assert (called.code, called.err) == (0, "")
    listed = [json.loads(line) for line in called.out.splitlines()]
    found = sorted((one["debate_id"], one["status"]) for one in listed)
    assert found == [("d1", "open"), ("d2", "open")]


@pytest.mark.parametrize("debate", ["x1", "x2", "nopanel/x1"])
@pytest.mark.parametrize(
    "command",
    [["show"], ["show", "--json"], ["watch"], ["watch", "--json"], ["cancel"], ["verify"]],
    ids=" ".join,
)
def test_what_was_never_submitted_is_no_debate(ask: Call, command: list[str], debate: str) -> None:
    called = ask(command[0], debate, *command[1:])
    assert (called.code, called.out) == (2, "")
    assert f"no debate '{debate}'" in called.err


def test_a_forged_ask_is_a_dead_letter_of_nobody(ask: Call, server: NatsServer) -> None:
    anyio.run(_bury_an_ask, server.url)
    assert "forensic/d1  record (sequence" in ask("dlq", "list").out
    (told,) = ask("dlq", "redrive", "--all", "--json").out.splitlines()
    assert json.loads(told)["fate"] == "no_ask"


def test_what_is_no_submission_takes_no_id(ask: Call, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("rounds: [{noise: [authentic, .9]}]")
    submitted = ask("submit", "forensic", "--brain", f"script:{script}", "--id", "x1")
    assert submitted.code == 0, submitted.err
    assert ask("show", "x1").code == 0


def test_a_panel_is_exported_without_what_was_never_submitted(ask: Call) -> None:
    called = ask("export", "--panel", "nopanel")
    assert called.code == 2
    assert "no such debate" in called.err

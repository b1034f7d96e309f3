"""
A persona that speaks in the server's name: headers that only the server may write.

The attacker uses nats-py alone, with the login of one persona; the system under attack runs with
the generated logins, and is read back as a coordinator does after a restart.
"""

import json

import anyio
import pytest

from parley.agents.script import SCRIPT_BLOB, ScriptedBrain
from parley.bus.contracts.facts import Closed, Fact, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.protocols.verdicts.result import result_of
from tests.bus.worlds import NatsServer
from tests.debates import panel
from tests.deploy.guarded import (
    COORDINATOR,
    PERSONA,
    SUBMITTER,
    at_work,
    journal_of,
    new_debate,
    root_of,
    somebody,
)
from tests.deploy.test_commands import parley

SPOKEN_FOR_ANOTHER = json.dumps(
    {
        "type": "turn",
        "step": "opening",
        "persona": "frequency",
        "content": {"kind": "statement", "verdict": "authentic", "confidence": 1.0},
    }
).encode()
CLOSED = json.dumps(
    {"type": "closed", "decided_at": 1, "status": "completed", "reason": "forged"}
).encode()
CANCELLED = json.dumps({"type": "cancel", "why": "forged"}).encode()

FORGERIES = {
    "another's turn": ("turn.opening.frequency", SPOKEN_FOR_ANOTHER),
    "the closing": ("ctl.closed", CLOSED),
    "a cancellation": ("cancel", CANCELLED),
}
SCRIPT = b"""
rounds:
  - {frequency: [ai_generated, .9], noise: [ai_generated, .8],
     watermark: [ai_generated, .7], spatial: [ai_generated, .9]}
"""


async def submitted(server: NatsServer, ref: DebateRef) -> None:
    async with journal_of(server, SUBMITTER) as journal:
        script = await journal.bus.put_blob(SCRIPT, "application/yaml")
        about = DebateInput(text="a photograph", blobs={SCRIPT_BLOB: script})
        await journal.submit(ref, Submitted(panel=panel(), input=about))


async def forge(server: NatsServer, ref: DebateRef, tail: str, data: bytes) -> None:
    """On the one subject that the login may write to, as if it stood on another."""
    root = root_of(ref)
    for step, headers in enumerate(
        (
            {"Nats-Subject": f"{root}.{tail}"},
            {"nats-subject": f"{root}.{tail}", "Nats-Sequence": "1", "Nats-Stream": "PARLEY"},
            {"Nats-Subject": f"{root}.{tail}", "Nats-Time-Stamp": "2001-01-01T00:00:00Z"},
        )
    ):
        async with somebody(server, PERSONA) as persona:
            stored = await persona.ask(f"{root}.turn.forged-{step}.noise", data, headers)
            assert stored is not None
            assert b'"seq"' in stored


async def read_to_the_end(journal: Journal, ref: DebateRef) -> list[Fact]:
    with anyio.fail_after(60):
        while True:
            facts = [one.fact for one in (await journal.read(ref))[0]]
            if any(isinstance(one, Closed) for one in facts):
                return facts
            await anyio.sleep(0.05)


async def taken_out(journal: Journal, ref: DebateRef) -> list[str]:
    """Why a coordinator took records out of this debate."""
    root = journal.subjects.at(ref, "")
    letters = await journal.bus.dead_letters()
    return [one.reason for one in letters if one.trace and one.trace.subject.startswith(root)]


@pytest.mark.parametrize(("tail", "data"), FORGERIES.values(), ids=FORGERIES)
async def test_a_forged_subject_is_believed_by_nobody(
    server: NatsServer, tail: str, data: bytes
) -> None:
    ref = new_debate()
    await submitted(server, ref)
    await forge(server, ref, tail, data)
    async with at_work(server, ScriptedBrain()), journal_of(server, COORDINATOR) as journal:
        await read_to_the_end(journal, ref)
        with anyio.fail_after(60):
            while len(await taken_out(journal, ref)) < 3:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        facts, _ = await journal.read(ref)
        reasons = await taken_out(journal, ref)
    assert len(reasons) == 3
    assert all("for the server to write" in one for one in reasons)
    found = audit([one.fact for one in facts])
    assert found.holds, found.discrepancies
    result = result_of(ref, found.state)
    assert (result.final_verdict, result.termination_reason) == (
        "ai_generated",
        "consensus_reached",
    )


async def test_numbers_that_are_none_stop_nobody(server: NatsServer) -> None:
    """Read live, read back by a second coordinator, and by every command."""
    ref = new_debate()
    hostile = [
        {"Nats-Sequence": "x"},
        {"Nats-Sequence": "9" * 5000},
        {"Nats-Sequence": "-1"},
        {"Nats-Time-Stamp": "never"},
        {"Nats-Num-Pending": "x"},
        {"Nats-Stream": "", "Nats-Subject": "", "Nats-Sequence": ""},
    ]
    async with at_work(server, ScriptedBrain()), somebody(server, PERSONA) as persona:
        for number, headers in enumerate(hostile):
            subject = f"{root_of(ref)}.turn.live-{number}.noise"
            assert await persona.ask(subject, b"{}", headers) is not None
        await submitted(server, ref)
        async with journal_of(server, COORDINATOR) as journal:
            await read_to_the_end(journal, ref)
    later = new_debate()
    await submitted(server, later)
    async with at_work(server, ScriptedBrain()), journal_of(server, COORDINATOR) as journal:
        await read_to_the_end(journal, later)
        with anyio.fail_after(60):
            while not any("Nats-" in one.reason for one in await journal.bus.dead_letters()):  # noqa: ASYNC110
                await anyio.sleep(0.1)
    for command in (
        ("show", ref.id),
        ("export", ref.id),
        ("list",),
        ("dlq", "list"),
        ("verify", ref.id),
    ):
        told = await parley(server, COORDINATOR, *command)
        assert (told.code, "Traceback" in told.err) == (0, False), (command, told.err)
    verified = await parley(server, COORDINATOR, "verify", ref.id, "--json")
    said = json.loads(verified.out)
    assert said["holds"] is True
    assert len(said["foreign"]) == len(hostile)


async def test_a_strangers_turn_is_named_by_verify(server: NatsServer) -> None:
    ref = new_debate()
    async with at_work(server, ScriptedBrain()), somebody(server, PERSONA) as persona:
        await submitted(server, ref)
        stray = json.loads(SPOKEN_FOR_ANOTHER) | {"step": "round-9", "persona": "noise"}
        subject = f"{root_of(ref)}.turn.round-9.noise"
        assert await persona.ask(subject, json.dumps(stray).encode()) is not None
        async with journal_of(server, COORDINATOR) as journal:
            await read_to_the_end(journal, ref)
    told = await parley(server, COORDINATOR, "verify", ref.id)
    assert told.code == 0
    assert "holds" in told.out
    assert "counts for nothing" in told.out
    assert "round-9" in told.out

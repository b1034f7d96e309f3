"""
What a persona's login can try with header blocks of its own making, against the whole system.

The attacker uses nats-py alone. Coordinator and agents are at work, the page looks on with its own
login, and both start again on what the attacker left behind.
"""

import json
from pathlib import Path

import anyio

from parley.agents.script import ScriptedBrain
from parley.bus.contracts.facts import TurnTaken
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from tests.bus.worlds import NatsServer
from tests.debates import ROSTER
from tests.deploy.guarded import (
    COORDINATOR,
    LAYOUT,
    PERSONA,
    WEB,
    Somebody,
    at_work,
    journal_of,
    new_debate,
    root_of,
    somebody,
)
from tests.deploy.test_commands import parley
from tests.deploy.test_forged_headers import (
    CANCELLED,
    CLOSED,
    SPOKEN_FOR_ANOTHER,
    read_to_the_end,
    submitted,
)
from tests.hostile.test_header_blocks import BLOCKS
from tests.web.site import site

TOLD_WITHIN_S = 60.0


async def send(someone: Somebody, subject: str, block: bytes, data: bytes) -> None:
    """The library would write a block of its own."""
    sizes = f"{len(block)} {len(block) + len(data)}"
    whole = f"HPUB {subject} {sizes}\r\n".encode() + block + data + b"\r\n"
    await someone.client._send_command(whole)


async def send_all(someone: Somebody, ref: DebateRef) -> None:
    for number, block in enumerate(BLOCKS):
        for data in (b"{}", SPOKEN_FOR_ANOTHER):
            subject = f"{root_of(ref)}.turn.s{number}-{len(data)}.noise"
            await send(someone, subject, block, data)
    await someone.heard_out()


async def test_no_header_block_stops_anybody(server: NatsServer) -> None:
    """Before the debate, in the middle of it, and for those who start later."""
    ref, later = new_debate(), new_debate()
    async with somebody(server, PERSONA) as persona:
        async with (
            at_work(server, ScriptedBrain()),
            journal_of(server, COORDINATOR) as journal,
            journal_of(server, WEB) as web,
            site(web) as page,
        ):
            await send_all(persona, ref)
            await submitted(server, ref)
            await send_all(persona, ref)
            facts = await read_to_the_end(journal, ref)
            assert audit(facts).holds
            with anyio.fail_after(TOLD_WITHIN_S):
                events = await page.collect(f"/debates/{ref.id}/events")
            assert events[-1].name == "end"
        async with (
            at_work(server, ScriptedBrain()),
            journal_of(server, COORDINATOR) as journal,
            journal_of(server, WEB) as web,
            site(web) as page,
        ):
            await submitted(server, later)
            assert audit(await read_to_the_end(journal, later)).holds
            with anyio.fail_after(TOLD_WITHIN_S):
                await page.collect(f"/debates/{later.id}/events")
            rows = (await page.get("/debates")).json["debates"]
            assert {ref.id, later.id} <= {one["id"] for one in rows if one["status"] == "completed"}


async def test_the_list_of_debates_believes_no_forgery(server: NatsServer) -> None:
    """A debate that nobody works on stays open, whatever a persona says on its own subject."""
    ref = new_debate()
    root = root_of(ref)
    await submitted(server, ref)
    async with somebody(server, PERSONA) as persona:
        for tail, data in (("ctl.closed", CLOSED), ("cancel", CANCELLED)):
            headers = {"Nats-Subject": f"{root}.{tail}", "Nats-Sequence": "9" * 18}
            assert await persona.ask(f"{root}.turn.{tail[:3]}.noise", data, headers) is not None
        own = json.loads(SPOKEN_FOR_ANOTHER) | {"persona": "noise", "usage": {"model_calls": 7}}
        hidden = {"Nats-Marker-Reason": "MaxAge"}
        stored = await persona.ask(f"{root}.turn.opening.noise", json.dumps(own).encode(), hidden)
        assert stored is not None
    async with journal_of(server, WEB) as web, site(web) as page:
        row = (await page.get(f"/debates/{ref.id}")).json
        listed = (await page.get("/debates")).json["debates"]
    assert "forged" not in json.dumps(row)
    [one] = [one for one in listed if one["id"] == ref.id]
    assert (one["status"], one["phase"], one["calls"]) == ("open", "submitted", 0)


async def squat(server: NatsServer, ref: DebateRef) -> None:
    """Takes the ids that the debate's own writes would have, if they could be foreseen."""
    tails = ["submitted", "cancel", "fired.opening", "ctl.ask.opening.all"]
    tails += [f"ctl.{one}" for one in ("opened", "terminated", "decided", "judged", "closed")]
    tails += [f"turn.{step}.{one}" for step in ("opening", "round-1") for one in ROSTER]
    async with somebody(server, PERSONA) as persona:
        for number, tail in enumerate(tails):
            headers = {"Nats-Msg-Id": f"{root_of(ref)}.{tail}"}
            subject = f"debate.63.{ref.panel}.squatter.turn.{ref.id}-{number}.noise"
            stored = await persona.ask(subject, b"{}", headers)
            assert stored is not None
            assert b"duplicate" not in stored


async def test_no_id_taken_beforehand_swallows_a_fact(server: NatsServer) -> None:
    ref = new_debate()
    await squat(server, ref)
    async with at_work(server, ScriptedBrain()), journal_of(server, COORDINATOR) as journal:
        await submitted(server, ref)
        facts = await read_to_the_end(journal, ref)
    assert audit(facts).holds
    spoken = {(one.step, one.persona) for one in facts if isinstance(one, TurnTaken)}
    assert {("opening", one) for one in ROSTER} <= spoken


async def test_no_id_taken_beforehand_swallows_what_is_imported(
    server: NatsServer, tmp_path: Path
) -> None:
    ref = new_debate()
    async with at_work(server, ScriptedBrain()), journal_of(server, COORDINATOR) as journal:
        await submitted(server, ref)
        facts = await read_to_the_end(journal, ref)
    file = tmp_path / "one.jsonl"
    exported = await parley(server, COORDINATOR, "export", ref.id, "-o", str(file))
    assert exported.code == 0, exported.err
    async with somebody(server, COORDINATOR) as core:
        gone = {"filter": f"{root_of(ref)}.>"}
        assert (await core.api(f"STREAM.PURGE.{LAYOUT.stream}", gone))["purged"] >= len(facts)
    await squat(server, ref)
    imported = await parley(server, COORDINATOR, "import", str(file))
    assert imported.code == 0, imported.err
    async with journal_of(server, COORDINATOR) as journal:
        assert [one.fact for one in (await journal.read(ref))[0]] == facts

"""
Invariant 5: a persona cannot write another's turn or any control fact; its credentials forbid it.

Every forgery is tried twice. With a persona's login it must leave no trace; with the coordinator's
it must work, or the test would prove nothing but a typing error in a subject.
"""

import json
from pathlib import Path

import nats.micro
import pytest

from parley.bus.errors import Unsuitable
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.subjects import partition_of
from tests.bus.worlds import NatsServer, until
from tests.deploy import guarded
from tests.deploy.guarded import (
    BUCKET,
    COORDINATOR,
    LAYOUT,
    PERSONA,
    SUBMITTER,
    VIEWER,
    WEB,
    everything_stored,
    new_debate,
    root_of,
    somebody,
    subjects_of,
)

STREAM = LAYOUT.stream

FORGED_TAILS = (
    "turn.r1.frequency",
    "turn.r1.all",
    "submitted",
    "cancel",
    "timer.r1",
    "fired.r1",
    "ctl.opened",
    "ctl.ask.r1.noise",
    "ctl.ask.r1.all",
    "ctl.abstained.r1.frequency",
    "ctl.abstained.r1.noise",
    "ctl.terminated",
    "ctl.judged",
    "ctl.overridden",
    "ctl.decided",
    "ctl.moderated",
    "ctl.closed",
)
WRITES = (
    *(f"debate.38.forensic.d1.{tail}" for tail in FORGED_TAILS),
    "debate.38.other.d1.turn.r1.noise",
    "debate.38.forensic.d1.turn.noise",
    "debate.38.forensic.d1.turn.r1.x.noise",
    f"$O.{LAYOUT.bucket}.C.upload",
    f"$O.{LAYOUT.bucket}.M.description",
    "redrive.debate.38.forensic.d1.r1.spatial",
    "dead.debate.1",
    f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{LAYOUT.stream}.forensic-noise",
)
CONSUMER = {"durable_name": "mine", "name": "mine", "ack_policy": "explicit"}
REQUESTS: dict[str, object] = {
    f"$JS.API.CONSUMER.INFO.{STREAM}.forensic-frequency": None,
    f"$JS.API.CONSUMER.CREATE.{STREAM}.mine": {"stream_name": STREAM, "config": CONSUMER},
    f"$JS.API.CONSUMER.CREATE.{STREAM}.{PERSONA}": {
        "stream_name": STREAM,
        "config": {
            "name": PERSONA,
            "durable_name": PERSONA,
            "ack_policy": "explicit",
            "filter_subject": "debate.>",
        },
    },
    f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.mine": {"stream_name": STREAM, "config": CONSUMER},
    f"$JS.API.CONSUMER.NAMES.{STREAM}": None,
    f"$JS.API.CONSUMER.LIST.{STREAM}": None,
    f"$JS.API.CONSUMER.PAUSE.{STREAM}.{PERSONA}": {"pause_until": "2099-01-01T00:00:00Z"},
    f"$JS.API.CONSUMER.PAUSE.{STREAM}.forensic-frequency": {"pause_until": "2099-01-01T00:00:00Z"},
    f"$JS.API.CONSUMER.RESET.{STREAM}.forensic-frequency": {"seq": 1},
    "$JS.API.STREAM.NAMES": None,
    "$JS.API.STREAM.LIST": None,
    f"$JS.API.STREAM.INFO.{STREAM}": {"subjects_filter": ">"},
    f"$JS.API.STREAM.MSG.GET.{STREAM}": {"seq": 1},
    f"$JS.API.DIRECT.GET.{STREAM}": {"seq": 1},
    f"$JS.API.DIRECT.GET.{STREAM}.debate.2.forensic.known.submitted": None,
    f"$JS.API.STREAM.SNAPSHOT.{STREAM}": {"deliver_subject": "_INBOX.snapshot"},
    "$JS.API.STREAM.CREATE.MINE": {"name": "MINE", "subjects": ["mine"]},
    f"$JS.API.STREAM.UPDATE.{BUCKET}": {"name": BUCKET, "subjects": ["yours"]},
    f"$JS.API.STREAM.MSG.DELETE.{BUCKET}": {"seq": 1},
    f"$JS.API.STREAM.MSG.DELETE.{STREAM}": {"seq": 1},
    f"$JS.API.STREAM.PURGE.{BUCKET}": None,
    f"$JS.API.STREAM.PURGE.{STREAM}": None,
    f"$JS.API.CONSUMER.DELETE.{STREAM}.{PERSONA}": None,
    f"$JS.API.CONSUMER.DELETE.{STREAM}.forensic-frequency": None,
    f"$JS.API.STREAM.DELETE.{BUCKET}": None,
    f"$JS.API.STREAM.DELETE.{STREAM}": None,
}
READS = {
    f"$JS.API.STREAM.INFO.{STREAM}",
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.DIRECT.GET.{STREAM}",
}
MAY_ASK = {SUBMITTER: READS, WEB: {*READS, f"$JS.API.CONSUMER.LIST.{STREAM}"}}
NEITHER_SUBMITTED_NOR_UPLOADED = [
    subject
    for subject in WRITES
    if not subject.endswith((".submitted", ".cancel")) and not subject.startswith("$O.")
]
OVERHEARD = (
    ">",
    "debate.>",
    "debate.*.forensic.*.turn.*.noise",
    "live.>",
    "live.debate.*.forensic.*.turn.>",
    "$JS.>",
    "$JS.API.>",
    "$JS.ACK.>",
    "$JS.EVENT.>",
    "_INBOX.>",
)


async def test_what_a_persona_writes_elsewhere_is_not_stored(server: NatsServer) -> None:
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        before = await everything_stored(core)
        for subject in WRITES:
            await persona.client.publish(subject, b"{}", reply=persona.client.new_inbox())
        await persona.heard_out()
        assert await everything_stored(core) == before
        assert len(persona.refused) == len(WRITES)


async def test_what_the_coordinator_writes_there_is_stored(server: NatsServer) -> None:
    async with somebody(server, COORDINATOR) as core:
        for subject in WRITES:
            answer = await core.ask(subject, b"{}")
            assert answer is not None, subject
            assert json.loads(answer)["seq"] > 0, subject


@pytest.mark.parametrize("tail", FORGED_TAILS)
async def test_the_acknowledgement_of_a_turn_does_not_become_a_fact(
    server: NatsServer, tail: str
) -> None:
    debate = root_of(new_debate())
    turn, forged = f"{debate}.turn.r1.noise", f"{debate}.{tail}"
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        before = await subjects_of(core)
        await persona.client.publish(turn, b"{}", reply=forged)
        await persona.heard_out()
        assert await subjects_of(core) == {**before, turn: 1}


async def test_the_acknowledgement_would_become_one_within_the_account(server: NatsServer) -> None:
    debate = root_of(new_debate())
    async with somebody(server, COORDINATOR) as core:
        await core.client.publish(
            f"{debate}.turn.r1.noise", b"{}", reply=f"{debate}.ctl.terminated"
        )
        await core.heard_out()
        assert (await subjects_of(core))[f"{debate}.ctl.terminated"] == 1


@pytest.mark.parametrize("subject", REQUESTS, ids=lambda subject: subject.removeprefix("$JS.API."))
async def test_a_persona_cannot_read_or_change_streams_and_queues(
    server: NatsServer, subject: str
) -> None:
    body = REQUESTS[subject]
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        before = await everything_stored(core)
        assert await persona.ask(subject, json.dumps(body).encode() if body else b"") is None
        assert await everything_stored(core) == before


async def test_a_persona_sees_whether_a_debate_of_its_panel_is_over_and_nothing_else(
    server: NatsServer,
) -> None:
    endings = ["forensic.*.ctl.closed", "forensic.*.fired.r1"]
    hidden = ["forensic.*.ctl.terminated", "forensic.*.turn.r1.spatial", "absa.*.ctl.closed"]
    ref = new_debate()
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        for tail in (*endings, *hidden):
            subject = f"debate.{partition_of(ref.id)}.{tail.replace('*', ref.id)}"
            await core.ask(subject, b"{}")
            seen = await persona.ask(f"$JS.API.DIRECT.GET.{LAYOUT.stream}.{subject}", b"")
            assert (seen is not None) == (tail in endings), tail


async def test_the_coordinator_can_read_and_change_them(tmp_path: Path) -> None:
    """On a server of its own, because nothing is left of it afterwards."""
    server = guarded.start(tmp_path)
    try:
        await guarded.prepare(server)
        async with somebody(server, COORDINATOR) as core:
            await core.ask("debate.2.forensic.known.submitted", b"{}")
            await core.ask(f"$O.{LAYOUT.bucket}.C.upload", b"{}")
            for subject, body in REQUESTS.items():
                answer = await core.ask(subject, json.dumps(body).encode() if body else b"")
                assert answer is not None, subject
                assert b"error" not in answer, (subject, answer)
    finally:
        server.stop()


async def test_a_persona_overhears_nothing(server: NatsServer) -> None:
    ref = new_debate()
    asked = f"{root_of(ref)}.ctl.ask.r1.frequency"
    async with (
        somebody(server, COORDINATOR) as core,
        somebody(server, PERSONA) as persona,
        somebody(server, "forensic-frequency") as other,
    ):
        for subject in OVERHEARD:
            await persona.listen(subject)
            await core.listen(subject)
        await core.ask(asked, b"{}")
        await other.ask(f"{root_of(ref)}.turn.r1.frequency", b"{}")
        await other.ask(f"$JS.API.CONSUMER.INFO.{STREAM}.forensic-frequency")
        await core.heard_out()
        await persona.heard_out()
        assert [message.subject for message in persona.heard] == []
        assert len(persona.refused) == len(OVERHEARD) - 1, "only inboxes, and they are its own"
        overheard = {message.subject for message in core.heard}
        assert {asked, f"live.{asked}"} <= overheard


async def test_a_persona_neither_takes_nor_acknowledges_the_asks_of_another(
    server: NatsServer,
) -> None:
    queue = f"{STREAM}.forensic-frequency"
    subject = f"{root_of(new_debate())}.ctl.ask.r1.frequency"
    async with (
        somebody(server, COORDINATOR) as core,
        somebody(server, PERSONA) as persona,
        somebody(server, "forensic-frequency") as owner,
    ):
        await core.api(f"STREAM.PURGE.{STREAM}", {"filter": "debate.*.forensic.*.ctl.ask.>"})
        await core.ask(subject, b"{}")
        assert await persona.pull("forensic-frequency") is None
        ask = await owner.pull("forensic-frequency")
        assert ask is not None
        assert ask.subject == subject
        for payload in (b"+ACK", b"-NAK", b"+TERM", b"+WPI"):
            assert await persona.ask(ask.reply, payload) is None
        info = await core.api(f"CONSUMER.INFO.{queue}")
        assert (info["num_ack_pending"], info["num_redelivered"]) == (1, 0)
        assert await owner.ask(ask.reply, b"+ACK") is not None
        assert (await core.api(f"CONSUMER.INFO.{queue}"))["num_ack_pending"] == 0


async def test_partial_text_reaches_viewers_from_its_own_persona_only(server: NatsServer) -> None:
    ref = new_debate()
    own = f"live.{root_of(ref)}.partial.r1.noise"
    async with somebody(server, VIEWER) as viewer, somebody(server, PERSONA) as persona:
        await viewer.listen("live.>")
        for forged in (
            f"live.{root_of(ref)}.partial.r1.frequency",
            f"live.debate.{partition_of(ref.id)}.other.{ref.id}.partial.r1.noise",
            f"live.{root_of(ref)}.turn.r1.noise",
            f"live.{root_of(ref)}.ctl.terminated",
            "live.debate-coordinators",
        ):
            await persona.client.publish(forged, b"forged")
        await persona.client.publish(own, b"I begin to think")
        await until(lambda: bool(viewer.heard))
        await persona.heard_out()
        assert [(message.subject, message.data) for message in viewer.heard] == [
            (own, b"I begin to think")
        ]


async def test_a_viewer_only_listens(server: NatsServer) -> None:
    written = (
        *WRITES,
        "debate.38.forensic.d1.turn.r1.noise",
        "live.debate.38.forensic.d1.partial.r1.noise",
    )
    async with somebody(server, COORDINATOR) as core, somebody(server, VIEWER) as viewer:
        before = await everything_stored(core)
        for subject in (*written, *REQUESTS, f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{PERSONA}"):
            await viewer.client.publish(subject, b"{}")
        for subject in (">", "debate.>", "_INBOX.>", "$JS.>"):
            await viewer.listen(subject)
        await viewer.heard_out()
        assert await everything_stored(core) == before
        assert len(viewer.refused) == len(written) + len(REQUESTS) + 1 + 4
        await viewer.listen("live.>")
        stored = f"{root_of(new_debate())}.submitted"
        await core.ask(stored, b"{}")
        await until(lambda: bool(viewer.heard))
        assert [message.subject for message in viewer.heard] == [f"live.{stored}"]


@pytest.mark.parametrize("login", [SUBMITTER, WEB])
async def test_clients_submit_and_cancel_and_write_nothing_else(
    server: NatsServer, login: str
) -> None:
    ref = new_debate()
    debate = root_of(ref)
    async with somebody(server, COORDINATOR) as core, somebody(server, login) as submitter:
        before = await subjects_of(core)
        for tail in FORGED_TAILS:
            forged = f"{debate}.{tail}"
            if tail not in {"submitted", "cancel"}:
                await submitter.client.publish(forged, b"{}")
            await submitter.client.publish(f"{debate}.submitted", b"{}", reply=forged)
        await submitter.client.publish(f"{debate}.cancel", b"{}")
        await submitter.heard_out()
        assert await subjects_of(core) == {
            **before,
            f"{debate}.submitted": len(FORGED_TAILS),
            f"{debate}.cancel": 1,
        }


@pytest.mark.parametrize("login", [SUBMITTER, WEB])
async def test_clients_read_the_log_and_change_nothing(server: NatsServer, login: str) -> None:
    async with somebody(server, COORDINATOR) as core, somebody(server, login) as client:
        await core.ask("debate.2.forensic.known.submitted", b"{}")
        before = await everything_stored(core)
        answered = {
            subject
            for subject, body in REQUESTS.items()
            if await client.ask(subject, json.dumps(body).encode() if body else b"") is not None
        }
        for subject in NEITHER_SUBMITTED_NOR_UPLOADED:
            await client.client.publish(subject, b"{}", reply=client.client.new_inbox())
        await client.heard_out()
        assert await everything_stored(core) == before
    assert answered == MAY_ASK[login]


async def test_what_the_services_answer_the_web_page_does_not_become_a_fact(
    server: NatsServer,
) -> None:
    debate = root_of(new_debate())
    async with (
        somebody(server, COORDINATOR) as core,
        somebody(server, PERSONA) as persona,
        somebody(server, WEB) as page,
    ):
        for one, name in ((core, "one"), (persona, "two")):
            await nats.micro.add_service(one.client, name=name, version="1.0.0")
            await one.heard_out()
        before = await everything_stored(core)
        inbox = page.client.new_inbox()
        await page.listen(inbox)
        for tail in FORGED_TAILS:
            await page.client.publish("$SRV.STATS", b"", reply=f"{debate}.{tail}")
        await page.client.publish("$SRV.STATS", b"", reply=inbox)
        await until(lambda: len(page.heard) == 2)
        assert await everything_stored(core) == before
        assert {json.loads(one.data)["name"] for one in page.heard} == {"one", "two"}


async def test_a_submitter_cannot_wipe_the_blobs(server: NatsServer) -> None:
    chunk = f"$O.{LAYOUT.bucket}.C.upload"
    async with somebody(server, COORDINATOR) as core, somebody(server, SUBMITTER) as submitter:
        await core.ask(chunk, b"{}")
        before = await everything_stored(core)
        for scope in ("all", "sub"):
            answer = await submitter.ask(chunk, b"{}", {"Nats-Rollup": scope})
            assert answer is not None
            assert b"rollup not permitted" in answer
        assert await everything_stored(core) == before


@pytest.mark.parametrize("user", ["", "coordinator:guess@"], ids=["anonymous", "guessing"])
async def test_nobody_enters_without_a_key(server: NatsServer, user: str) -> None:
    with pytest.raises(Unsuitable, match="credentials refused"):
        async with open_bus(Server((f"nats://{user}{server.address}",))):
            pass

"""Budgets and kept answers: everybody keeps their own account, and nobody another's."""

import pytest

from parley.bus.errors import Denied, Unsuitable
from parley.bus.port import Guard
from parley.bus.subjects import ANSWERS, PURSE, answer_key, debate_purse
from tests.bus.worlds import NatsServer
from tests.deploy.guarded import (
    COORDINATOR,
    PERSONA,
    everything_stored,
    journal_of,
    new_debate,
    root_of,
    somebody,
)


async def test_a_persona_keeps_its_own_account_and_reads_the_others(server: NatsServer) -> None:
    purse = debate_purse(new_debate())
    async with (
        journal_of(server, PERSONA) as noise,
        journal_of(server, "forensic-frequency") as frequency,
    ):
        first = await noise.bus.register(PURSE).replace(
            f"{purse}.noise", b"1", Guard(f"{purse}.>", 0)
        )
        await frequency.bus.register(PURSE).replace(
            f"{purse}.frequency", b"2", Guard(f"{purse}.>", first)
        )
        found = await noise.bus.register(PURSE).read(f"{purse}.>")
    assert [(one.subject, one.data) for one in found] == [
        (f"{purse}.noise", b"1"),
        (f"{purse}.frequency", b"2"),
    ]


async def test_a_persona_cannot_touch_anybody_elses_account(server: NatsServer) -> None:
    ref = new_debate()
    elsewhere = (
        f"{debate_purse(ref)}.frequency",
        f"other.debate.{ref.id}.noise",
        f"{debate_purse(ref)}.noise.more",
    )
    async with (
        somebody(server, COORDINATOR) as core,
        journal_of(server, PERSONA) as noise,
    ):
        before = await everything_stored(core)
        for key in elsewhere:
            with pytest.raises((Denied, Unsuitable)):
                await noise.bus.register(PURSE).replace(key, b"0", Guard(key, 0))
        assert await everything_stored(core) == before


async def test_answers_are_kept_and_read_by_their_own_persona_only(server: NatsServer) -> None:
    key = answer_key("forensic", "noise", "a1")
    async with (
        journal_of(server, PERSONA) as noise,
        journal_of(server, "forensic-frequency") as frequency,
    ):
        await noise.bus.register(ANSWERS).replace(key, b"said", Guard(key, 0))
        kept = await noise.bus.register(ANSWERS).newest(key)
        assert kept is not None
        assert kept.data == b"said"
        with pytest.raises((Denied, Unsuitable)):
            await frequency.bus.register(ANSWERS).newest(key)
        with pytest.raises((Denied, Unsuitable)):
            await noise.bus.register(ANSWERS).read(">")


@pytest.mark.parametrize("tail", ["ctl.terminated", "turn.r1.frequency", "submitted"])
async def test_the_acknowledgement_of_an_account_does_not_become_a_fact(
    server: NatsServer, tail: str
) -> None:
    ref = new_debate()
    own = f"purse.debate.{debate_purse(ref)}.noise"
    forged = f"{root_of(ref)}.{tail}"
    async with somebody(server, COORDINATOR) as core, somebody(server, PERSONA) as persona:
        before = (await everything_stored(core))["PARLEY"]
        await persona.client.publish(own, b"{}", reply=forged)
        await persona.heard_out()
        after = await everything_stored(core)
        assert after["PARLEY"] == before
        assert own in after["PARLEY-PURSE"]["state"]["subjects"]

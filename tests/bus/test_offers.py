"""Entries that nobody answers for: the log alone shows what became of them. Asked of both buses."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.bus.errors import Conflict
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.port import Guard, Record
from tests.bus.worlds import NatsServer, World, datas, entry, until

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


async def test_what_is_offered_comes_back_through_the_log(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus, anyio.create_task_group() as tasks:
        seen: list[Record] = []
        tasks.start_soon(lambda: bus.tail([w.subject(">")], start=1, on=seen.extend))
        subject = w.subject("d.ctl.opened")
        assert bus.offer(entry(subject, "m", b"1", guard=Guard(w.subject("d.ctl.>"), 0)))
        await until(lambda: bool(seen))
        assert [(one.subject, one.data) for one in seen] == [(subject, b"1")]
        tasks.cancel_scope.cancel()


async def test_an_offer_whose_guard_fails_is_silently_refused(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        control = w.subject("d.ctl.>")
        head = await bus.append(entry(w.subject("d.ctl.opened"), "a", guard=Guard(control, 0)))
        assert bus.offer(entry(w.subject("d.ctl.late"), "b", guard=Guard(control, 0)))
        assert bus.offer(entry(w.subject("d.ctl.ask"), "c", b"!", guard=Guard(control, head)))
        with anyio.fail_after(90):
            while len(found := await bus.read(w.subject("d.>"))) < 2:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert [one.subject for one in found] == [w.subject("d.ctl.opened"), w.subject("d.ctl.ask")]


async def test_what_was_offered_can_be_appended_without_harm(world: OpenWorld) -> None:
    """By whoever has not heard of it for a while: one of both counts."""
    async with world() as w, w.connect() as one, w.connect() as other:
        control = w.subject("d.ctl.>")
        offered = entry(w.subject("d.ctl.opened"), "m", b"1", guard=Guard(control, 0))
        for bus in (one, other):
            assert bus.offer(offered)
        with anyio.fail_after(90):
            while not await one.read(w.subject("d.>")):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        for bus in (one, other):
            with pytest.raises(Conflict):
                await bus.append(offered)
        assert datas(await one.read(w.subject("d.>"))) == [b"1"]


@pytest.mark.own_server
async def test_an_offer_says_when_it_was_not_sent(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        assert not bus.offer(entry("debate.0.p.d.ctl.a", "m", b"x" * (1 << 20) + b"x"))
        assert bus.offer(entry("debate.0.p.d.ctl.a", "m"))
        nats.kill()
        await until(lambda: not bus.link.up)
        assert not bus.offer(entry("debate.0.p.d.ctl.b", "m"))
        assert bus.link.losses == 1

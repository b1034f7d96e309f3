"""Partial words of personas reach those who listen, with the logins that Parley generates."""

import anyio
import pytest

from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.following import overhearing
from tests.bus.worlds import NatsServer, until
from tests.debates import STALEMATE, panel, play
from tests.deploy.guarded import COORDINATOR, PERSONA, SUBMITTER, WEB, journal_of, somebody
from tests.web.site import site, write

FACTS, _ = play(panel(), STALEMATE)
BEFORE_TURNS = next(n for n, fact in enumerate(FACTS) if isinstance(fact, TurnTaken))


def partial(persona: str, text: str) -> bytes:
    return Partial(step="opening", persona=persona, text=text).model_dump_json().encode()


@pytest.mark.parametrize("login", [SUBMITTER, WEB, COORDINATOR])
async def test_a_listener_hears_what_a_persona_is_saying_once(
    server: NatsServer, login: str
) -> None:
    ref = DebateRef("forensic", f"heard-by-{login}")
    heard: list[tuple[DebateRef, Partial]] = []
    async with (
        journal_of(server, login) as journal,
        somebody(server, PERSONA) as persona,
        overhearing(journal, ref, lambda *said: heard.append(said)),
    ):
        where = journal.subjects.partial(ref, "opening", "noise")
        with anyio.fail_after(90):
            while not heard:
                await persona.client.publish(where, partial("noise", "first"))
                await persona.heard_out()
                await anyio.sleep(0.02)
        await persona.client.publish(where, partial("noise", "second"))
        await persona.client.publish(where, partial("noise", "last"))
        await until(lambda: heard[-1][1].text == "last")
    assert {one[0] for one in heard} == {ref}
    assert [one[1].text for one in heard if one[1].text != "first"] == ["second", "last"]


async def test_the_page_shows_them_and_believes_no_other_name(server: NatsServer) -> None:
    ref = DebateRef("forensic", "spoken")
    async with (
        journal_of(server, COORDINATOR) as core,
        journal_of(server, WEB) as journal,
        site(journal) as client,
        somebody(server, PERSONA) as persona,
    ):
        await write(core, ref, FACTS[:BEFORE_TURNS])
        where = journal.subjects.partial(ref, "opening", "noise")
        async with (
            client.events("/debates/spoken/events") as events,
            anyio.create_task_group() as tasks,
        ):

            async def speak() -> None:
                while True:
                    await persona.client.publish(where, partial("frequency", "I am another"))
                    await persona.client.publish(where, partial("noise", "so far"))
                    await persona.heard_out()
                    await anyio.sleep(0.02)

            tasks.start_soon(speak)
            with anyio.fail_after(90):
                said = []
                async for event in events:
                    if event.name == "partial":
                        said.append((event.data["persona"], event.data["text"]))
                    if len(said) == 3:
                        break
            tasks.cancel_scope.cancel()
    assert set(said) == {("noise", "so far")}

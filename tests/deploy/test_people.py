"""A person has no login: the page's writes their turns, and nobody else's does."""

from pathlib import Path

import pytest

from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import BusError
from parley.bus.jetstream.accounts import accounts, save
from parley.bus.subjects import DebateRef
from tests.bus.worlds import NatsServer
from tests.deploy.guarded import DEPLOY, LAYOUT, PANELS, WEB, journal_of, prepare

PEOPLE = {"other": ("author",)}


def turn(persona: str) -> TurnTaken:
    content = Statement(verdict="reject", confidence=0.8)
    return TurnTaken(step="opening", persona=persona, content=content, brain="human")


def test_only_the_page_may_speak_for_a_person() -> None:
    made = accounts(PANELS, LAYOUT, people=PEOPLE)
    may = {
        guest.account
        for guest in made.guests
        for service in guest.services
        if service.subject.endswith(".other.*.turn.*.author")
    }
    assert may == {"WEB"}
    assert not any("author" in login.name for login in made.logins)


async def test_the_page_speaks_for_a_person_and_for_nobody_else(tmp_path: Path) -> None:
    save(accounts(PANELS, LAYOUT, people=PEOPLE), tmp_path)
    config = (DEPLOY / "nats" / "one-node.conf").read_text()
    elsewhere = config.replace('store_dir: "/data"', "").replace("0.0.0.0:8222", "127.0.0.1:-1")
    server = NatsServer(tmp_path, arguments=(), config=elsewhere).start()
    try:
        await prepare(server)
        async with journal_of(server, WEB) as journal:
            ref = DebateRef("other", "d1")
            await journal.speak(ref, turn("author"))
            logged, _ = await journal.read(ref)
            assert [one.fact for one in logged] == [turn("author")]
            with pytest.raises(BusError):
                await journal.speak(ref, turn("noise"))
    finally:
        server.kill()

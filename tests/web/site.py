"""The web server in the test's own process, and logs to look at through it."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import MappingProxyType

from parley.bus.codec import encode
from parley.bus.contracts.facts import Fact
from parley.bus.journal import Journal
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, WebSettings
from parley.console.web.server import web_server
from parley.files.reader import read_archive
from tests.archiving import archive
from tests.clients import client_of
from tests.web.client import Client

REPLAY = Path(__file__).parents[1] / "replay"
RECORDINGS = sorted([*REPLAY.glob("*.jsonl"), *REPLAY.glob("absa/*.jsonl")])
READ, OPERATE = "a-token-to-look-at", "a-token-to-operate"

NOTHING_SET: Mapping[str, str] = MappingProxyType({})
OpenLog = Callable[[], AbstractAsyncContextManager[Journal]]


class Emptied(Journal):
    """Before the page opens, every closed debate leaves the log."""


@asynccontextmanager
async def site(
    journal: Journal,
    web: Mapping[str, str] = NOTHING_SET,
    headers: Mapping[str, str] = NOTHING_SET,
) -> AsyncIterator[Client]:
    settings = Settings(web=WebSettings.model_validate(web))
    if isinstance(journal, Emptied):
        await archive(journal)
    async with client_of(journal, settings) as client, web_server(client, settings, 0) as page:
        yield Client(page.url, headers)


def recorded(path: Path | str) -> list[Fact]:
    (debate,) = read_archive(REPLAY / path).debates
    return list(debate.facts)


def entry(journal: Journal, ref: DebateRef, fact: Fact) -> Entry:
    subject = journal.subjects.of(ref, fact)
    return Entry(subject, encode(fact), subject)


async def write(journal: Journal, ref: DebateRef, facts: Iterable[Fact]) -> int:
    """As they are, whoever would have written them; the sequence of the last one."""
    return await journal.bus.append(*(entry(journal, ref, fact) for fact in facts))

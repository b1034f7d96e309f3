"""A debate's facts, wherever they are: on a server or in an exported file."""

import re
from dataclasses import dataclass
from pathlib import Path

from parley.bus.contracts.facts import Fact
from parley.bus.errors import BadInput
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.archive import Recorded, read_archive
from parley.console.exits import complain
from parley.console.system import open_journal, run_async
from parley.console.watching import find

_LOOKS_LIKE_A_FILE = re.compile(r"\.[A-Za-z]+$|^[./~]")


@dataclass(frozen=True, slots=True)
class Log:
    """`broken` says where an exported file is not what was exported."""

    ref: DebateRef
    recorded: tuple[Recorded, ...]
    broken: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(one.fact for one in self.recorded)


def logs_of(settings: Settings, source: str) -> list[Log]:
    """One log for an id, as many as a file holds for a file."""
    path = Path(source)
    if path.is_file():
        return [
            Log(one.ref, one.recorded, tuple(f"{path}: {text}" for text in one.broken))
            for one in read_archive(path).debates
        ]
    if _LOOKS_LIKE_A_FILE.search(source):
        raise BadInput(f"{source}: no such file")
    return [run_async(lambda: read_log(settings, source))]


async def read_log(settings: Settings, debate: str) -> Log:
    async with open_journal(settings, create=False) as journal:
        return await log_of(journal, await find(journal, debate))


async def log_of(journal: Journal, ref: DebateRef) -> Log:
    logged, undecodable = await journal.read(ref)
    for one in undecodable:
        complain(f"warning: record {one.record.sequence} is left out: {one.reason}")
    return Log(ref, tuple(Recorded(one.fact, one.time_ns) for one in logged))

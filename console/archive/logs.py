"""A debate's facts, wherever they are: on a server or in an exported file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parley.bus.contracts.facts import Fact, Submitted
from parley.bus.errors import BadInput, Unsuitable
from parley.bus.journal import Journal, Undecodable
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.archive.reader import Archive, Recorded, read_archive
from parley.console.cli.exits import warn
from parley.console.runtime.follow import find
from parley.console.runtime.system import open_journal, run_async
from parley.coordinator.core.backtest import Recording, record
from parley.coordinator.core.state import DebateState

_LOOKS_LIKE_A_FILE = re.compile(r"\.[A-Za-z]+$|^[./~]")


@dataclass(frozen=True)
class Log:
    """
    `broken` says where an exported file is not what was exported, `left_out` what stands among the
    debate's records, or stood there, and is no fact.
    """

    ref: DebateRef
    recorded: tuple[Recorded, ...]
    broken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(one.fact for one in self.recorded)

    @cached_property
    def recording(self) -> Recording:
        return record(self.facts)

    @property
    def state(self) -> DebateState:
        return self.recording.state


def logs_of(settings: Settings, source: str) -> list[Log]:
    """One log for an id, as many as a file holds for a file; its blobs must be whole, too."""
    path = Path(source)
    if path.is_file():
        archive = read_archive(path)
        for _ in archive.blobs:
            continue
        return _logs(path, archive)
    if looks_like_a_file(source):
        raise BadInput(f"{source}: no such file")
    return [run_async(lambda: read_log(settings, source))]


def logs_in_file(path: Path) -> list[Log]:
    """Blobs are not looked at."""
    return _logs(path, read_archive(path))


def _logs(path: Path, archive: Archive) -> list[Log]:
    logs = [
        Log(
            one.ref,
            one.recorded,
            tuple(f"{path}: {text}" for text in one.broken),
            tuple(f"{path}: {text}" for text in one.left_out),
        )
        for one in archive.debates
    ]
    warn(f"{text} (left out)" for log in logs for text in log.left_out)
    return logs


def looks_like_a_file(source: str) -> bool:
    return _LOOKS_LIKE_A_FILE.search(source) is not None


async def read_log(settings: Settings, debate: str) -> Log:
    async with open_journal(settings, create=False) as journal:
        return await log_of(journal, await find(journal, debate))


async def log_of(journal: Journal, ref: DebateRef) -> Log:
    logged, undecodable = await journal.read(ref)
    _report(undecodable)
    archived = await journal.archive.get(ref)
    return Log(
        ref,
        tuple(Recorded(one.fact, one.time_ns) for one in logged),
        archived.broken if archived is not None else (),
        left_out=tuple(
            f"record {one.record.sequence} on {one.record.subject}: {one.reason}"
            for one in undecodable
        )
        + await _taken_out(journal, ref, {one.record.sequence for one in undecodable}),
    )


async def _taken_out(journal: Journal, ref: DebateRef, known: set[int]) -> tuple[str, ...]:
    """What a coordinator took out of the debate, as far as this login may know."""
    root = journal.subjects.at(ref, "")
    try:
        dead = await journal.bus.dead_letters()
    except Unsuitable:
        return ()
    return tuple(
        f"record {one.sequence} on {one.trace.subject}, taken out of the log: {one.reason}"
        for one in dead
        if one.trace is not None
        and one.trace.subject.startswith(root)
        and one.sequence not in known
    )


async def every_log(journal: Journal, panel: str = "*") -> list[Log]:
    """In the order of their first facts; what belongs to no debate that was submitted is left out."""
    (everything,) = journal.subjects.facts(panel)
    logged, undecodable = journal.decode_all(await journal.bus.read(everything))
    _report(undecodable)
    recorded: dict[DebateRef, list[Recorded]] = {}
    for one in logged:
        recorded.setdefault(one.ref, []).append(Recorded(one.fact, one.time_ns))
    kept = dict.fromkeys(one.ref for one in await journal.archive.contents())
    archived = [await log_of(journal, ref) for ref in kept if panel in ("*", ref.panel)]
    return archived + [
        Log(ref, tuple(facts))
        for ref, facts in recorded.items()
        if ref not in kept and any(isinstance(one.fact, Submitted) for one in facts)
    ]


def _report(undecodable: Iterable[Undecodable]) -> None:
    warn(f"record {one.record.sequence} is left out: {one.reason}" for one in undecodable)

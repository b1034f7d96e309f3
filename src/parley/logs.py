"""A debate's log as a whole, with whatever in it is not as it should be; and which one a name means."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from parley.bus.archive import DELETED
from parley.bus.contracts.facts import Deleted, Fact, Submitted
from parley.bus.errors import BadInput, DecodeError, Gone, NotFound, NotInstalled, Unsuitable
from parley.bus.journal import Journal, Logged, Undecodable
from parley.bus.subjects import DebateRef
from parley.connection import Warn
from parley.coordinator.core.backtest import Recording, record
from parley.coordinator.core.state import DebateState
from parley.files.lines import Recorded

# Of an id that is not given whole; a new id ends in four digits of chance.
SHORTEST_ID = 4
ALIKE_SHOWN = 5


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


async def log_of(journal: Journal, ref: DebateRef, warn: Warn) -> Log:
    """Raises NotFound."""
    logged, undecodable = await journal.read(ref)
    if not logged:
        raise NotFound(f"no debate {str(ref)!r} on this server")
    refuse_deleted(logged)
    _report(undecodable, warn)
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


def refuse_deleted(logged: Sequence[Logged]) -> None:
    """Raises Gone."""
    if logged and isinstance(logged[0].fact, Deleted):
        at = datetime.fromtimestamp(logged[0].time_ns / 1e9, UTC)
        why = f": {logged[0].fact.why}" if logged[0].fact.why else ""
        raise Gone(f"{logged[0].ref} was deleted at {at:%Y-%m-%d %H:%M} UTC{why}")


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


async def every_log(journal: Journal, panel: str, warn: Warn) -> list[Log]:
    """In the order of their first facts; what belongs to no debate that was submitted is left out."""
    (everything,) = journal.subjects.facts(panel)
    logged, undecodable = journal.decode_all(await journal.bus.read(everything))
    _report(undecodable, warn)
    recorded: dict[DebateRef, list[Recorded]] = {}
    for one in logged:
        recorded.setdefault(one.ref, []).append(Recorded(one.fact, one.time_ns))
    contents = await journal.archive.contents()
    kept = {one.ref: one.summary.status for one in contents}
    archived = [
        await log_of(journal, ref, warn)
        for ref, status in kept.items()
        if panel in ("*", ref.panel) and status != DELETED
    ]
    return archived + [
        Log(ref, tuple(facts))
        for ref, facts in recorded.items()
        if ref not in kept and any(isinstance(one.fact, Submitted) for one in facts)
    ]


def _report(undecodable: Iterable[Undecodable], warn: Warn) -> None:
    warn(f"record {one.record.sequence} is left out: {one.reason}" for one in undecodable)


async def find(journal: Journal, name: str) -> DebateRef:
    """
    The debate by its id, by `panel/id` where an id stands in several panels, or by the beginning
    or the end of its id where no other debate's is like it. Raises NotFound and BadInput.
    """
    refs = sorted(await journal.find(*named(name)))
    if not refs and len(named(name).id) >= SHORTEST_ID:
        refs = await _alike(journal, named(name))
        if len(refs) > 1:
            some = ", ".join(map(str, refs[:ALIKE_SHOWN])) + (
                ", …" if len(refs) > ALIKE_SHOWN else ""
            )
            raise BadInput(f"{name!r} may be any of {len(refs)} debates: {some}")
    if not refs:
        await _refuse_foreign(journal, named(name))
        raise NotFound(f"no debate {name!r} on this server (parley list shows them)")
    if len(refs) > 1:
        raise BadInput(f"{name!r} stands in several panels: {', '.join(map(str, refs))}")
    return refs[0]


async def _alike(journal: Journal, wanted: DebateRef) -> list[DebateRef]:
    return sorted(
        ref
        for ref in await journal.find(wanted.panel)
        if ref.id.startswith(wanted.id) or ref.id.endswith(wanted.id)
    )


async def _refuse_foreign(journal: Journal, ref: DebateRef) -> None:
    """Raises NotInstalled where the debate is there, but of a protocol that this program lacks."""
    for one in await journal.bus.read(journal.subjects.submissions(*ref)):
        try:
            journal.decode(one)
        except NotInstalled as error:
            address = journal.subjects.parse(one.subject)
            raise NotInstalled(f"{address and address[0]}: {error}") from error
        except DecodeError:
            continue


def named(name: str) -> DebateRef:
    """What a person calls a debate; the panel is `*` where none is said. Raises BadInput."""
    panel, slash, debate = name.rpartition("/")
    if not DebateRef(panel if slash else "any", debate).is_name:
        raise BadInput(f"{name!r} is no id of a debate: letters, digits, - and _ only")
    return DebateRef(panel or "*", debate)

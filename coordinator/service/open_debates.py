"""
Which debates of some partitions are open: what their subjects tell at once, and what only reading
shows.
"""

from collections.abc import Collection

import anyio.lowlevel

from parley.bus.errors import DecodeError
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import (
    ASKS,
    CLOSED,
    CONTROL,
    PARTITIONS,
    SUBMITTED,
    TURN,
    DebateRef,
    Subjects,
)

# Records looked at before others get a turn.
AT_A_TIME = 200


async def not_closed(
    journal: Journal, partitions: Collection[int] = range(PARTITIONS)
) -> list[DebateRef]:
    """Submitted, with nothing on the subject of a closing."""
    closed = await _refs(journal, partitions, journal.subjects.closings())
    submitted = await _refs(journal, partitions, journal.subjects.submissions())
    return [ref for ref in submitted if ref not in closed]


async def closed(
    journal: Journal, partitions: Collection[int] = range(PARTITIONS)
) -> list[DebateRef]:
    """Something stands on the subject of their closing."""
    return list(await _refs(journal, partitions, journal.subjects.closings()))


async def falsely_closed(journal: Journal, partitions: Collection[int]) -> list[DebateRef]:
    """Where what stands on the subject of the closing is none. Reads the closings of all debates."""
    closed, false = set[DebateRef](), dict[DebateRef, None]()
    for filter_subject in journal.subjects.within(partitions, journal.subjects.closings()):
        for number, record in enumerate(await journal.bus.read(filter_subject)):
            if number % AT_A_TIME == 0:
                await anyio.lowlevel.checkpoint()
            address = journal.subjects.parse(record.subject)
            if address is not None and _is_fact(journal, record):
                closed.add(address[0])
            elif address is not None:
                false[address[0]] = None
    return [ref for ref in false if ref not in closed]


class Standing:
    """What the subjects that stand in some partitions tell, from one listing of them."""

    def __init__(self, subjects: Subjects, found: Collection[str]) -> None:
        self._asked_steps = set[tuple[DebateRef, str]]()
        self._turns: list[tuple[str, DebateRef | None, str]] = []
        self._every: dict[DebateRef, None] = {}
        self._begun = set[DebateRef]()
        self._asked = set[DebateRef]()
        self._closed = set[DebateRef]()
        self._controlled = set[DebateRef]()
        for subject in found:
            address = subjects.parse(subject)
            if address is not None:
                self._see(subject, *address)
            elif subjects.is_turn(subject):
                self._turns.append((subject, None, ""))

    def _see(self, subject: str, ref: DebateRef, tail: str) -> None:
        self._every[ref] = None
        if tail == SUBMITTED:
            self._begun.add(ref)
        elif tail.startswith(TURN):
            self._turns.append((subject, ref, _step_of(tail.removeprefix(TURN))))
        elif tail.startswith(CONTROL):
            self._controlled.add(ref)
            if tail == CLOSED:
                self._closed.add(ref)
            elif tail.startswith(ASKS):
                self._asked.add(ref)
                self._asked_steps.add((ref, _step_of(tail.removeprefix(ASKS))))

    def strangers(self) -> list[DebateRef]:
        """Of which anything stands in the log but no submission."""
        return [ref for ref in self._every if ref not in self._begun]

    def has_lost_submission(self, ref: DebateRef) -> bool:
        """Asked for something and never closed, but its submission is gone: nobody can go on."""
        return ref in self._asked and ref not in self._closed and ref not in self._begun

    def unasked_turns(self) -> list[tuple[str, DebateRef | None, str]]:
        """
        Subject, debate and step; no debate where the subject names none.

        A debate that grows old loses its submission and asks before its turns: those stay.
        """
        return [
            (subject, ref, step)
            for subject, ref, step in self._turns
            if ref is None
            or (
                (ref, step) not in self._asked_steps
                and (ref in self._begun or ref not in self._controlled)
            )
        ]


async def standing(journal: Journal, partitions: Collection[int]) -> Standing:
    found = await _subjects(journal, partitions, *journal.subjects.facts())
    return Standing(journal.subjects, found)


async def unasked_turns(journal: Journal, known: Standing) -> list[Record]:
    """Those that came while no coordinator ran, for a step or a debate that does not exist."""
    found: list[Record] = []
    for subject, ref, step in known.unasked_turns():
        if ref is None:
            found += await journal.bus.read(subject)
        else:
            found += await _before_their_ask(journal, ref, step, subject)
    return found


async def _before_their_ask(
    journal: Journal, ref: DebateRef, step: str, subject: str
) -> list[Record]:
    """The step may have been asked and answered since one began to look."""
    turns = await journal.bus.read(subject)
    asks = await journal.bus.read(journal.subjects.at(ref, f"{ASKS}{step}.*"))
    return [one for one in turns if not asks or one.sequence < asks[0].sequence]


def _step_of(tail: str) -> str:
    return tail.partition(".")[0]


async def _refs(
    journal: Journal, partitions: Collection[int], filter_subject: str
) -> dict[DebateRef, None]:
    found = map(journal.subjects.parse, await _subjects(journal, partitions, filter_subject))
    return dict.fromkeys(address[0] for address in found if address is not None)


async def _subjects(
    journal: Journal, partitions: Collection[int], filter_subject: str
) -> list[str]:
    found: list[str] = []
    for one in journal.subjects.within(partitions, filter_subject):
        found += await journal.bus.subjects(one)
    return found


def _is_fact(journal: Journal, record: Record) -> bool:
    try:
        journal.decode(record)
    except DecodeError:
        return False
    return True

"""
Which debates of some partitions are open: what their subjects tell at once, and what only reading
shows.
"""

from collections.abc import Collection

import anyio.lowlevel

from parley.bus.errors import DecodeError
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import ASKS, PARTITIONS, TURN, DebateRef

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


async def debates_without_submission(
    journal: Journal, partitions: Collection[int]
) -> list[DebateRef]:
    """Asked for something and never closed, but their submission is gone: nobody can go on."""
    asked = await _refs(journal, partitions, journal.subjects.every_ask())
    closed = await _refs(journal, partitions, journal.subjects.closings())
    submitted = await _refs(journal, partitions, journal.subjects.submissions())
    return [ref for ref in asked if ref not in closed and ref not in submitted]


async def strangers(journal: Journal, partitions: Collection[int]) -> list[DebateRef]:
    """Of which anything stands in the log but no submission."""
    submitted = await _refs(journal, partitions, journal.subjects.submissions())
    found = await _refs(journal, partitions, *journal.subjects.facts())
    return [ref for ref in found if ref not in submitted]


async def unasked_turns(journal: Journal, partitions: Collection[int]) -> list[Record]:
    """
    Those that came while no coordinator ran, for a step or a debate that does not exist.

    A debate that grows old loses its submission and asks before its turns: those stay.
    """
    begun = await _refs(journal, partitions, journal.subjects.submissions())
    known = {**begun, **await _refs(journal, partitions, journal.subjects.every_control())}
    asked = set[tuple[DebateRef, str]]()
    for subject in await _subjects(journal, partitions, journal.subjects.every_ask()):
        address = journal.subjects.parse(subject)
        if address is not None:
            asked.add((address[0], _step_of(address[1].removeprefix(ASKS))))
    found: list[Record] = []
    for subject in await _subjects(journal, partitions, journal.subjects.turns()):
        address = journal.subjects.parse(subject)
        if address is None:
            found += await journal.bus.read(subject)
            continue
        ref, step = address[0], _step_of(address[1].removeprefix(TURN))
        if (ref, step) not in asked and (ref in begun or ref not in known):
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

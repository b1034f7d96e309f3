"""What the subjects of the log tell, while others write to it."""

import anyio

from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.subjects import ASKS, DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.service.open_debates import Standing, unasked_turns
from tests.debates import STALEMATE, panel, play
from tests.web.site import write

REF = DebateRef("forensic", "d1")
FACTS, _ = play(panel(), STALEMATE)


def test_a_turn_whose_ask_the_listing_missed_is_not_taken_for_unasked() -> None:
    """A debate that is asked and answered between two pages of the listing."""

    async def main() -> None:
        async with open_memory_server() as server:
            bus = server.client()
            journal = Journal(bus, Subjects())
            await write(journal, REF, FACTS)
            found = await bus.subjects(journal.subjects.everything())
            missed = Standing(journal.subjects, [one for one in found if ASKS not in one])
            assert missed.unasked_turns()
            assert await unasked_turns(journal, missed) == []

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


def test_what_the_subjects_of_some_debates_tell() -> None:
    subjects = Subjects()
    known, late, lost = (DebateRef("forensic", one) for one in ("known", "late", "lost"))
    found = [
        subjects.at(known, "submitted"),
        subjects.at(known, "ctl.ask.open.ada"),
        subjects.at(known, "turn.open.ada"),
        subjects.at(known, "turn.later.ada"),
        subjects.at(late, "turn.open.ada"),
        subjects.at(lost, "ctl.ask.open.ada"),
        subjects.at(lost, "turn.later.ada"),
        "debate.1.no name.d.turn.open.ada",
    ]
    standing = Standing(subjects, found)
    assert standing.strangers() == [late, lost]
    assert [standing.has_lost_submission(one) for one in (known, late, lost)] == [
        False,
        False,
        True,
    ]
    assert [one for one, _, _ in standing.unasked_turns()] == [found[3], found[4], found[7]]

"""
The tools that Parley offers over MCP. The id of a debate is the handle of all that is about it.

What is wrong with a call is told to the model that made it, as the result of the call.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from parley.bus.contracts.base import Contract, Text
from parley.console.inputs.panels import PanelList
from parley.console.listing.rows import Row
from parley.console.runtime.desk import Desk, Outcome, outcome_of
from parley.console.runtime.submission import Submission, image_in
from parley.console.transcript.items import Declared, Item
from parley.console.transcript.transcript import item_of
from parley.coordinator.core.reducer import walk
from parley.debate import Debate
from parley.listing import State

# In one answer; what is longer comes in pages.
LONGEST_PAGE = 200_000
LONGEST_MESSAGE = 1000
LARGEST_IMAGE_BYTES = 20_000_000

# Tells how far a call has come.
Progress = Callable[[int, str], Awaitable[None]]
Name = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9_-]{1,64}/)?[A-Za-z0-9_-]{1,64}$", description="Its id.")
]


class Nothing(Contract):
    pass


class SubmitArguments(Submission):
    """A text, a question or an image, for the panel that is to debate it."""

    # A JPEG, PNG or WEBP file, in Base64.
    image: Annotated[str, Field(max_length=LARGEST_IMAGE_BYTES * 4 // 3 + 4)] | None = None


class DebateArguments(Contract):
    debate: Name


class FollowArguments(DebateArguments):
    """Facts behind the ordinal `after` are told; who comes back names the last one it has seen."""

    after: Annotated[int, Field(ge=-1)] = -1
    within_s: Annotated[float, Field(gt=0, le=3600)] = 600.0


class ReadArguments(DebateArguments):
    """`after` and `limit` page through a transcript, by the ordinals of its facts."""

    part: Literal["result", "transcript", "declarations"] = "result"
    after: Annotated[int, Field(ge=-1)] = -1
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class ListArguments(Contract):
    """`search` looks into what is debated, and the id."""

    panel: Annotated[str, Field(max_length=64)] = "*"
    status: State | None = None
    search: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 20


class CancelArguments(DebateArguments):
    why: Text = ""


class Submitted(Contract):
    debate: str
    panel: str


class Read(Contract):
    """`items` of a transcript, or its `declarations`; `next` is the `after` of the next page."""

    outcome: Outcome
    items: tuple[Item, ...] = ()
    declarations: tuple[Declared, ...] = ()
    next: int | None = None


class Verified(Contract):
    """Whether every decision, recomputed from the log alone, is the one that was recorded."""

    debate: str
    holds: bool
    checked: int
    problems: tuple[str, ...]
    # Records that have no place in the debate and change nothing in it.
    foreign: tuple[str, ...]
    # The decisions were made by other rules than this program's.
    unverified: str | None = None


class Listed(Contract):
    """The newest of `total`."""

    debates: tuple[Row, ...]
    total: int


class Cancelled(Contract):
    """False where it was closed or cancelled before."""

    debate: str
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """`acts` needs the operator's token, where tokens are needed."""

    name: str
    about: str
    takes: type[Contract]
    gives: type[Contract]
    call: Callable[[Any, Progress], Awaitable[Contract]]
    acts: bool = False


def tools_of(desk: Desk) -> tuple[Tool, ...]:
    calls = _Calls(desk)
    return (
        Tool(
            "list_panels", "The panels, what each debates, and who sits on it.",
            Nothing, PanelList, calls.list_panels,
        ),
        Tool(
            "submit",
            "Submit a debate to a panel; its id, at once. `follow` waits for its end.",
            SubmitArguments, Submitted, calls.submit, acts=True,
        ),
        Tool(
            "follow",
            "Wait for a debate to end, with progress as it goes on; how it stands after `within_s`.",
            FollowArguments, Outcome, calls.follow,
        ),
        Tool(
            "read", "Read a debate: its result, its transcript or its declarations.",
            ReadArguments, Read, calls.read,
        ),
        Tool(
            "verify", "Recompute every decision of a debate from its log alone.",
            DebateArguments, Verified, calls.verify,
        ),
        Tool(
            "list_debates", "The debates, newest first.",
            ListArguments, Listed, calls.list_debates,
        ),
        Tool(
            "cancel", "Ask for the end of a debate.",
            CancelArguments, Cancelled, calls.cancel, acts=True,
        ),
    )  # fmt: skip


class _Calls:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list_panels(self, _: Nothing, _progress: Progress) -> PanelList:
        return self._desk.panels()

    async def submit(self, given: SubmitArguments, _progress: Progress) -> Submitted:
        debate = await self._desk.submit(given, image_in(given.image))
        return Submitted(debate=debate.id, panel=debate.panel)

    async def follow(self, given: FollowArguments, progress: Progress) -> Outcome:
        debate = await self._debate(given.debate)
        with anyio.move_on_after(given.within_s):
            async for event in debate.events(given.after):
                await progress(event.ordinal + 1, event.text[:LONGEST_MESSAGE])
        return await self._desk.outcome(debate)

    async def read(self, given: ReadArguments, _progress: Progress) -> Read:
        debate = await self._debate(given.debate)
        log = await debate.log()
        outcome = outcome_of(debate.ref, log.state)
        if given.part == "result":
            return Read(outcome=outcome)
        brief = outcome.model_copy(update={"detail": None})
        items = [item_of(one) for one in walk(log.facts) if one.has_place]
        if given.part == "declarations":
            declared = (one.declaration for one in items)
            return Read(outcome=brief, declarations=tuple(one for one in declared if one))
        page, following = _page([one for one in items if one.ordinal > given.after], given.limit)
        return Read(outcome=brief, items=page, next=following)

    async def verify(self, given: DebateArguments, _progress: Progress) -> Verified:
        debate = await self._debate(given.debate)
        found = await debate.verify()
        return Verified(
            debate=debate.id,
            holds=found.holds,
            checked=found.checked,
            problems=tuple(f"fact {one.ordinal}: {one.problem}" for one in found.problems),
            foreign=tuple(f"fact {one.ordinal}: {one.problem}" for one in found.foreign),
            unverified=found.unverified,
        )

    async def list_debates(self, given: ListArguments, _progress: Progress) -> Listed:
        found = await self._desk.client.debates(
            given.panel, status=given.status, search=given.search, limit=given.limit
        )
        rows = tuple(one.row for one in found if one.row is not None)
        return Listed(debates=rows, total=found.total)

    async def cancel(self, given: CancelArguments, _progress: Progress) -> Cancelled:
        debate = await self._debate(given.debate)
        return Cancelled(debate=debate.id, cancelled=await debate.cancel(given.why))

    async def _debate(self, name: str) -> Debate:
        return await self._desk.client.debate(name)


def _page(items: list[Item], limit: int) -> tuple[tuple[Item, ...], int | None]:
    """At least one of them, however long."""
    page: list[Item] = []
    room = LONGEST_PAGE
    for one in items[:limit]:
        room -= len(one.model_dump_json())
        if page and room < 0:
            break
        page.append(one)
    more = len(page) < len(items)
    return tuple(page), page[-1].ordinal if more else None

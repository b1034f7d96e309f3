"""
The only place where a subject is spelled.

    {prefix}.{p}.{panel}.{id}.submitted                   a client, once ever
    {prefix}.{p}.{panel}.{id}.cancel                      a person, once
    {prefix}.{p}.{panel}.{id}.turn.{step}.{persona}       an agent, once ever
    {prefix}.{p}.{panel}.{id}.fired.{step}                the coordinator, when the deadline passed
                             .fired.{step}.{persona}      (a person's own)
    {prefix}.{p}.{panel}.{id}.ctl.opened                  the coordinator; all of `ctl` under one guard
                             .ctl.ask.{step}.{persona}    (`all` for several personas, listed inside)
                             .ctl.abstained.{step}.{persona}
                             .ctl.terminated, .ctl.{finding}, .ctl.closed

    redrive.{prefix}.{p}.{panel}.{id}.{step}.{persona}    an operator: an ask once more, for one persona

    purse.{prefix}.{panel}.debate.{id}.{persona}          a persona: what it took out of a budget
    purse.{prefix}.{panel}.batch.{name}.{persona}
    purse.{prefix}.{panel}.batch.{name}.asked.{id}        the coordinator: what a debate's asks can cost
    answers.{prefix}.{panel}.{persona}.{hash}             a persona: what its model answered a prompt

    archive.{prefix}.{p}.{panel}.{id}                     the coordinator: a closed debate as one record

    redrive.{prefix}.{p}.doctor                           `parley doctor`: whether the log stores

`p` is the partition of the id, crc32(id) modulo 64 in decimal. A debate lies in that one and in no
other: a fact of it elsewhere is foreign, or a persona could write one turn in two places.

A redrive stands in the same stream, where the persona's queue finds it, but in no debate's log.
Viewers read the same facts from `live.{prefix}.>`, republished by the server after storage, and
there, never stored, `live.{prefix}.{p}.{panel}.{id}.partial.{step}.{persona}`: a turn being spoken,
and `live.{prefix}.{p}.{panel}.{id}.declaration`: each declaration, once its fact is stored.
"""

import re
import zlib
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from typing_extensions import override

from parley.bus.contracts.facts import (
    Abstained,
    Ask,
    Asked,
    CancelRequested,
    DeadlineFired,
    Deleted,
    Fact,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import EVERYBODY

# Fixed for good, like the hash: the partition is part of every stored subject.
PARTITIONS = 64
LIVE = "live"
# A panel or id, as in `contracts.base.Token`.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
REDRIVE = "redrive"
SUBMITTED = "submitted"
CONTROL = "ctl."
ASKS = "ctl.ask."
OPENED = "ctl.opened"
CLOSED = "ctl.closed"
TURN = "turn."
PARTIAL = "partial"
DECLARATION = "declaration"
# A stream of its own, with one record for each debate that left the log.
ARCHIVE = "archive"
# Registers: streams of their own, in which only the newest of each subject is kept.
# Queues of those who tell the world; the name of a persona's queue has a hyphen.
NOTIFY_WEBHOOK = "parley_notify_webhook"
NOTIFY_COMMAND = "parley_notify_command"
NOTIFY_QUEUES = (NOTIFY_WEBHOOK, NOTIFY_COMMAND)
PURSE = "purse"
ANSWERS = "answers"
REGISTERS = (PURSE, ANSWERS)


class DebateRef(NamedTuple):
    panel: str
    id: str

    @override
    def __str__(self) -> str:
        return f"{self.panel}/{self.id}"

    @property
    def is_name(self) -> bool:
        """Whether both can stand in a subject."""
        return bool(_NAME.fullmatch(self.panel) and _NAME.fullmatch(self.id))


EVERY_DEBATE = DebateRef("*", "*")


@lru_cache(maxsize=8192)
def partition_of(debate: str) -> int:
    """Of the id alone, so that whoever knows it finds the debate."""
    return zlib.crc32(debate.encode()) % PARTITIONS


@lru_cache(maxsize=8192)
def _ref_of(partition: str, panel: str, debate: str) -> DebateRef | None:
    """None if panel or id is no name, or the partition is not that of the id."""
    named = _NAME.fullmatch(panel) and _NAME.fullmatch(debate)
    return DebateRef(panel, debate) if named and partition == _token_of(debate) else None


def _token_of(debate: str) -> str:
    """The partition as it stands in a subject; a wildcard where the id is one."""
    return "*" if debate == "*" else str(partition_of(debate))


def tail_of(fact: Fact) -> str:
    """The part of a fact's subject that follows the debate's own."""
    match fact:
        case TurnTaken():
            return f"turn.{fact.step}.{fact.persona}"
        case Asked():
            return ask_tail(fact)
        case Submitted() | CancelRequested() | Deleted():
            return fact.type
        case DeadlineFired():
            return f"fired.{fact.step}" + (f".{fact.persona}" if fact.persona else "")
        case Abstained():
            return f"ctl.abstained.{fact.step}.{fact.persona}"
        case _:
            return f"{CONTROL}{fact.type}"


def ask_tail(ask: Ask) -> str:
    addressee = ask.personas[0] if len(ask.personas) == 1 else EVERYBODY
    return f"ctl.ask.{ask.step}.{addressee}"


class Subjects:
    """Spells and reads subjects below one prefix."""

    def __init__(self, prefix: str = "debate") -> None:
        self.prefix = prefix
        self._root = f"{prefix}."
        self._skip = len(self._root)

    def parse(self, subject: str) -> tuple[DebateRef, str] | None:
        """
        The debate a subject belongs to and the tail behind it; None if it is not one of ours.

        The server stores wildcards and any bytes in a subject that somebody publishes to. A panel
        or id of that kind would reach into other debates as soon as we wrote or read there.
        """
        if not subject.startswith(self._root):
            return None
        tokens = subject[self._skip :].split(".", 3)
        if len(tokens) < 4 or not tokens[3]:  # noqa: PLR2004 - partition, panel, id and tail
            return None
        ref = _ref_of(tokens[0], tokens[1], tokens[2])
        return ref and (ref, tokens[3])

    def tail(self, ref: DebateRef, subject: str) -> str:
        """What follows the debate's own part in one of its subjects."""
        return subject[len(self.at(ref, "")) :]

    def of(self, ref: DebateRef, fact: Fact) -> str:
        return self.at(ref, tail_of(fact))

    def at(self, ref: DebateRef, tail: str) -> str:
        return f"{self._root}{_token_of(ref.id)}.{ref.panel}.{ref.id}.{tail}"

    def control_of(self, ref: DebateRef) -> str:
        return self.at(ref, "ctl.>")

    def debate(self, ref: DebateRef) -> str:
        return self.at(ref, ">")

    def everything(self) -> str:
        return f"{self.prefix}.>"

    def partition(self, number: int) -> str:
        return f"{self._root}{number}.>"

    def partition_in(self, subject: str) -> int | None:
        """Of a subject or filter of the log; None where it is of several, or of none that there is."""
        named = subject.removeprefix(f"{REDRIVE}.").removeprefix(self._root).partition(".")[0]
        number = int(named) if named.isascii() and named.isdigit() else PARTITIONS
        return number if number < PARTITIONS else None

    def within(self, partitions: Collection[int], filter_subject: str) -> list[str]:
        """A filter of every partition, for some of them only."""
        if len(partitions) == PARTITIONS:
            return [filter_subject]
        every = f"{self._root}*."
        return [
            filter_subject.replace(every, f"{self._root}{number}.", 1)
            for number in sorted(partitions)
        ]

    def stored(self, partitions: Iterable[int] = range(PARTITIONS)) -> list[str]:
        """What a stream takes that holds these partitions: nothing else is stored at all."""
        roots = (self._root, f"{REDRIVE}.{self._root}")
        return [f"{root}{number}.>" for root in roots for number in partitions]

    def live(self) -> str:
        return f"{LIVE}.{self.prefix}.>"

    def partial(self, ref: DebateRef, step: str, persona: str) -> str:
        """Where a persona says what it has so far of a turn; a signal, not stored."""
        return f"{LIVE}.{self.at(ref, f'{PARTIAL}.{step}.{persona}')}"

    def partials(self, panel: str = "*", debate: str = "*") -> str:
        return self.partial(DebateRef(panel, debate), "*", "*")

    def declarations(self, ref: DebateRef = EVERY_DEBATE) -> str:
        """Where a debate's declarations are said once they stand in the log; signals, not stored."""
        return f"{LIVE}.{self.at(ref, DECLARATION)}"

    def parse_partial(self, subject: str) -> tuple[DebateRef, str, str] | None:
        """The debate, step and persona of a partial turn; None if the subject is not one of those."""
        address = self.parse(subject.removeprefix(f"{LIVE}."))
        if address is None or not subject.startswith(f"{LIVE}."):
            return None
        ref, tail = address
        match tail.split("."):
            case [kind, step, persona] if kind == PARTIAL:
                return ref, step, persona
            case _:
                return None

    def turns(self) -> str:
        return self.at(EVERY_DEBATE, f"{TURN}>")

    def is_turn(self, subject: str) -> bool:
        """Also where the panel or id is no name: whoever may speak chooses the id."""
        if not subject.startswith(self._root):
            return False
        tokens = subject[self._skip :].split(".", 3)
        return len(tokens) > 3 and tokens[3].startswith(TURN)  # noqa: PLR2004 - partition, panel, id

    def facts(self, panel: str = "*", debate: str = "*") -> tuple[str, ...]:
        """Filters that match every fact."""
        return (self.debate(DebateRef(panel, debate)),)

    def submissions(self, panel: str = "*", debate: str = "*") -> str:
        return self.at(DebateRef(panel, debate), SUBMITTED)

    def closings(self, panel: str = "*") -> str:
        return self.at(DebateRef(panel, "*"), CLOSED)

    def every_ask(self) -> str:
        return self.at(EVERY_DEBATE, f"{ASKS}>")

    def asks(self, panel: str, persona: str) -> tuple[str, ...]:
        """Filters of the asks that concern one persona."""
        root = self.at(DebateRef(panel, "*"), f"{ASKS}*")
        again = self.redrive(DebateRef(panel, "*"), "*", persona)
        return (f"{root}.{persona}", f"{root}.{EVERYBODY}", again)

    def redrive(self, ref: DebateRef, step: str, persona: str) -> str:
        return f"{REDRIVE}.{self.at(ref, f'{step}.{persona}')}"

    def redrives(self) -> str:
        return f"{REDRIVE}.{self.prefix}.>"

    def probe(self, partition: int) -> str:
        """In the log's stream, but in no debate: for a write that only shows whether it is stored."""
        return f"{REDRIVE}.{self._root}{partition}.doctor"

    def parse_ask(self, subject: str) -> tuple[DebateRef, str] | None:
        """Like `parse`; the tail of a redriven ask is that of an ask to its persona."""
        if not subject.startswith(f"{REDRIVE}."):
            return self.parse(subject)
        address = self.parse(subject.removeprefix(f"{REDRIVE}."))
        return address and (address[0], f"{ASKS}{address[1]}")

    def archive(self, ref: DebateRef) -> str:
        """Where the whole of a closed debate stands; a `*` in place of a panel or an id finds all."""
        return f"{ARCHIVE}.{self.debate(ref).removesuffix('.>')}"

    def archives(self) -> str:
        return f"{ARCHIVE}.{self.everything()}"

    def parse_archive(self, subject: str) -> DebateRef | None:
        """The debate that stands there; None if the subject is not one of those."""
        address = self.parse(f"{subject.removeprefix(f'{ARCHIVE}.')}.{CLOSED}")
        return address[0] if address is not None and address[1] == CLOSED else None

    def register(self, name: str, key: str) -> str:
        return f"{name}.{self.prefix}.{key}"

    def beacons(self) -> str:
        """Signals (not stored) by which coordinators know of each other."""
        return f"{LIVE}.{self.prefix}-coordinators"


def debate_purse(ref: DebateRef) -> str:
    """The key below which each persona keeps its own account."""
    return f"{ref.panel}.debate.{ref.id}"


def batch_purse(panel: str, name: str) -> str:
    return f"{panel}.batch.{name}"


def batch_claims(ref: DebateRef, name: str) -> str:
    """One token longer than what a persona may write."""
    return f"{batch_purse(ref.panel, name)}.asked.{ref.id}"


def answer_key(panel: str, persona: str, digest: str) -> str:
    return f"{panel}.{persona}.{digest}"

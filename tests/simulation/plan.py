"""What a seed means: who takes part, what they debate, and everything that will go wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from parley.agents.forensic.labels import Verdict
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    ControlFact,
    Decided,
    Opened,
    Submitted,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import ManagerDecision, OpeningRequest, TerminationReason
from parley.bus.memory import Faults
from parley.bus.subjects import DebateRef, tail_of
from tests.debates import ROSTER
from tests.simulation.families import Question, question_of

REPLICAS = 2
# Nothing is submitted and nothing begins to go wrong after this, in virtual seconds.
TROUBLE_S = 12.0
LONGEST_FREEZE_S = 30.0
# The share of seeds whose brains answer and whose bus loses nothing.
ONLY_BLOWS = 0.3


class Blow(StrEnum):
    """What befalls a process: no word of farewell, an orderly leave, or no progress for a while."""

    KILL = "kill"
    STOP = "stop"
    FREEZE = "freeze"


@dataclass(frozen=True, slots=True)
class Event:
    at: float
    blow: Blow
    process: str
    # Until it is started again, or goes on.
    lasts_s: float


@dataclass(frozen=True, slots=True)
class Forgery:
    """
    A record that nobody of ours wrote, on one of our subjects, past all guards. A control fact is
    forged only where it is illegal: what is legal, only credentials can prevent.
    """

    at: float
    ref: DebateRef
    tail: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Debate:
    ref: DebateRef
    question: Question
    submitted_at: float
    # After how long the client cancels it.
    patience_s: float | None

    @property
    def budget_s(self) -> float:
        """How long it may take while a coordinator lives: every step runs into its deadline."""
        question = self.question
        return question.most_steps * (question.panel.deadline_s + 12.0) + 40.0


@dataclass(frozen=True, slots=True)
class Moods:
    """How often a brain, asked once, is silent, fails, or crashes; and how slowly it thinks."""

    silent: float = 0.0
    fails: float = 0.0
    crashes: float = 0.0
    slowest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    faults: Faults
    moods: Moods
    coordinators: tuple[str, ...]
    # Everybody who sits on one of the panels, with a number for each replica.
    agents: tuple[tuple[str, int], ...]
    debates: tuple[Debate, ...]
    events: tuple[Event, ...]
    forgeries: tuple[Forgery, ...]
    # A coordinator that beats, and does nothing else.
    ghost: bool
    # How long after its end a debate leaves the log.
    archived_after_s: float

    @property
    def panel(self) -> str:
        """All debates of a seed are of one family."""
        return self.debates[0].ref.panel


def scenario_of(seed: int) -> Scenario:
    random = Random(seed)
    coordinators = tuple(f"c{n}" for n in range(random.choice((1, 2, 2, 3))))
    debates = tuple(_debate(seed, random, n) for n in range(random.randint(1, 4)))
    seats = dict.fromkeys(persona for one in debates for persona in one.question.panel.everybody)
    agents = tuple((persona, replica) for persona in seats for replica in range(REPLICAS))
    processes = (*coordinators * 3, *(agent_name(*one) for one in agents))
    # Where nothing else goes wrong, a crash is all that can be blamed for a missing turn.
    only_blows = random.random() < ONLY_BLOWS
    return Scenario(
        seed=seed,
        faults=Faults(delay_s=0.02, gone_unread=0.5) if only_blows else _faults(random),
        moods=Moods(slowest_s=4.0) if only_blows else _moods(random),
        coordinators=coordinators,
        agents=agents,
        debates=debates,
        events=tuple(
            sorted(
                (*_events(random, processes), *_moves(random, coordinators)),
                key=lambda one: one.at,
            )
        ),
        forgeries=tuple(_forgeries(random, debates)) if random.random() < 0.25 else (),
        ghost=random.random() < 0.1,
        archived_after_s=random.choice((0.0, 0.0, 0.3, 2.0)),
    )


def agent_name(persona: str, replica: int) -> str:
    return f"{persona}-{replica}"


def _faults(random: Random) -> Faults:
    return Faults(
        delay_s=random.choice((0.0, 0.02, 0.2, 1.0)),
        lost_writes=random.choice((0.0, 0.0, 0.05, 0.15)),
        lost_answers=random.choice((0.0, 0.0, 0.05, 0.15)),
        duplicates=random.choice((0.0, 0.1, 0.3)),
        lost_signals=random.choice((0.0, 0.1, 0.4)),
        gone_unread=0.5,
    )


def _moods(random: Random) -> Moods:
    return Moods(
        silent=random.choice((0.0, 0.0, 0.05, 0.2)),
        fails=random.choice((0.0, 0.0, 0.1)),
        crashes=random.choice((0.0, 0.0, 0.1)),
        slowest_s=random.choice((0.0, 0.5, 2.0, 6.0)),
    )


def _debate(seed: int, random: Random, number: int) -> Debate:
    begin = random.uniform(0.0, TROUBLE_S / 2)
    cancelled = random.random() < 0.1
    question = question_of(seed, random)
    return Debate(
        ref=DebateRef(question.panel.name, f"d{number}"),
        question=question,
        submitted_at=begin,
        patience_s=random.uniform(0.0, 8.0) if cancelled else None,
    )


def _events(random: Random, processes: Sequence[str]) -> Iterator[Event]:
    for _ in range(random.choice((0, 2, 4, 8))):
        blow = random.choice(tuple(Blow))
        longest = LONGEST_FREEZE_S if blow is Blow.FREEZE else 12.0
        yield Event(
            at=random.uniform(0.0, TROUBLE_S),
            blow=blow,
            process=random.choice(processes),
            lasts_s=random.uniform(0.1, longest),
        )


def _moves(random: Random, coordinators: Sequence[str]) -> Iterator[Event]:
    """One of several coordinators that comes and goes all the time: its partitions move with it."""
    if len(coordinators) == 1 or random.random() < 0.5:
        return
    restless, at = coordinators[-1], random.uniform(0.0, 2.0)
    while at < TROUBLE_S:
        away = random.uniform(0.1, 2.0)
        yield Event(
            at=at, blow=random.choice((Blow.KILL, Blow.STOP)), process=restless, lasts_s=away
        )
        at += away + random.uniform(0.2, 3.0)


def _forgeries(random: Random, debates: Sequence[Debate]) -> Iterator[Forgery]:
    for _ in range(random.randint(1, 4)):
        debate = random.choice(debates)
        tail, data = random.choice((*JUNK, _submitted_again(debate)))
        yield Forgery(
            at=debate.submitted_at + random.uniform(-1.0, 6.0), ref=debate.ref, tail=tail, data=data
        )


def _submitted_again(debate: Debate) -> tuple[str, bytes]:
    question = debate.question
    fact = Submitted(panel=question.panel, input=DebateInput(text=question.text))
    return tail_of(fact), encode(fact)


_FORGED: tuple[ControlFact, ...] = (
    Opened(decided_at=1),
    Asked(
        decided_at=2,
        step="opening",
        personas=ROSTER,
        input=DebateInput(),
        request=OpeningRequest(),
        deadline_s=1.0,
    ),
    Abstained(decided_at=3, step="epilogue", persona="noise", reason=AbstainReason.DEADLINE),
    Decided(
        decided_at=4,
        decision=ManagerDecision(
            final_verdict=Verdict.AUTHENTIC,
            confidence=1.0,
            termination_reason=TerminationReason.STALEMATE,
            rationale="forged",
        ),
    ),
)
JUNK = (
    ("ctl.ask.round-1.all", b"{}"),
    ("ctl.mystery", b"{}"),
    ("ctl.opened", b'{"version":2}'),
    ("turn.opening.noise", b"{"),
    ("turn.round-1.spatial", b"\xff\xfe"),
    ("fired.opening", b"[]"),
    ("gossip", b""),
    *((tail_of(fact), encode(fact)) for fact in _FORGED),
)

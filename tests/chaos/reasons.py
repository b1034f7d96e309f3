"""Whether what others than the rules write has a reason in the log: turns, deadlines, undeliverables."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from parley.bus.contracts.facts import Abstained, AbstainReason, Asked, DeadlineFired, TurnTaken
from parley.bus.journal import Logged

# By step: where it was asked for.
Asks = Mapping[str, tuple[Logged, Asked]]
# A queue, and the sequence of an ask that it gave up.
GivenUp = AbstractSet[tuple[str, int]]


def out_of_place(logged: Sequence[Logged], given_up: GivenUp) -> Iterator[str]:
    """Of one debate, in the order of the log."""
    asks: dict[str, tuple[Logged, Asked]] = {}
    for one in logged:
        if isinstance(one.fact, Asked):
            asks.setdefault(one.fact.step, (one, one.fact))
        problem = _problem(one, asks, given_up)
        if problem is not None:
            yield problem


def _problem(one: Logged, asks: Asks, given_up: GivenUp) -> str | None:
    match one.fact:
        case TurnTaken(step=step, persona=persona):
            asked = step in asks and persona in asks[step][1].personas
            return None if asked else f"nobody asked {persona} in {step}"
        case DeadlineFired(step=step):
            due = step in asks and _is_due(one, *asks[step])
            return None if due else f"the deadline of {step} passed too early"
        case Abstained(step=step, persona=persona, reason=AbstainReason.UNDELIVERABLE):
            queue = f"{one.ref.panel}-{persona}"
            dead = step in asks and (queue, asks[step][0].sequence) in given_up
            return None if dead else f"{queue} has not given up {step}"
        case _:
            return None


def _is_due(fired: Logged, asked: Logged, ask: Asked) -> bool:
    return fired.time_ns - asked.time_ns >= ask.deadline_s * 1e9

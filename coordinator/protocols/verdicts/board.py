"""
The board of a debate of verdicts: who stands where after each round, read off the steps.

An agent that missed its opening is absent until it speaks; one that misses a later turn keeps
its last statement.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.facts import Abstained, Content, TurnTaken
from parley.bus.contracts.verdicts.content import PastTurn, Reply, Standing, Statement
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.memo import Memo
from parley.coordinator.core.state import DebateState, Heard, Step
from parley.coordinator.protocols.verdicts.chamber import confidence_after
from parley.coordinator.protocols.verdicts.position import Position

OPENING = "opening"
LOCALIZE = "localize"
REPORT = "report"
RULING = "ruling"
DISSENT = "dissent"
# What is asked once the debate is over; no round.
AFTERWARDS = frozenset({LOCALIZE, REPORT, RULING, DISSENT})
# Of those, what alters no outcome.
EPILOGUE = frozenset({LOCALIZE, REPORT})


def round_step(number: int, speaker: int | None = None) -> str:
    """Where personas speak one after another, each turn is a step of its own, counted from 1."""
    return f"round-{number}" if speaker is None else f"round-{number}-{speaker}"


def round_of(step: Step) -> int:
    """The opening is number 0."""
    return 0 if step.name == OPENING else int(step.name.split("-", 2)[1])


def panel_of(state: DebateState) -> VerdictPanel:
    panel = state.running_panel
    assert isinstance(panel, VerdictPanel)
    return panel


class Stand(NamedTuple):
    """An agent's latest statement, and the ordinal of the turn that made it."""

    ordinal: int
    position: Position
    said: Standing

    @property
    def verdict(self) -> str:
        return self.position.verdict

    @property
    def confidence(self) -> float:
        return self.position.confidence

    @property
    def reasoning(self) -> str:
        return self.said.reasoning

    @property
    def evidence(self) -> dict[str, JsonValue]:
        return self.said.evidence

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.said.arguments


class Board(NamedTuple):
    """`standing` and every entry of `history` are in roster order."""

    standing: tuple[Stand, ...]
    history: tuple[tuple[Position, ...], ...]
    # Who said what in which round, in the order of the log.
    said: tuple[tuple[int, Stand], ...]
    # Ordinals of all that was heard, by round.
    heard: tuple[tuple[int, ...], ...]
    # The latest statement of everybody who ever made one.
    latest: Mapping[str, Stand]
    # Who was asked in the last round; of an asynchronous chamber that may be under way.
    asked: tuple[str, ...] = ()
    # Who of them sent a message.
    spoken: tuple[str, ...] = ()

    @property
    def round(self) -> int:
        return len(self.history) - 1

    @property
    def positions(self) -> tuple[Position, ...]:
        return self.history[-1] if self.history else ()

    def statements(self) -> tuple[Standing, ...]:
        return tuple([stand.said for stand in self.standing])

    def past(self, rounds: int) -> tuple[PastTurn, ...]:
        """What was said in the last `rounds` rounds before the one that made the statements stand."""
        if rounds == 0:
            return ()
        return tuple(
            PastTurn(
                round=round_,
                agent=stand.position.agent,
                verdict=stand.verdict,
                confidence=stand.confidence,
                said=stand.reasoning,
            )
            for round_, stand in self.said
            if self.round - rounds <= round_ < self.round
        )

    def basis(self, streak: int) -> tuple[int, ...]:
        """The facts a declaration rests on: the standing statements and the rounds of the streak."""
        recent = self.heard[-max(1, streak) :]
        latest = {stand.ordinal for stand in self.standing}
        return tuple(sorted(latest.union(*recent)))


NOTHING_SAID = Board((), (), (), (), {})
# By what was heard in the last round: no other debate holds the same object.
_BOARDS: Memo[Board] = Memo(size=1024)


def board_of(state: DebateState) -> Board:
    """Of the rounds that are over. Each is read once: a round that is over stays as it is."""
    board, unread = NOTHING_SAID, []
    for step in reversed(state.steps):
        if not _is_finished_round(step):
            continue
        # All empty tuples are one object.
        read = _BOARDS.kept(step.heard) if step.heard else None
        if read is not None:
            board = read
            break
        unread.append(step)
    panel = panel_of(state)
    for step in reversed(unread):
        board = _with_round(board, step, panel)
        if step.heard:
            _BOARDS.keep((step.heard,), board)
    return board


def _with_round(before: Board, step: Step, panel: VerdictPanel) -> Board:
    """A step of a round that is under way adds to it."""
    more = panel.chamber == "asynchronous" and round_of(step) == before.round
    history = before.history[:-1] if more else before.history
    asked = (*before.asked, *step.ask.personas) if more else step.ask.personas
    earlier = before.heard[-1] if more else ()
    latest = dict(before.latest)
    number, said = len(history), []
    contributions = step.contributions
    roster, verdicts = panel.roster, panel.verdicts
    for heard in contributions:
        agent = heard.said.persona
        after = stand_after(latest.get(agent), heard, verdicts, stays=panel.chamber is not None)
        if after is not None:
            latest[agent] = after
            said.append((number, after))
    spoken = (
        *(before.spoken if more else ()),
        *[one.said.persona for one in contributions if isinstance(one.said, TurnTaken)],
    )
    over = panel.chamber != "asynchronous" or set(roster) <= set(asked)
    if panel.chamber is not None and number > 0 and over:
        latest = _after_messages(latest, spoken, panel)
    standing = tuple([latest[name] for name in roster if name in latest])
    return Board(
        standing=standing,
        history=(*history, tuple([stand.position for stand in standing])),
        said=(*before.said, *said),
        heard=(
            *before.heard[: len(history)],
            (*earlier, *[heard.ordinal for heard in contributions]),
        ),
        latest=latest,
        asked=asked,
        spoken=spoken,
    )


def _after_messages(
    latest: Mapping[str, Stand], spoken: Collection[str], panel: VerdictPanel
) -> dict[str, Stand]:
    """With the confidences that the round's messages leave."""
    assert panel.chamber is not None
    said = [one.said for one in latest.values()]
    moved = {}
    for name, stand in latest.items():
        left = confidence_after(panel.chamber, stand.said, said, spoken, panel.trust)
        moved[name] = Stand(
            stand.ordinal,
            stand.position._replace(confidence=left),
            stand.said.model_copy(update={"confidence": left}),
        )
    return moved


def finished_rounds(state: DebateState) -> list[Step]:
    """The opening is number 0."""
    return [step for step in state.steps if _is_finished_round(step)]


def _is_finished_round(step: Step) -> bool:
    return step.is_over and not step.abandoned and step.name not in AFTERWARDS


def foreign_verdict(content: Content, verdicts: Collection[str]) -> str | None:
    """The verdict of a turn that is none of the panel's; a log that names no labels knows none."""
    if isinstance(content, Reply):
        verdict = content.new_verdict
    elif isinstance(content, Statement):
        verdict = content.verdict
    else:
        return None
    return verdict if verdicts and verdict is not None and verdict not in verdicts else None


def stand_after(
    before: Stand | None, heard: Heard, verdicts: Collection[str] = (), *, stays: bool = False
) -> Stand | None:
    """
    The statement that a turn made; None if the turn left things as they were, as does one whose
    verdict is none of `verdicts`. With `stays` a reply moves neither verdict nor confidence.
    """
    ordinal, said = heard
    if isinstance(said, Abstained) or foreign_verdict(said.content, verdicts) is not None:
        return None
    content = said.content
    if isinstance(content, Reply):
        if stays and before is not None:
            content = content.model_copy(update={"new_verdict": None, "new_confidence": None})
        if before is not None and _says_nothing_new(content):
            return Stand(ordinal, before.position, before.said)
        standing = _replied(before and before.said, said.persona, content)
    elif isinstance(content, Statement):
        standing = Standing.of_ours(
            agent=said.persona,
            verdict=content.verdict,
            confidence=content.confidence,
            reasoning=content.reasoning,
            evidence=content.evidence,
            arguments=content.arguments,
        )
    else:
        return None
    if standing is None:
        return None
    position = Position(standing.agent, standing.verdict, standing.confidence)
    return Stand(ordinal, position, standing)


def _says_nothing_new(said: Reply) -> bool:
    return (
        said.new_verdict is None
        and said.new_confidence is None
        and said.evidence is None
        and said.arguments is None
        and not said.reasoning
        and not said.content
    )


def _replied(before: Standing | None, agent: str, said: Reply) -> Standing | None:
    """What the reply leaves open stays as it was."""
    verdict, confidence = said.new_verdict, said.new_confidence
    if before is None:
        if verdict is None or confidence is None:
            return None
        before = Standing(agent=agent, verdict=verdict, confidence=confidence)
    return Standing.of_ours(
        agent=agent,
        verdict=verdict or before.verdict,
        confidence=before.confidence if confidence is None else confidence,
        reasoning=said.reasoning or said.content or before.reasoning,
        evidence=before.evidence if said.evidence is None else said.evidence,
        arguments=before.arguments if said.arguments is None else said.arguments,
    )

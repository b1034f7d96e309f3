"""What a proposed edit says: of which aspect, in which direction, with which weight."""

from dataclasses import dataclass
from typing import Literal

from parley.bus.contracts.absa.debate import DebateTurn, ProposedEdit
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex
from parley.coordinator.protocols.absa.rules.polarity import canonical

DropMode = Literal["opposite", "negative"]
# Who proposes: a persona in its turn, or the judge in the final patch.
Voice = Literal["turn", "patch"]

VOICE_WEIGHTS: dict[Voice, float] = {"turn": 0.5, "patch": 0.8}
DROP_WEIGHT = 0.8


@dataclass(frozen=True, slots=True)
class Pull:
    weight: float
    polarity: str | None


@dataclass(frozen=True, slots=True)
class EditReader:
    """`drop_mode` says what dropping a tuple argues for: the opposite polarity, or always negative."""

    index: AspectIndex
    drop_mode: DropMode = "opposite"

    def aspect(self, edit: ProposedEdit) -> str:
        """Empty when the edit names none."""
        mention = edit.target.key
        if not mention and edit.op == "set_aspect_ref":
            mention = edit.value or ""
        return self.index.term(mention) if mention else ""

    def pull(self, edit: ProposedEdit, voice: Voice) -> Pull:
        weight = VOICE_WEIGHTS[voice]
        match edit.op:
            case "set_polarity":
                return Pull(weight, _lowered(edit.value))
            case "confirm_tuple":
                return Pull(weight, _lowered(edit.target.polarity))
            case "drop_tuple":
                return Pull(DROP_WEIGHT, self._drop_polarity(edit))
            case "set_aspect_ref":
                return Pull(0.0, None)
            case _:
                polarity = _lowered(edit.target.polarity or edit.value)
                return Pull(weight, polarity) if canonical(polarity) else Pull(0.0, None)

    def turn_polarity(self, turn: DebateTurn) -> str | None:
        """Where a turn as a whole pulls: its first stated polarity, else what it argues by dropping."""
        for wanted in (("set_polarity", "confirm_tuple"), ("drop_tuple",)):
            for edit in turn.proposed_edits:
                if edit.op in wanted:
                    polarity = self.pull(edit, "turn").polarity
                    if canonical(polarity):
                        return polarity
        return None

    def _drop_polarity(self, edit: ProposedEdit) -> str | None:
        if self.drop_mode == "negative":
            return Polarity.NEGATIVE.value
        if edit.target.polarity:
            dropped = canonical(edit.target.polarity)
        else:
            dropped = self.index.stage1_polarity(self.aspect(edit))
        opposite = dropped.opposite if dropped is not None else None
        return opposite.value if opposite is not None else None


def _lowered(text: str | None) -> str | None:
    return text.lower() if text else None

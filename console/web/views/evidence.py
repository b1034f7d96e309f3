"""What is known of an image under debate: pictures made of it, measurements, suspect regions."""

from pydantic import ConfigDict, Field, ValidationError

from parley.bus.contracts.base import Contract, Share
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.verdicts.content import Localization, Region
from parley.console.transcript.verdicts import place_finder
from parley.console.web.views.common import cleaned
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import VerdictResult


class EvidenceMap(Contract):
    """A picture computed from the image; `name` is its name in the address."""

    name: str
    title: str
    caption: str


MAPS = (
    EvidenceMap(
        name="regions",
        title="Suspect regions",
        caption="Tinted tiles differ from the rest in noise, sharpness or compression history.",
    ),
    EvidenceMap(
        name="noise",
        title="Noise residual",
        caption="The grain, amplified. Pasted or retouched material has a different grain.",
    ),
    EvidenceMap(
        name="error-level",
        title="Error level",
        caption="What saving it once more as JPEG would change. Alone it proves nothing.",
    ),
    EvidenceMap(
        name="spectrum",
        title="Frequency spectrum",
        caption="Low frequencies in the middle; bright dots off the axes come from resizing or a generator.",
    ),
)


class Measured(Contract):
    model_config = ConfigDict(extra="ignore")

    name: str
    value: float
    unit: str = ""
    meaning: str = ""


class Evidence(Contract):
    """What an agent's opening statement says it measured; `belief` is its share for each verdict."""

    model_config = ConfigDict(extra="ignore")

    agent: str
    skill: str = ""
    belief: dict[str, Share] = Field(default_factory=dict)
    trust: Share | None = None
    measurements: tuple[Measured, ...] = ()
    regions: tuple[Region, ...] = ()
    limitations: tuple[str, ...] = ()


def evidence_of(result: VerdictResult) -> tuple[Evidence, ...]:
    """Of statements whose evidence has this form; others have none to show."""
    found = []
    for one in result.opening_statements:
        try:
            found.append(cleaned(Evidence.model_validate({**one.evidence, "agent": one.agent})))
        except ValidationError:
            continue
    return tuple(one for one in found if one.measurements or one.belief)


def regions_of(
    state: DebateState, result: VerdictResult, evidence: tuple[Evidence, ...]
) -> tuple[tuple[Region, ...], str]:
    """Of whoever was asked where, and where nobody was, of an opening statement; and whose it is."""
    for heard in (one for step in state.steps for one in step.heard):
        content = heard.said.content if isinstance(heard.said, TurnTaken) else None
        if isinstance(content, Localization) and content.regions:
            return content.regions, f"{heard.said.persona}, asked after the debate"
    found = {one.agent: one.regions for one in evidence if one.regions}
    scores = {agent: max(box.score for box in boxes) for agent, boxes in found.items()}
    finder = place_finder(result, scores)
    return (found[finder], f"{finder}, in its opening statement") if finder else ((), "")

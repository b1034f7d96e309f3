"""What a forensic skill hands over: measurements a person can check, scores, and their limits."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.suited import Unsuited
from parley.bus.contracts.base import Contract, Share, Text, is_absent
from parley.bus.contracts.verdicts.content import Region


class CompressionState(StrEnum):
    """How much of an image's fine structure its file format has kept."""

    LOSSLESS = "lossless"
    JPEG_HIGH = "jpeg_high"
    JPEG_LOW = "jpeg_low"
    WEBP = "webp"


class Skill(StrEnum):
    FREQUENCY = "frequency"
    NOISE = "noise"
    WATERMARK = "watermark"
    SPATIAL = "spatial"


# The verdicts an image can deserve; UNCERTAIN is what an agent says when it cannot tell.
CLASSES = (Verdict.AUTHENTIC, Verdict.MANIPULATED, Verdict.AI_GENERATED)


class Measurement(Contract):
    name: str
    value: float
    unit: str
    meaning: str
    where: Region | None = None
    # Its place among the features, for who wants to know what it speaks for.
    feature: Annotated[int | None, Field(exclude_if=is_absent)] = None


class Findings(Contract):
    """The result of one skill before any verdict: pure measurement."""

    skill: Skill
    state: CompressionState
    measurements: tuple[Measurement, ...]
    # Same order for every image, so that weights can be fitted to them.
    features: tuple[float, ...]
    regions: tuple[Region, ...] = ()
    # The share of the analysed area that the regions cover.
    suspect_share: Share = 0.0
    # Verdict that a readable mark (not a statistic) states outright, with the sentence that says so.
    declared: Verdict | None = None
    declared_because: Text = ""
    # Whether the file names an editor: that is no declaration, but generated files seldom do.
    edited: bool = False
    # Verdicts that a single measurement makes all but impossible.
    rules_out: tuple[Verdict, ...] = ()
    # Why the measurements say nothing; a declaration still counts.
    unsuited: Unsuited | None = None
    limitations: tuple[str, ...] = ()


class ClassShares(Contract):
    """A calibrated belief over the three verdicts an image can deserve; sums to one."""

    authentic: Share
    manipulated: Share
    ai_generated: Share

    def of(self, verdict: str) -> float:
        return {
            Verdict.AUTHENTIC: self.authentic,
            Verdict.MANIPULATED: self.manipulated,
            Verdict.AI_GENERATED: self.ai_generated,
            Verdict.UNCERTAIN: 0.0,
        }[Verdict(verdict)]

    @property
    def best(self) -> Verdict:
        return max(CLASSES, key=self.of)

    @property
    def second(self) -> Verdict:
        return sorted(CLASSES, key=self.of)[-2]


class Evidence(Contract):
    """A skill's findings together with what its calibrated model concludes from them."""

    findings: Findings
    belief: ClassShares
    verdict: Verdict
    confidence: Share
    # How often this skill was right in this compression state when it was measured.
    trust: Annotated[float, Field(ge=0.0, le=1.0)]
    # How far each measurement speaks for a verdict, in log odds.
    support: dict[Verdict, tuple[float, ...]] = Field(default_factory=dict)

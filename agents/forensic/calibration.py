"""
From features to a belief: the shipped weights, and what they say about one image.

Every skill has one linear discriminant. Its features are centred by what is usual in files of the
same kind, all verdicts counting alike, so that the kind of file is no evidence by itself. The weights
are fitted by `parley.agents.forensic.training`, which also measures how far each skill can be trusted
in each kind of file.
"""

import json
from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.evidence import (
    CLASSES,
    ClassShares,
    CompressionState,
    Evidence,
    Findings,
    Skill,
)
from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.base import Contract, Share

# The brief's trust in its agents; used where nothing was measured.
DEFAULT_TRUST: Final = {
    Skill.FREQUENCY: 0.85,
    Skill.NOISE: 0.80,
    Skill.WATERMARK: 0.85,
    Skill.SPATIAL: 0.85,
}
# Below this share of its own belief an agent opens with UNCERTAIN.
COMMIT_SHARE: Final = 0.45
# What is left of a belief that a measurement rules out.
RULED_OUT_FACTOR: Final = 0.01
CLIP: Final = 3.5
# No single belief may rule a class out entirely.
LEAST_SHARE: Final = 0.01

Row = tuple[float, ...]


class SkillModel(Contract):
    centre: dict[CompressionState, Row]
    scale: Row
    # Of each verdict, after centring and scaling: what a measurement is typical of.
    means: tuple[Row, Row, Row]
    coefficients: tuple[Row, Row, Row]
    bias: tuple[float, float, float]
    trust: dict[CompressionState, Share]


class MarkModel(Contract):
    """What a declaration was worth when it was counted, and what an editor's name is held to be."""

    declared: dict[Verdict, ClassShares]
    edited: ClassShares
    trust: Share


class Weighing(Contract):
    """How the skills' beliefs count against one another in one compression state."""

    weights: dict[Skill, float]


class Calibration(Contract):
    skills: dict[Skill, SkillModel]
    marks: MarkModel
    # What is believed before any measurement.
    prior: ClassShares
    weighing: dict[CompressionState, Weighing]


NOTHING_KNOWN: Final = ClassShares(authentic=1 / 3, manipulated=1 / 3, ai_generated=1 / 3)


@lru_cache(maxsize=1)
def shipped() -> Calibration:
    folder = files("parley.agents.forensic") / "weights"
    skills = {
        skill: json.loads((folder / f"{skill.value}.json").read_text())
        for skill in (Skill.FREQUENCY, Skill.NOISE, Skill.SPATIAL)
    }
    debate = json.loads((folder / "debate.json").read_text())
    return Calibration.model_validate({"skills": skills, **debate})


def nearest(state: CompressionState) -> CompressionState:
    """WEBP has no model of its own: it smooths like a low-quality JPEG."""
    return CompressionState.JPEG_LOW if state is CompressionState.WEBP else state


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def shares_of(values: NDArray[np.float64]) -> ClassShares:
    authentic, manipulated, ai_generated = (min(1.0, max(0.0, float(v))) for v in values)
    return ClassShares(authentic=authentic, manipulated=manipulated, ai_generated=ai_generated)


def _standardised(model: SkillModel, findings: Findings) -> NDArray[np.float64]:
    centred = np.array(findings.features) - model.centre[nearest(findings.state)]
    return np.asarray(np.clip(centred / np.array(model.scale), -CLIP, CLIP))


def _support(
    model: SkillModel, z: NDArray[np.float64], findings: Findings, verdict: Verdict
) -> tuple[float, ...]:
    """How much more typical of the verdict than of any other each measurement is, in log odds."""
    distance = np.square(z - np.array(model.means)) / 2
    own = CLASSES.index(verdict)
    lead = np.delete(distance, own, axis=0).min(axis=0) - distance[own]
    return tuple(
        0.0 if one.feature is None else float(lead[one.feature]) for one in findings.measurements
    )


def _without(belief: ClassShares, ruled_out: tuple[Verdict, ...]) -> ClassShares:
    shares = np.array([
        belief.of(verdict) * (RULED_OUT_FACTOR if verdict in ruled_out else 1.0)
        for verdict in CLASSES
    ])  # fmt: skip
    return shares_of(shares / shares.sum())


def assess(findings: Findings, calibration: Calibration) -> Evidence:
    """A declaration or a statistic becomes a belief; the belief, if it is strong enough, a verdict."""
    if findings.skill is Skill.WATERMARK:
        return _assess_marks(findings, calibration.marks)
    if findings.unsuited is not None:
        return _knowing_nothing(findings, calibration.marks.trust)
    model = calibration.skills[findings.skill]
    z = _standardised(model, findings)
    logits = np.array(model.coefficients) @ z + np.array(model.bias)
    belief = _without(shares_of(softmax(logits)), findings.rules_out)
    best = belief.best
    committed = belief.of(best) >= COMMIT_SHARE
    return Evidence(
        findings=findings,
        belief=belief,
        verdict=best if committed else Verdict.UNCERTAIN,
        confidence=belief.of(best),
        trust=model.trust[nearest(findings.state)],
        support={verdict: _support(model, z, findings, verdict) for verdict in CLASSES},
    )


def _knowing_nothing(findings: Findings, trust: float) -> Evidence:
    return Evidence(
        findings=findings, belief=NOTHING_KNOWN, verdict=Verdict.UNCERTAIN,
        confidence=NOTHING_KNOWN.authentic, trust=trust,
    )  # fmt: skip


def _assess_marks(findings: Findings, marks: MarkModel) -> Evidence:
    if findings.declared is None:
        known = _knowing_nothing(findings, marks.trust)
        return known.model_copy(update={"belief": marks.edited}) if findings.edited else known
    belief = marks.declared[findings.declared]
    return Evidence(
        findings=findings, belief=belief, verdict=findings.declared,
        confidence=belief.of(findings.declared), trust=marks.trust,
    )  # fmt: skip


def weigh(
    beliefs: dict[Skill, ClassShares], state: CompressionState, calibration: Calibration
) -> ClassShares:
    """
    What all beliefs say together. Whoever knows nothing, or is absent, changes nothing.

    Beliefs are the agents' own measurements and never change in a debate, so that repeating a
    finding cannot make it stronger.
    """
    weights = calibration.weighing[nearest(state)].weights
    before = np.log([calibration.prior.of(verdict) for verdict in CLASSES])
    logits = before.copy()
    for skill, belief in beliefs.items():
        if belief != NOTHING_KNOWN:
            shares = np.array([belief.of(verdict) for verdict in CLASSES])
            logits += weights[skill] * (np.log(np.maximum(shares, LEAST_SHARE)) - before)
    return shares_of(softmax(logits))

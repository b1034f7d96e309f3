"""How a calibration is made from samples: which images count how much, and in which order."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.calibration import (
    CLIP,
    DEFAULT_TRUST,
    LEAST_SHARE,
    NOTHING_KNOWN,
    Calibration,
    MarkModel,
    Row,
    SkillModel,
    Weighing,
    nearest,
    shares_of,
)
from parley.agents.forensic.evidence import CLASSES, ClassShares, CompressionState, Skill
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.training.data import Sample
from parley.agents.forensic.training.fit import (
    Array,
    Discriminant,
    Labels,
    fit_discriminant,
    fit_temperature,
    fit_weighing,
    log_softmax,
    weights_for,
)

STATISTICAL: Final = (Skill.FREQUENCY, Skill.NOISE, Skill.SPATIAL)
STATES: Final = (CompressionState.LOSSLESS, CompressionState.JPEG_HIGH, CompressionState.JPEG_LOW)
# How often each verdict is right in the development data: what is believed before any measurement,
# and what the verdicts' frequencies in each kind of file are evened out to.
PRIOR: Final = np.array([0.42, 0.21, 0.37])
SHRINK: Final = 0.1
# How far a source of many images counts more than one of few: 0 as many times, 1 not at all.
SOURCE_BALANCE: Final = 0.5
# How much a forgery made here counts where real ones were seen too.
FORGED_WEIGHT: Final = 0.5
# Images of a verdict in one kind of file, below which the kind has no centre of its own.
FEWEST: Final = 5
INNER_FOLDS: Final = 12
WEIGHING_RIDGE: Final = 10.0
# Shares that differ by less say nothing.
SAME: Final = 1e-9
# Declarations are rare in the data; they start from the precision counted elsewhere (83 of 84).
MARK_PRIOR: Final = 0.95
MARK_PRIOR_COUNT: Final = 5.0
# An editor's name tells photographers and forgers not apart, so it leaves them as they were before;
# generators write it seldom. Not counted: no forgery that may be fitted to names an editor.
EDITED: Final = np.array([0.6, 0.3, 0.1])
# Nobody forged metadata in the data; elsewhere people do.
FORGERY_SHARE: Final = 0.06


def labels_of(samples: Sequence[Sample]) -> Labels:
    return np.array([CLASSES.index(sample.label) for sample in samples], np.int64)


def state_of(sample: Sample) -> CompressionState:
    return sample.findings[0].state


def features_of(samples: Sequence[Sample], skill: Skill) -> Array:
    return np.array(
        [next(f for f in s.findings if f.skill is skill).features for s in samples], np.float64
    )


def group_folds(groups: Sequence[str], labels: Labels, count: int) -> Labels:
    """Whole groups to folds, the largest first, so that the folds' classes stay balanced."""
    names, sizes = np.unique(np.array(groups), return_counts=True)
    members = {name: np.bincount(labels[np.array(groups) == name], minlength=3) for name in names}
    load = np.zeros((count, 3))
    fold: dict[str, int] = {}
    for name in names[np.argsort(-sizes, kind="stable")]:
        costs = [float(np.square(load[i] + members[name]).sum() - np.square(load[i]).sum())
                 for i in range(count)]  # fmt: skip
        fold[str(name)] = int(np.argmin(costs))
        load[fold[str(name)]] += members[name]
    return np.array([fold[group] for group in groups], np.int64)


class Fitted(NamedTuple):
    """A skill's discriminant with what its features are centred and scaled by."""

    centre: dict[CompressionState, Array]
    scale: Array
    discriminant: Discriminant

    def scores(self, x: Array, states: Sequence[CompressionState]) -> Array:
        return self.discriminant.scores(self.standardised(x, states))

    def standardised(self, x: Array, states: Sequence[CompressionState]) -> Array:
        centred = x - np.array([self.centre[nearest(state)] for state in states])
        return np.asarray(np.clip(centred / self.scale, -CLIP, CLIP))


def _even_weights(samples: Sequence[Sample]) -> Array:
    return weights_for(
        labels_of(samples), [one.source for one in samples],
        np.array([FORGED_WEIGHT if one.forged else 1.0 for one in samples]),
        PRIOR, SOURCE_BALANCE,
    )  # fmt: skip


def _fitted(samples: Sequence[Sample], skill: Skill) -> Fitted:
    x, labels = features_of(samples, skill), labels_of(samples)
    weights = _even_weights(samples)
    kinds = np.array([nearest(state_of(one)).value for one in samples])
    common = _centre(x, labels, weights)
    centre = {
        state: _centre(x[kinds == state.value], labels[kinds == state.value],
                       weights[kinds == state.value], common)
        for state in STATES
    }  # fmt: skip
    apart = x - np.array([centre[CompressionState(kind)] for kind in kinds])
    scale = np.sqrt((weights[:, None] * np.square(apart)).sum(axis=0) / weights.sum()) + 1e-6
    z = np.clip(apart / scale, -CLIP, CLIP)
    return Fitted(centre, scale, fit_discriminant(z, labels, weights, SHRINK))


def _centre(x: Array, labels: Labels, weights: Array, otherwise: Array | None = None) -> Array:
    """The mean of the verdicts' means; `otherwise` where one of them is missing."""
    found = []
    for label in range(len(CLASSES)):
        members = labels == label
        if members.sum() < FEWEST:
            continue
        own = weights[members, None]
        found.append((own * x[members]).sum(axis=0) / own.sum())
    if otherwise is not None and len(found) < len(CLASSES):
        return otherwise
    return np.asarray(np.mean(found, axis=0))


def _marks(samples: Sequence[Sample]) -> MarkModel:
    marks = [next(f for f in sample.findings if f.skill is Skill.WATERMARK) for sample in samples]
    labels = labels_of(samples)

    def worth(verdict: Verdict) -> ClassShares:
        counts = np.bincount(
            labels[np.array([mark.declared == verdict for mark in marks])], minlength=len(CLASSES)
        )
        prior = np.where([c == verdict for c in CLASSES], MARK_PRIOR, (1 - MARK_PRIOR) / 2)
        counted = (counts + MARK_PRIOR_COUNT * prior) / (counts.sum() + MARK_PRIOR_COUNT)
        return shares_of((1 - FORGERY_SHARE) * counted + FORGERY_SHARE / len(CLASSES))

    declared = {verdict: worth(verdict) for verdict in CLASSES}
    trust = min(declared[verdict].of(verdict) for verdict in CLASSES)
    return MarkModel(declared=declared, edited=shares_of(EDITED), trust=round(trust, 3))


def held_out(samples: Sequence[Sample], count: int) -> dict[Skill, Array]:
    """Each sample's scores by models that saw no sample of its source."""
    fold = group_folds([one.source for one in samples], labels_of(samples), count)
    scores = {skill: np.zeros((len(samples), len(CLASSES))) for skill in STATISTICAL}
    for index in range(count):
        outside = [s for s, f in zip(samples, fold, strict=True) if f != index]
        inside = [s for s, f in zip(samples, fold, strict=True) if f == index]
        if inside:
            for skill in STATISTICAL:
                scores[skill][fold == index] = _fitted(outside, skill).scores(
                    features_of(inside, skill), [state_of(one) for one in inside]
                )
    return scores


def _weighings(
    samples: Sequence[Sample], beliefs: Array, weights: Array
) -> dict[CompressionState, Weighing]:
    """One for all kinds of file, but as sure in each as it is right there."""
    labels, prior = labels_of(samples), np.log(PRIOR)
    silent = (np.ptp(beliefs, axis=2) < SAME)[..., None]
    evidence = np.where(silent, 0.0, np.log(np.maximum(beliefs, LEAST_SHARE)) - prior)
    common = fit_weighing(evidence, prior, labels, weights, WEIGHING_RIDGE)
    together = np.einsum("k,nkc->nc", common, evidence)
    found = {}
    for state, own in _by_state(samples).items():
        sharpness = fit_temperature(together[own], prior, labels[own], weights[own])
        values = (float(f"{value:.4g}") for value in common * sharpness)
        found[state] = Weighing(weights=dict(zip(Skill, values, strict=True)))
    return found


def auc(scores: Array, positive: NDArray[np.bool_]) -> float:
    """Chance that a positive scores above a negative; ties count half. NaN without both."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    hits, others = int(positive.sum()), int((~positive).sum())
    if not hits or not others:
        return float("nan")
    return float((rank[positive].sum() - hits * (hits + 1) / 2) / (hits * others))


def skill_auc(beliefs: Array, labels: Labels, skill: Skill) -> float:
    """Spatial is asked for manipulation, the others for AI; each against authentic images."""
    wanted = Verdict.MANIPULATED if skill is Skill.SPATIAL else Verdict.AI_GENERATED
    target, authentic = CLASSES.index(wanted), CLASSES.index(Verdict.AUTHENTIC)
    chosen = (labels == target) | (labels == authentic)
    mine = np.log(np.maximum(beliefs[chosen, list(Skill).index(skill)], LEAST_SHARE / 10))
    return auc(mine[:, target] - mine[:, authentic], labels[chosen] == target)


def _trust(beliefs: Array, labels: Labels, skill: Skill) -> float:
    measured = skill_auc(beliefs, labels, skill)
    return round(DEFAULT_TRUST[skill] if np.isnan(measured) else measured, 3)


def fit_calibration(samples: Sequence[Sample]) -> Calibration:
    """Temperatures, trust and the weighing come from images of sources the models did not see."""
    samples = [one for one in samples if one.licensed]
    labels, weights, prior = labels_of(samples), _even_weights(samples), np.log(PRIOR)
    scores = held_out(samples, INNER_FOLDS)
    sharpness = {k: fit_temperature(scores[k], prior, labels, weights) for k in STATISTICAL}
    marks = _marks(samples)
    beliefs = np.stack([
        np.exp(log_softmax(scores[skill] * sharpness[skill] + prior))
        if skill in STATISTICAL else _marked(samples, marks)
        for skill in Skill
    ], axis=1)  # fmt: skip
    skills = {
        skill: _shipped(_fitted(samples, skill), sharpness[skill], {
            state: _trust(beliefs[chosen], labels[chosen], skill)
            for state, chosen in _by_state(samples).items()
        })
        for skill in STATISTICAL
    }  # fmt: skip
    return Calibration(
        skills=skills,
        marks=marks,
        prior=shares_of(PRIOR),
        weighing=_weighings(samples, beliefs, weights),
    )


def _by_state(samples: Sequence[Sample]) -> dict[CompressionState, NDArray[np.bool_]]:
    kinds = np.array([nearest(state_of(one)).value for one in samples])
    return {state: kinds == state.value for state in STATES}


def _marked(samples: Sequence[Sample], marks: MarkModel) -> Array:
    """What Watermark's declarations are worth."""
    rows = []
    for sample in samples:
        mark = next(f for f in sample.findings if f.skill is Skill.WATERMARK)
        silent = marks.edited if mark.edited else NOTHING_KNOWN
        belief = silent if mark.declared is None else marks.declared[mark.declared]
        rows.append([belief.of(verdict) for verdict in CLASSES])
    return np.array(rows, np.float64)


def _shipped(fitted: Fitted, sharpness: float, trust: dict[CompressionState, float]) -> SkillModel:
    linear = fitted.discriminant
    bias = linear.bias * sharpness + np.log(PRIOR)
    authentic, manipulated, ai_generated = map(float, bias - bias.mean())
    return SkillModel(
        centre={state: _rounded(row) for state, row in fitted.centre.items()},
        scale=_rounded(fitted.scale),
        means=_rows(linear.means),
        coefficients=_rows(linear.coefficients * sharpness),
        bias=(authentic, manipulated, ai_generated),
        trust=trust,
    )


def _rounded(row: Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.5g}") for value in row)


def _rows(rows: Array) -> tuple[Row, Row, Row]:
    authentic, manipulated, ai_generated = map(_rounded, rows)
    return authentic, manipulated, ai_generated

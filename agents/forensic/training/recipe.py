"""How a calibration is made from samples: which images count how much, and in which order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.calibration import (
    DEFAULT_TRUST,
    LEAST_SHARE,
    NOTHING_KNOWN,
    Calibration,
    MarkModel,
    SkillModel,
    StateModel,
    Weighing,
    assess,
)
from parley.agents.forensic.evidence import CLASSES, ClassShares, CompressionState, Skill
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.training.data import Sample
from parley.agents.forensic.training.fit import (
    Additive,
    Array,
    Labels,
    balanced,
    fit_additive,
    fit_weighing,
)

STATISTICAL: Final = (Skill.FREQUENCY, Skill.NOISE, Skill.SPATIAL)
STATES: Final = (CompressionState.LOSSLESS, CompressionState.JPEG_HIGH, CompressionState.JPEG_LOW)
RIDGE: Final = 40.0
# How much an image in another compression state counts for a state's model.
FOREIGN_STATE_WEIGHT: Final = 0.2
# How far class frequencies, an accident of collection, are evened out: for the agents' models half
# way (they are weighed again), for the weighing all the way.
AGENT_BALANCE: Final = 0.5
WEIGHING_BALANCE: Final = 1.0
# Spatial mostly tells manipulated from authentic photographs; generated images count this much.
GENERATED_WEIGHT: Final = 0.4
INNER_FOLDS: Final = 5
WEIGHING_RIDGE: Final = 10.0
FIRST_WEIGHT: Final = 0.6
# Declarations are rare in the data; they start from the precision counted elsewhere (83 of 84).
MARK_PRIOR: Final = 0.95
MARK_PRIOR_COUNT: Final = 5.0
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


def _state_models(samples: Sequence[Sample], skill: Skill) -> dict[CompressionState, Additive]:
    x, labels = features_of(samples, skill), labels_of(samples)
    states = np.array([state_of(sample).value for sample in samples])
    fit = _fit_one_against_rest if skill is Skill.SPATIAL else _fit_all_classes
    even = balanced(labels, len(CLASSES), AGENT_BALANCE)
    return {
        state: fit(x, labels, even * np.where(states == state.value, 1.0, FOREIGN_STATE_WEIGHT))
        for state in STATES
    }


def _fit_all_classes(x: Array, labels: Labels, weights: Array) -> Additive:
    return fit_additive(x, labels, weights, len(CLASSES), RIDGE)


def _fit_one_against_rest(x: Array, labels: Labels, weights: Array) -> Additive:
    """
    Manipulated or not; what is left is shared evenly by the other two.

    Asked for three classes, Spatial learns which sources publish generated images: right on known
    sources, worse than a coin on unknown ones.
    """
    generated = labels == CLASSES.index(Verdict.AI_GENERATED)
    model = fit_additive(
        x,
        (labels == CLASSES.index(Verdict.MANIPULATED)).astype(np.int64),
        np.where(generated, GENERATED_WEIGHT, 1.0) * weights,
        2,
        RIDGE,
    )
    rest, manipulated = model.coefficients
    half = float(model.bias[0]) - float(np.log(2))
    return replace(
        model,
        coefficients=np.stack([rest, manipulated, rest]),
        bias=np.array([half, float(model.bias[1]), half]),
    )


def _shipped(model: Additive, trust: float) -> StateModel:
    def rounded(row: Array) -> tuple[float, ...]:
        return tuple(float(f"{value:.5g}") for value in row)

    return StateModel(
        mean=rounded(model.mean),
        scale=rounded(model.scale),
        knots=tuple(rounded(row) for row in model.knots),
        coefficients=tuple(rounded(row) for row in model.coefficients),
        bias=rounded(model.bias),
        trust=trust,
    )


def _marks(samples: Sequence[Sample]) -> MarkModel:
    declared = {}
    for verdict in CLASSES:
        counts = np.zeros(len(CLASSES))
        for sample in samples:
            mark = next(f for f in sample.findings if f.skill is Skill.WATERMARK)
            if mark.declared == verdict:
                counts[CLASSES.index(sample.label)] += 1
        prior = np.where(
            [c == verdict for c in CLASSES], MARK_PRIOR, (1 - MARK_PRIOR) / (len(CLASSES) - 1)
        )
        counted = (counts + MARK_PRIOR_COUNT * prior) / (counts.sum() + MARK_PRIOR_COUNT)
        shares = (1 - FORGERY_SHARE) * counted + FORGERY_SHARE / len(CLASSES)
        declared[verdict] = ClassShares(
            **{c.value: float(s) for c, s in zip(CLASSES, shares, strict=True)}
        )
    trust = min(declared[verdict].of(verdict) for verdict in CLASSES)
    return MarkModel(declared=declared, trust=round(trust, 3))


def _fitted_skills(samples: Sequence[Sample]) -> dict[Skill, SkillModel]:
    return {
        skill: SkillModel(states={
            state: _shipped(model, 0.5) for state, model in _state_models(samples, skill).items()
        })
        for skill in STATISTICAL
    }  # fmt: skip


def beliefs_of(samples: Sequence[Sample], calibration: Calibration) -> Array:
    """Beliefs (samples, skills in enum order, classes)."""
    rows = []
    for sample in samples:
        found = {f.skill: assess(f, calibration).belief for f in sample.findings}
        rows.append([[found.get(k, NOTHING_KNOWN).of(c) for c in CLASSES] for k in Skill])
    return np.array(rows, np.float64)


def held_out_beliefs(samples: Sequence[Sample], groups: Sequence[str], count: int) -> Array:
    """Each sample's beliefs from models that saw no sample of its group."""
    fold = group_folds(groups, labels_of(samples), count)
    out = np.zeros((len(samples), len(Skill), len(CLASSES)))
    for index in range(count):
        outside = [s for s, f in zip(samples, fold, strict=True) if f != index]
        inside = [s for s, f in zip(samples, fold, strict=True) if f == index]
        if inside:
            partial = Calibration(
                skills=_fitted_skills(outside), marks=_marks(outside), weighing={}
            )
            out[fold == index] = beliefs_of(inside, partial)
    return out


def _weighing(theta: Array) -> Weighing:
    values = [float(f"{v:.4g}") for v in theta]
    return Weighing(
        weights=dict(zip(Skill, values, strict=False)), bias=(values[-3], values[-2], values[-1])
    )


def _weighings(samples: Sequence[Sample], beliefs: Array) -> dict[CompressionState, Weighing]:
    logs, labels = np.log(np.maximum(beliefs, LEAST_SHARE)), labels_of(samples)
    states = np.array([state_of(sample).value for sample in samples])
    start = np.concatenate([np.full(len(Skill), FIRST_WEIGHT), np.zeros(len(CLASSES))])
    even = balanced(labels, len(CLASSES), WEIGHING_BALANCE)
    common = fit_weighing(logs, labels, even, start, WEIGHING_RIDGE)
    return {
        state: _weighing(fit_weighing(
            logs[states == state.value], labels[states == state.value],
            even[states == state.value], common, WEIGHING_RIDGE,
        ))
        for state in STATES
    }  # fmt: skip


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
    """Trust and weights come from beliefs about images that the models did not see."""
    beliefs = held_out_beliefs(samples, [sample.path for sample in samples], INNER_FOLDS)
    labels = labels_of(samples)
    states = np.array([state_of(sample).value for sample in samples])
    skills = {
        skill: SkillModel(states={
            state: model.model_copy(update={"trust": _trust(
                beliefs[states == state.value], labels[states == state.value], skill
            )})
            for state, model in fitted.states.items()
        })
        for skill, fitted in _fitted_skills(samples).items()
    }  # fmt: skip
    return Calibration(skills=skills, marks=_marks(samples), weighing=_weighings(samples, beliefs))

"""
How good are the agents, alone and together, on labelled images?

The folds `shipped` judge with the shipped weights (for images they were not fitted to); `image` and
`source` fit anew for every fold, which then holds images, or whole sources, that the weights have
not seen. The rules that end a debate are the caller's: `parley.console.batch.eval_forensic` brings the
coordinator's.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import cv2
import numpy as np

from parley.agents.forensic.calibration import Calibration, assess, shipped, weigh
from parley.agents.forensic.debate import Position, debate_positions
from parley.agents.forensic.evidence import CLASSES, ClassShares, Evidence, Skill
from parley.agents.forensic.image import ImageLimits, decoding, read_file
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.skills import ANALYSES
from parley.agents.forensic.training.data import VARIANTS, Sample
from parley.agents.forensic.training.recipe import (
    fit_calibration,
    group_folds,
    labels_of,
    skill_auc,
)

Folds = Literal["shipped", "image", "source"]
Trust = dict[str, float]
# Given the positions after every round so far, the final verdict and its confidence, or None to go on.
Judge = Callable[[Sequence[tuple[Position, ...]], Trust], tuple[str, float] | None]

FOLDS = 8
MAX_ROUNDS = 3
_TIMED_IMAGES = 12
_BINS = 10
# The thresholds of the curve of coverage and accuracy.
_LEAST_SHARES = (0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)


class Judged(NamedTuple):
    sample: Sample
    panel: tuple[Evidence, ...]
    opening_vote: str
    trusted_vote: str
    # Votes in which nobody may say UNCERTAIN, and the agents' own weighing without any debate:
    # what is left between these and the debate is what the debate itself adds.
    forced_vote: str
    weighed: ClassShares
    debate: str
    confidence: float
    rounds: int


def majority(positions: Sequence[Position]) -> str:
    """Most agents; a tie goes to those who know, then to the more confident on average."""

    def rank(verdict: str) -> tuple[int, bool, float]:
        held = [p.confidence for p in positions if p.verdict == verdict]
        return len(held), verdict != Verdict.UNCERTAIN, sum(held) / len(held)

    return max(dict.fromkeys(p.verdict for p in positions), key=rank)


def trust_weighted(positions: Sequence[Position], trust: Trust) -> str:
    scores: dict[str, float] = {}
    for position in positions:
        gained = trust[position.agent] * position.confidence
        scores[position.verdict] = scores.get(position.verdict, 0.0) + gained
    return max(scores, key=scores.__getitem__)


def last_word(history: Sequence[tuple[Position, ...]], trust: Trust) -> tuple[str, float] | None:
    """Unanimity ends a debate; so does the last round, by trust-weighted vote."""
    now = history[-1]
    verdict = trust_weighted(now, trust)
    if len({p.verdict for p in now}) == 1 or len(history) > MAX_ROUNDS:
        return verdict, max(p.confidence for p in now if p.verdict == verdict)
    return None


def judge_sample(sample: Sample, calibration: Calibration, judge: Judge) -> Judged:
    panel = tuple(assess(findings, calibration) for findings in sample.findings)
    trust = {evidence.findings.skill.value: evidence.trust for evidence in panel}
    history: list[tuple[Position, ...]] = []
    for positions in islice(debate_positions(panel, calibration), 2 * MAX_ROUNDS):
        history.append(positions)
        if (final := judge(history, trust)) is not None:
            break
    else:
        final = last_word(history, trust) or (Verdict.UNCERTAIN, 0.0)
    forced = [
        Position(e.findings.skill.value, e.belief.best, e.belief.of(e.belief.best)) for e in panel
    ]
    return Judged(
        sample=sample,
        panel=panel,
        opening_vote=majority(history[0]),
        trusted_vote=trust_weighted(history[0], trust),
        forced_vote=trust_weighted(forced, trust),
        weighed=weigh(
            {e.findings.skill: e.belief for e in panel}, panel[0].findings.state, calibration
        ),
        debate=final[0],
        confidence=final[1],
        rounds=len(history) - 1,
    )


def judge_all(samples: Sequence[Sample], folds: Folds, judge: Judge) -> tuple[Judged, ...]:
    if folds == "shipped":
        return tuple(judge_sample(one, shipped(), judge) for one in samples if not one.forged)
    groups = [s.path if folds == "image" else s.source for s in samples]
    fold = group_folds(groups, labels_of(samples), FOLDS)
    judged: list[Judged] = []
    for index in range(FOLDS):
        inside = [s for s, f in zip(samples, fold, strict=True) if f == index and not s.forged]
        fitted = fit_calibration([s for s, f in zip(samples, fold, strict=True) if f != index])
        judged += [judge_sample(sample, fitted, judge) for sample in inside]
    return tuple(judged)


def report(judged: Sequence[Judged]) -> Iterator[str]:
    yield f"{'':22}" + "".join(f"{variant:>10}" for variant in VARIANTS)
    parts = [[j for j in judged if j.sample.variant == variant] for variant in VARIANTS]
    for index, skill in enumerate(Skill):
        yield _line(f"AUC {skill.value}", [_auc(part, skill) for part in parts])
        yield _line(f"accuracy {skill.value}",
                    [_share(j.panel[index].verdict == j.sample.label for j in p) for p in parts])  # fmt: skip
        yield _line(f"  forced {skill.value}",
                    [_share(j.panel[index].belief.best == j.sample.label for j in p) for p in parts])  # fmt: skip
    yield _line(
        "opening vote", [_share(j.opening_vote == j.sample.label for j in p) for p in parts]
    )
    yield _line("trust-weighted vote",
                [_share(j.trusted_vote == j.sample.label for j in p) for p in parts])  # fmt: skip
    yield _line(
        "  forced vote", [_share(j.forced_vote == j.sample.label for j in p) for p in parts]
    )
    yield _line(
        "weighed, no debate", [_share(j.weighed.best == j.sample.label for j in p) for p in parts]
    )
    yield _line("debate", [_share(j.debate == j.sample.label for j in p) for p in parts])
    yield _line("  of verdicts given", [_share(_right_of_given(p)) for p in parts])
    yield _line("  share given", [_share(j.debate != Verdict.UNCERTAIN for j in p) for p in parts])
    yield _line("  authentic called fake", [_share(_called_fake(p)) for p in parts])
    yield _line("  calibration error", [calibration_error(p) for p in parts])
    for name, part in zip(VARIANTS, parts, strict=True):
        yield _ledger(name, part)
        yield from _curve(name, part)


def _line(name: str, values: Sequence[float]) -> str:
    return f"{name:22}" + "".join(f"{value:10.3f}" for value in values)


def _share(right: Iterator[bool]) -> float:
    answers = list(right)
    return sum(answers) / len(answers) if answers else float("nan")


def _auc(part: Sequence[Judged], skill: Skill) -> float:
    beliefs = np.array([[[e.belief.of(c) for c in CLASSES] for e in j.panel] for j in part])
    order = [e.findings.skill for e in part[0].panel]
    return skill_auc(
        beliefs[:, [order.index(s) for s in Skill]], labels_of([j.sample for j in part]), skill
    )


def _right_of_given(part: Sequence[Judged]) -> Iterator[bool]:
    return (j.debate == j.sample.label for j in part if j.debate != Verdict.UNCERTAIN)


def _called_fake(part: Sequence[Judged]) -> Iterator[bool]:
    authentic = (j for j in part if j.sample.label == Verdict.AUTHENTIC)
    return (j.debate not in {Verdict.AUTHENTIC, Verdict.UNCERTAIN} for j in authentic)


def calibration_error(part: Sequence[Judged]) -> float:
    """Of verdicts given: how far confidence and share right lie apart, in ten bins, weighted."""
    given = [j for j in part if j.debate != Verdict.UNCERTAIN]
    if not given:
        return float("nan")
    said = np.array([j.confidence for j in given])
    right = np.array([j.debate == j.sample.label for j in given], np.float64)
    bins = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, said - right, _BINS)
    return float(np.abs(gaps).sum() / len(given))


def _curve(name: str, part: Sequence[Judged]) -> Iterator[str]:
    """What abstaining below a share of the weighing does."""
    yield f"{name}, abstaining below:" + "".join(f"{least:8.2f}" for least in _LEAST_SHARES)
    rows: dict[str, list[float]] = {"given": [], "right of given": [], "right": [], "fake": []}
    for least in _LEAST_SHARES:
        given = [j for j in part if j.weighed.of(j.weighed.best) >= least]
        right = sum(j.weighed.best == j.sample.label for j in given)
        authentic = sum(j.sample.label == Verdict.AUTHENTIC for j in part)
        fake = sum(j.sample.label == Verdict.AUTHENTIC != j.weighed.best for j in given)
        rows["given"].append(len(given) / len(part))
        rows["right of given"].append(right / max(1, len(given)))
        rows["right"].append(right / len(part))
        rows["fake"].append(fake / max(1, authentic))
    for what, values in rows.items():
        yield f"  {what:24}" + "".join(f"{value:8.3f}" for value in values)


def _ledger(name: str, part: Sequence[Judged]) -> str:
    fixed = sum(j.debate == j.sample.label != j.trusted_vote for j in part)
    broken = sum(j.trusted_vote == j.sample.label != j.debate for j in part)
    rounds = sum(j.rounds for j in part) / max(1, len(part))
    return f"{name}: against the trusted vote the debate fixed {fixed}, broke {broken}; {rounds:.2f} rounds"


def milliseconds_per_megapixel(paths: Sequence[Path]) -> dict[Skill, float]:
    """Processor time of each skill on one core."""
    cv2.setNumThreads(1)
    limits = ImageLimits()
    spent: dict[Skill, float] = dict.fromkeys(Skill, 0.0)
    pixels = 0.0
    with decoding(limits) as decoder:
        for path in paths:
            picture = decoder.decode(read_file(path, limits))
            pixels += picture.megapixels
            for skill, analyse in ANALYSES.items():
                start = time.process_time()
                analyse(picture)
                spent[skill] += time.process_time() - start
    return {skill: 1000 * seconds / pixels for skill, seconds in spent.items()}


def cost_lines(folders: Sequence[Path], samples: Sequence[Sample]) -> Iterator[str]:
    """Over a dozen images, spread over the folders."""
    paths = {folder / s.path: None for s in samples for folder in folders}
    there = [path for path in paths if path.is_file()]
    costs = milliseconds_per_megapixel(there[:: max(1, len(there) // _TIMED_IMAGES)])
    for skill, cost in costs.items():
        yield f"{skill.value}: {cost:.0f} ms per megapixel"

"""Small, exact and deterministic: a linear discriminant, its temperature, and the weighing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

_STEPS = 40
_ENOUGH = 1e-4
_FIRST_WEIGHT = 0.6
_TEMPERATURES = np.geomspace(0.05, 3.0, 80)


@dataclass(frozen=True, slots=True)
class Discriminant:
    """Scores of classes, linear in the features; `means` are the classes' own."""

    means: Array
    coefficients: Array
    bias: Array

    def scores(self, z: Array) -> Array:
        return np.asarray(z @ self.coefficients.T + self.bias)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def weights_for(
    labels: Labels, groups: Sequence[str], counting: Array, shares: Array, strength: float
) -> Array:
    """
    Classes weigh as `shares` says, whatever was collected; the mean is one.

    Within a class each image counts as `counting` says, and a group of n images n ** (1 - strength).
    """
    weights = np.zeros(labels.size)
    names = np.array(groups)
    for label, share in enumerate(shares):
        members = labels == label
        if members.any():
            _, inverse, counts = np.unique(names[members], return_inverse=True, return_counts=True)
            own = counting[members] * counts[inverse] ** -strength
            weights[members] = share * own / own.sum()
    return np.asarray(weights / weights.mean())


def fit_discriminant(z: Array, labels: Labels, weights: Array, shrink: float) -> Discriminant:
    """The common scatter within classes is drawn towards one variance for all features."""
    classes = int(labels.max()) + 1
    means = np.zeros((classes, z.shape[1]))
    scatter = np.zeros((z.shape[1], z.shape[1]))
    for label in range(classes):
        members = labels == label
        own = weights[members, None]
        means[label] = (own * z[members]).sum(axis=0) / own.sum()
        apart = z[members] - means[label]
        scatter += (own * apart).T @ apart
    scatter /= weights.sum()
    even = np.eye(len(scatter)) * np.trace(scatter) / len(scatter)
    coefficients = np.linalg.solve((1 - shrink) * scatter + shrink * even, means.T).T
    return Discriminant(means, coefficients, -0.5 * (coefficients * means).sum(axis=1))


def fit_temperature(scores: Array, prior: Array, labels: Labels, weights: Array) -> float:
    """The factor by which scores of images that were not fitted to are as sure as they are right."""
    rows = np.arange(labels.size)

    def loss(factor: float) -> float:
        return -float(weights @ log_softmax(scores * factor + prior)[rows, labels])

    return float(min(_TEMPERATURES, key=loss))


def fit_weighing(
    evidence: Array, prior: Array, labels: Labels, weights: Array, ridge: float
) -> Array:
    """
    One weight per skill for its evidence (samples, skills, classes), added to the log prior.

    The ridge pulls towards `_FIRST_WEIGHT`. A weight below zero would call a skill a liar; it is
    cut off at zero.
    """
    design = evidence.swapaxes(1, 2)
    rows = np.arange(labels.size)

    def loss(candidate: Array) -> float:
        fit = weights @ log_softmax(design @ candidate + prior)[rows, labels]
        return float(0.5 * ridge * np.square(candidate - towards).sum() - fit)

    towards = np.full(evidence.shape[1], _FIRST_WEIGHT)
    theta = towards.copy()
    for _ in range(_STEPS):
        shares = np.exp(log_softmax(design @ theta + prior))
        mean = np.einsum("nc,ncp->np", shares, design)
        gradient = weights @ (mean - design[rows, labels]) + ridge * (theta - towards)
        centred = design - mean[:, None, :]
        hessian = np.einsum("n,nc,ncp,ncq->pq", weights, shares, centred, centred, optimize=True)
        step = np.linalg.solve(hessian + ridge * np.eye(theta.size), gradient)
        shrink = _backtrack(loss, theta, step)
        theta = theta - shrink * step
        if float(np.abs(shrink * step).max()) < _ENOUGH:
            break
    return np.asarray(np.maximum(theta, 0.0))


def _backtrack(loss: Callable[[Array], float], theta: Array, step: Array) -> float:
    """The longest of 1, 1/2, 1/4 … steps that does not make matters worse."""
    now, shrink = loss(theta), 1.0
    while loss(theta - shrink * step) > now and shrink > _ENOUGH:
        shrink /= 2
    return shrink

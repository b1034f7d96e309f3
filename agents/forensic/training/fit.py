"""Multinomial logistic regression with a ridge, by Newton's method: small, exact, deterministic."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 40
_ENOUGH = 1e-6
_BIAS_RIDGE = 1e-2
_CLIP = 4.0


@dataclass(frozen=True, slots=True)
class Fitted:
    mean: Array
    scale: Array
    coefficients: Array  # (classes, features)
    bias: Array

    def log_shares(self, x: Array) -> Array:
        return log_softmax(standardise(x, self.mean, self.scale) @ self.coefficients.T + self.bias)


def standardise(x: Array, mean: Array, scale: Array) -> Array:
    """Clipped, so that one absurd measurement cannot carry a verdict alone."""
    return np.clip((x - mean) / scale, -_CLIP, _CLIP)


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def balanced(labels: NDArray[np.int64], classes: int, strength: float) -> Array:
    """Weights that undo (strength 1) or keep (0) the classes' frequencies; their mean is one."""
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    weights = (labels.size / (classes * counts)) ** strength
    chosen = weights[labels]
    return np.asarray(chosen / chosen.mean())


def fit_softmax(
    x: Array, labels: NDArray[np.int64], weights: Array, classes: int, ridge: float
) -> Fitted:
    total = weights.sum()
    mean = (weights[:, None] * x).sum(axis=0) / total
    scale = np.sqrt((weights[:, None] * (x - mean) ** 2).sum(axis=0) / total) + 1e-6
    z = np.hstack([standardise(x, mean, scale), np.ones((len(x), 1))])
    theta = np.zeros((classes, z.shape[1]))
    penalty = np.full(z.shape[1], float(ridge))
    penalty[-1] = _BIAS_RIDGE
    problem = _Problem(z, np.eye(classes)[labels], weights, penalty)
    for _ in range(_STEPS):
        step = problem.newton_step(theta)
        shrink = 1.0
        while problem.loss(theta - shrink * step) > problem.loss(theta) and shrink > _ENOUGH:
            shrink /= 2
        theta = theta - shrink * step
        if float(np.abs(shrink * step).max()) < _ENOUGH:
            break
    return Fitted(mean, scale, theta[:, :-1], theta[:, -1])


@dataclass(frozen=True, slots=True)
class _Problem:
    z: Array
    wanted: Array
    weights: Array
    penalty: Array

    def loss(self, theta: Array) -> float:
        fit = self.weights @ (self.wanted * log_softmax(self.z @ theta.T)).sum(axis=1)
        return float(0.5 * (self.penalty * theta**2).sum() - fit)

    def newton_step(self, theta: Array) -> Array:
        shares = np.exp(log_softmax(self.z @ theta.T))
        gradient = ((shares - self.wanted) * self.weights[:, None]).T @ self.z
        gradient = gradient + theta * self.penalty
        classes, width = theta.shape
        hessian = np.diag(np.tile(self.penalty, classes))
        for a in range(classes):
            for b in range(classes):
                curve = self.weights * shares[:, a] * ((a == b) - shares[:, b])
                block = (self.z * curve[:, None]).T @ self.z
                hessian[a * width : (a + 1) * width, b * width : (b + 1) * width] += block
        return np.asarray(np.linalg.solve(hessian, gradient.ravel()).reshape(theta.shape))

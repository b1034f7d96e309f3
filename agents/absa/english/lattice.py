"""
The three-tag chain (outside, begin, inside) of the term tagger, in probabilities.

Forward and backward sums are scaled at every token, so that long sentences neither overflow nor
vanish. `inside` can follow only `begin` or `inside`.
"""

from dataclasses import dataclass
from math import exp

# Keeps exp() finite whatever the weights say.
_LIMIT = 30.0

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Transitions:
    """Weights of tag pairs; staying outside and leaving for it count 0."""

    outside_begin: float = 0.0
    begin_begin: float = 0.0
    begin_inside: float = 0.0
    inside_begin: float = 0.0
    inside_inside: float = 0.0


@dataclass(frozen=True, slots=True)
class Lattice:
    """`forward[t]` sums to one over the tags; `forward * backward` is the tag's probability."""

    forward: list[tuple[float, float, float]]
    backward: list[tuple[float, float, float]]
    scale: list[float]
    begin: list[float]
    inside: list[float]
    weights: tuple[float, float, float, float, float]

    def begin_probability(self, at: int) -> float:
        return self.forward[at][1] * self.backward[at][1]

    def inside_probability(self, at: int) -> float:
        return self.forward[at][2] * self.backward[at][2]

    def span_probability(self, first: int, end: int) -> float:
        """That exactly the tokens `first` … `end`-1 are a term."""
        _, _, begin_inside, _, inside_inside = self.weights
        total = self.forward[first][1]
        step = begin_inside
        for at in range(first + 1, end):
            total *= step * self.inside[at] / self.scale[at]
            step = inside_inside
        return total * self._leave(end, is_long=end - first > 1)

    def _leave(self, at: int, *, is_long: bool) -> float:
        if at >= len(self.scale):
            return 1.0
        _, begin_begin, _, inside_begin, _ = self.weights
        to_outside, to_begin, _ = self.backward[at]
        again = inside_begin if is_long else begin_begin
        return (to_outside + again * self.begin[at] * to_begin) / self.scale[at]


def lattice(emissions: list[Pair], transitions: Transitions) -> Lattice:
    """`emissions[t]` are the weights of begin and inside at token t; outside counts 0."""
    begin = [exp(max(-_LIMIT, min(_LIMIT, pair[0]))) for pair in emissions]
    inside = [exp(max(-_LIMIT, min(_LIMIT, pair[1]))) for pair in emissions]
    weights = (
        exp(transitions.outside_begin),
        exp(transitions.begin_begin),
        exp(transitions.begin_inside),
        exp(transitions.inside_begin),
        exp(transitions.inside_inside),
    )
    forward, scale = _forward(begin, inside, weights)
    backward = _backward(begin, inside, scale, weights)
    return Lattice(forward, backward, scale, begin, inside, weights)


def _forward(
    begin: list[float], inside: list[float], weights: tuple[float, float, float, float, float]
) -> tuple[list[tuple[float, float, float]], list[float]]:
    ob, bb, bi, ib, ii = weights
    forward: list[tuple[float, float, float]] = []
    scale: list[float] = []
    o, b, i = 1.0, 0.0, 0.0
    for emit_begin, emit_inside in zip(begin, inside, strict=True):
        to_o = o + b + i
        to_b = (ob * o + bb * b + ib * i) * emit_begin
        to_i = (bi * b + ii * i) * emit_inside
        total = to_o + to_b + to_i
        o, b, i = to_o / total, to_b / total, to_i / total
        forward.append((o, b, i))
        scale.append(total)
    return forward, scale


def _backward(
    begin: list[float],
    inside: list[float],
    scale: list[float],
    weights: tuple[float, float, float, float, float],
) -> list[tuple[float, float, float]]:
    ob, bb, bi, ib, ii = weights
    o, b, i = 1.0, 1.0, 1.0
    backward = [(o, b, i)]
    for at in range(len(scale) - 1, 0, -1):
        total = scale[at]
        next_b, next_i = begin[at] * b, inside[at] * i
        from_o = (o + ob * next_b) / total
        from_b = (o + bb * next_b + bi * next_i) / total
        from_i = (o + ib * next_b + ii * next_i) / total
        o, b, i = from_o, from_b, from_i
        backward.append((o, b, i))
    backward.reverse()
    return backward

"""
Traces that saving as JPEG leaves, and that a second save betrays.

Double quantisation makes the histograms of DCT coefficients uneven like a comb; the 8x8 grid shows
where blocks met; a ghost is a region that fits an earlier quality better than its surroundings do.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.image import STANDARD_LUMINANCE
from parley.agents.forensic.signal import BLOCK, Plane, block_mean

# Low frequencies carry enough coefficients for a histogram; (row, column) in the block.
_FREQUENCIES: Final = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (0, 3), (3, 0))
_REACH: Final = 60
_SAMPLE: Final = 4096
GHOST_QUALITIES: Final = (60, 70, 80, 90)
_FLOOR: Final = 1e-3


@dataclass(frozen=True, slots=True)
class CombTrace:
    """`strength` per frequency; `blocks` says how well each block fits the image's own comb."""

    strength: tuple[float, ...]
    blocks: Plane


def comb_trace(coefficients: Plane, table: tuple[int, ...]) -> CombTrace:
    """An empty table means lossless: then the comb, if any, is that of an earlier JPEG."""
    fit = np.zeros(coefficients.shape[:2], np.float32)
    strength = []
    for row, column in _FREQUENCIES:
        step = table[row * BLOCK + column] if table else 1
        bins = np.clip(np.rint(coefficients[..., row, column] / step), -_REACH, _REACH)
        index = bins.astype(np.int32) + _REACH
        strength.append(_comb_strength(_histogram(_sampled(index))))
        if strength[-1] > 0.15:  # noqa: PLR2004 - below, the unevenness is chance
            inner = (np.abs(bins) > 0) & (np.abs(bins) < _REACH)
            unevenness = _unevenness(_histogram(index.ravel()))
            fit += np.where(inner, np.clip(unevenness, -2, 2)[index], 0).astype(np.float32)
    return CombTrace(tuple(strength), fit)


def _sampled(index: NDArray[np.int32]) -> NDArray[np.int32]:
    """As many blocks from every image: chance makes a comb too, and a larger one of fewer blocks."""
    flat = index.ravel()
    return flat[:: max(1, flat.size // _SAMPLE)][:_SAMPLE]


def _histogram(index: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.bincount(index, minlength=2 * _REACH + 1).astype(np.float64) + 0.5


def _unevenness(histogram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of each bin over its smoothed surroundings."""
    window = np.hanning(13)[1:-1]
    padded = np.pad(np.log(histogram), 5, mode="edge")
    return np.asarray(np.log(histogram) - np.convolve(padded, window / window.sum(), mode="valid"))


def _comb_strength(histogram: NDArray[np.float64]) -> float:
    """Largest periodic component of the unevenness where the histogram is well filled."""
    centre = len(histogram) // 2
    weight = np.minimum(histogram / 20, 1.0)
    weight[centre - 1 : centre + 2] = 0  # the peak at zero is no comb
    spectrum = np.abs(np.fft.rfft(_unevenness(histogram) * weight, 128)) / (weight.sum() + 4)
    return float(spectrum[8:].max())


@dataclass(frozen=True, slots=True)
class GridTrace:
    """Blockiness at the file's own grid and at the strongest other offset, in log ratio."""

    own: float
    foreign: float
    foreign_tiles: float


def grid_trace(plane: Plane) -> GridTrace:
    across = _phase_energy(np.abs(np.diff(plane, 2, axis=1)).mean(axis=0))
    down = _phase_energy(np.abs(np.diff(plane, 2, axis=0)).mean(axis=1))
    own = float(across[7] + across[6] + down[7] + down[6]) / 4
    foreign = max(float(np.max(across[1:6])), float(np.max(down[1:6])))
    return GridTrace(own, foreign, _foreign_tiles(plane))


def _phase_energy(profile: np.ndarray) -> np.ndarray:
    cut = profile[: profile.size // BLOCK * BLOCK].reshape(-1, BLOCK)
    energy = np.median(cut, axis=0)
    return np.asarray(np.log((energy + _FLOOR) / (np.median(energy) + _FLOOR)))


def _foreign_tiles(plane: Plane, tile: int = 64) -> float:
    """Share of tiles whose strongest grid offset is not the file's."""
    second = np.abs(np.diff(plane, 2, axis=1))
    rows, columns = second.shape[0] // tile, second.shape[1] // tile
    cut = second[: rows * tile, : columns * tile].reshape(rows, tile, columns, tile // BLOCK, BLOCK)
    phases = np.minimum(cut, 30).mean(axis=(1, 3))
    ratio = phases / (np.median(phases, axis=2, keepdims=True) + _FLOOR)
    strongest = ratio[..., 1:6].max(axis=2)
    return float(np.mean(strongest > np.maximum(1.25, ratio[..., 6:].max(axis=2))))


def ghost_maps(coefficients: Plane, tile: int) -> Plane:
    """Log requantisation error per quality and tile of `tile` blocks: (quality, rows, columns)."""
    low = coefficients[..., :4, :4]
    standard = np.array(STANDARD_LUMINANCE, np.float32).reshape(BLOCK, BLOCK)[:4, :4]
    maps = []
    for quality in GHOST_QUALITIES:
        scale = 5000 / quality if quality < 50 else 200 - 2 * quality  # noqa: PLR2004
        step = np.maximum(np.rint(standard * scale / 100), 1).astype(np.float32)
        error = (low - np.rint(low / step) * step) / step
        maps.append(np.log(block_mean((error * error).mean(axis=(2, 3)), tile) + _FLOOR))
    return np.stack(maps)

"""
Statistics of fine texture that survive re-saving better than single traces do.

All are taken from the middle of a picture, so that they say nothing of its size.
"""

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.signal import BLOCK, Plane, block_dct, block_mean, correlation

_SIDE: Final = 576
_TRUNCATED: Final = 2
_SCALES: Final = 4
_PAIRS_OF_FREQUENCIES: Final = tuple(
    (i, j) for i in range(BLOCK) for j in range(i, BLOCK) if i + j > 0
)
_SQUARE: Final = np.array([[-1, 2, -1], [2, -4, 2], [-1, 2, -1]], np.float32) / 4
# First, second and third differences along a row, and two squares: what predicts a pixel badly.
_PREDICTORS: Final = (
    np.array([[0, -1, 1]], np.float32),
    np.array([[1, -2, 1]], np.float32) / 2,
    np.array([[0, 1, -3, 3, -1]], np.float32) / 3,
    _SQUARE,
    np.array(
        [[-1, 2, -2, 2, -1], [2, -6, 8, -6, 2], [-2, 8, -12, 8, -2], [2, -6, 8, -6, 2],
         [-1, 2, -2, 2, -1]], np.float32,
    ) / 12,
)  # fmt: skip


def middle(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """On the 8-pixel grid, so that JPEG blocks stay whole."""
    top, left = (max(0, side - _SIDE) // (2 * BLOCK) * BLOCK for side in pixels.shape[:2])
    return np.ascontiguousarray(pixels[top : top + _SIDE, left : left + _SIDE])


def dct_spread(y: Plane) -> list[float]:
    """Size and tails of the coefficients of each frequency of the 8x8 DCT, rows as columns."""
    size = np.abs(block_dct(y)).reshape(-1, BLOCK, BLOCK)
    mean = size.mean(axis=0) + 0.05
    tails = np.log((np.square(size).mean(axis=0) + 0.01) / mean**2)
    spread = np.log(mean)
    spread -= (spread[0, 1] + spread[1, 0]) / 2
    return [
        float(values[i, j] + values[j, i]) / 2
        for values in (spread, tails)
        for i, j in _PAIRS_OF_FREQUENCIES
    ]


def residual_pairs(y: Plane) -> list[float]:
    """Which residuals of half the picture stand side by side, as they are and over their median."""
    half = block_mean(y, 2)
    found: list[float] = []
    for predictor in _PREDICTORS:
        views = [predictor, predictor.T] if predictor.shape[0] == 1 else [predictor]
        left = [np.asarray(cv2.filter2D(half, cv2.CV_32F, view), np.float32) for view in views]
        for unit in (None, 0.25):
            scaled = [r if unit is None else r / (np.median(np.abs(r)) + unit) for r in left]
            found += list(np.mean([_pairs(one) for one in scaled], axis=0))
    return [float(value) for value in found]


def _pairs(residual: Plane) -> list[float]:
    """Log shares of neighbouring truncated values; those that mirror each other are merged."""
    width = 2 * _TRUNCATED + 1
    level = np.clip(np.rint(residual), -_TRUNCATED, _TRUNCATED).astype(np.int32) + _TRUNCATED
    shares = np.zeros((width, width))
    for first, second in ((level[:, 1:], level[:, :-1]), (level[1:], level[:-1])):
        pairs = (first * width + second).ravel()
        shares += np.bincount(pairs, minlength=width * width).reshape(width, width)
    shares /= shares.sum()
    shares = (shares + shares.T + shares[::-1, ::-1] + shares.T[::-1, ::-1]) / 4
    kept = [(i, j) for i in range(width) for j in range(i, width) if i + j < width]
    return [float(np.log(shares[i, j] + 1e-4)) for i, j in kept]


def chroma_grain(rgb: NDArray[np.uint8]) -> list[float]:
    """The fine detail of the colour differences at four scales, beside that of the light."""
    red, green, blue = cv2.split(rgb.astype(np.float32))
    y = 0.299 * red + 0.587 * green + 0.114 * blue
    grain = [_grain(np.asarray(plane, np.float32)) for plane in (red, green, blue)]
    found = [_alike(grain[0], grain[1]), _alike(grain[1], grain[2]), _alike(grain[0], grain[2])]
    figures = []
    for difference in (0.564 * (blue - y), 0.713 * (red - y)):
        plane, light = np.asarray(difference, np.float32), np.asarray(y, np.float32)
        for _ in range(_SCALES):
            fine, beside = _grain(plane), _grain(light)
            size, of_light = float(np.abs(fine).mean()), float(np.abs(beside).mean())
            ratio = np.log((size + 0.02) / (of_light + 0.02))
            figures += [float(np.log(size + 0.02)), float(ratio), _alike(fine, beside)]
            plane, light = block_mean(plane, 2), block_mean(light, 2)
    of_blue, of_red = np.array(figures).reshape(2, -1)
    return [*found, *map(float, (of_blue + of_red) / 2), *map(float, of_blue - of_red)]


def _grain(plane: Plane) -> Plane:
    return np.asarray(cv2.filter2D(plane, cv2.CV_32F, _SQUARE), np.float32)


def _alike(a: Plane, b: Plane) -> float:
    """Correlation that single strong edges do not rule."""
    most = np.float32(20)
    return correlation(np.clip(a, -most, most), np.clip(b, -most, most))


def colour_range(rgb: NDArray[np.uint8]) -> list[float]:
    """How hue, saturation and brightness are spread, and how rough the histogram of green is."""
    small = rgb[::2, ::2].astype(np.float32) / 255
    hue, saturation, value = cv2.split(cv2.cvtColor(small, cv2.COLOR_RGB2HSV))
    light, a, b = cv2.split(cv2.cvtColor(small, cv2.COLOR_RGB2Lab))
    chroma = np.hypot(a, b)
    hues = np.histogram(hue[saturation > 0.15], bins=12, range=(0, 360))[0] + 1.0  # noqa: PLR2004
    shares = hues / hues.sum()
    green = np.bincount(rgb[..., 1].ravel(), minlength=256) / (rgb.size / 3)
    return [
        *map(float, np.quantile(saturation, (0.05, 0.25, 0.5, 0.75, 0.95))),
        *map(float, np.quantile(value, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99))),
        float(a.mean()), float(b.mean()), correlation(np.asarray(a), np.asarray(b)),
        *(float(np.log(one.std() + 0.1)) for one in (light, a, b)),
        float(np.log(chroma.mean() + 0.1)), float(np.log(np.quantile(chroma, 0.95) + 0.1)),
        float(np.mean(chroma < 2)), float(-(shares * np.log(shares)).sum()),  # noqa: PLR2004
        float(np.abs(np.diff(green)).sum()), float(green[250:].sum()), float(green[:6].sum()),
    ]  # fmt: skip


def activity(y: Plane) -> list[float]:
    """How much happens in blocks of 8 and of 32 pixels, and how alike neighbouring blocks are."""
    found: list[float] = []
    for size in (8, 32):
        mean = block_mean(y, size)
        variance = np.maximum(block_mean(y * y, size) - mean * mean, 0)
        log = np.log(np.sqrt(variance) + 0.3)
        found += [float(q) for q in np.quantile(log, (0.05, 0.25, 0.5, 0.75, 0.95))]
        found += [
            float(log.std()),
            correlation(log[1:], log[:-1]),
            correlation(log[:, 1:], log[:, :-1]),
        ]
    return found

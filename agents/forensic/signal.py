"""Small pieces of signal processing the skills share. Arrays are float32, rows first."""

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]

BLOCK: Final = 8
_TINY: Final = 1e-6


def luma(rgb: NDArray[np.uint8]) -> Plane:
    """The Y of JPEG, so that its blocks are those that were quantised."""
    return np.asarray(cv2.cvtColor(rgb.astype(np.float32), cv2.COLOR_RGB2GRAY), np.float32)


def luma_and_chroma(rgb: NDArray[np.uint8]) -> tuple[Plane, Plane, Plane]:
    """Y, Cb and Cr of JPEG; the differences are centred on zero."""
    y, red, blue = cv2.split(cv2.cvtColor(rgb.astype(np.float32), cv2.COLOR_RGB2YCrCb))
    # For floats OpenCV puts the neutral value at one half.
    return (
        np.asarray(y, np.float32),
        np.asarray(blue, np.float32) - np.float32(0.5),
        np.asarray(red, np.float32) - np.float32(0.5),
    )


def whole_blocks(plane: Plane) -> Plane:
    """Cut to whole blocks: (rows, columns, 8, 8)."""
    rows, columns = plane.shape[0] // BLOCK, plane.shape[1] // BLOCK
    cut = plane[: rows * BLOCK, : columns * BLOCK]
    return cut.reshape(rows, BLOCK, columns, BLOCK).swapaxes(1, 2)


def block_mean(plane: Plane, size: int) -> Plane:
    """Mean of each size x size block; an incomplete border is left out."""
    rows, columns = plane.shape[0] // size, plane.shape[1] // size
    cut = np.ascontiguousarray(plane[: rows * size, : columns * size])
    return np.asarray(cv2.resize(cut, (columns, rows), interpolation=cv2.INTER_AREA), np.float32)


def _dct_matrix() -> Plane:
    k, n = np.mgrid[:BLOCK, :BLOCK]
    matrix = np.sqrt(2 / BLOCK) * np.cos(np.pi * (2 * n + 1) * k / (2 * BLOCK))
    matrix[0] /= np.sqrt(2)
    return np.asarray(matrix, np.float32)


_DCT = _dct_matrix()


def block_dct(plane: Plane) -> Plane:
    """Orthonormal 8x8 DCT of every block of a plane in 0..255, level shifted as JPEG does."""
    return np.asarray(_DCT @ (whole_blocks(plane) - np.float32(128)) @ _DCT.T, np.float32)


def residual(plane: Plane) -> Plane:
    """What a 3x3 high-pass filter leaves of a plane: noise, texture and edges without the scene."""
    kernel = np.array([[-1, 2, -1], [2, -4, 2], [-1, 2, -1]], np.float32) / 4
    return np.asarray(cv2.filter2D(plane, cv2.CV_32F, kernel), np.float32)


def robust_sigma(values: Plane) -> float:
    """Standard deviation a normal distribution of this median magnitude would have."""
    return float(np.median(np.abs(values)) / 0.6745)


def log_ratio(a: float, b: float) -> float:
    return float(np.log((a + _TINY) / (b + _TINY)))


def kurtosis(values: Plane) -> float:
    square = np.square(values - values.mean()).ravel()
    variance = float(square.mean())
    return float((np.dot(square, square) / square.size + _TINY) / (variance**2 + _TINY))


def correlation(a: Plane, b: Plane) -> float:
    x, y = (a - a.mean()).ravel(), (b - b.mean()).ravel()
    return float(np.dot(x, y) / np.sqrt(float(np.dot(x, x)) * float(np.dot(y, y)) + _TINY))


def tile_spectrum(plane: Plane, size: int = 256) -> Plane:
    """Power spectrum averaged over Hann-windowed tiles spread over the plane; DC in the corner."""
    size = min(size, *plane.shape)
    window = np.outer(np.hanning(size), np.hanning(size)).astype(np.float32)
    total = np.zeros((size, size // 2 + 1), np.float32)
    count = 0
    for top in _starts(plane.shape[0], size):
        for left in _starts(plane.shape[1], size):
            tile = plane[top : top + size, left : left + size]
            waves = np.fft.rfft2((tile - tile.mean()) * window)
            total += np.square(waves.real) + np.square(waves.imag)
            count += 1
    return (total / (count * float(np.sum(window**2)))).astype(np.float32)


def _starts(length: int, size: int) -> list[int]:
    steps = max(1, length // size)
    return [int(s) for s in np.linspace(0, length - size, steps)]


@lru_cache(maxsize=8)
def frequency_grid(size: int) -> tuple[Plane, Plane]:
    """Vertical and horizontal frequency of a half spectrum, in cycles per pixel."""
    vertical = np.fft.fftfreq(size).astype(np.float32)[:, None]
    horizontal = np.fft.rfftfreq(size).astype(np.float32)[None, :]
    rows, columns = np.broadcast_arrays(vertical, horizontal)
    return rows.copy(), columns.copy()


def residual_autocorrelation(power: Plane, lags: tuple[int, ...]) -> list[float]:
    """Autocorrelation of `residual`, row and column lags averaged, from the plane's own spectrum."""
    size = power.shape[0]
    vertical, horizontal = frequency_grid(size)
    gain = (1 - np.cos(2 * np.pi * vertical)) * (1 - np.cos(2 * np.pi * horizontal))
    shifted = np.fft.irfft2(power * gain**2, (size, size))
    return [
        float((shifted[lag, 0] + shifted[0, lag]) / (2 * shifted[0, 0] + _TINY)) for lag in lags
    ]

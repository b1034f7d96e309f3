"""
Copy-move: the same pixels twice in one image.

Equal blocks are found by a hash of every window (exact copies in lossless images); copies that were
compressed or scaled are found by matching keypoints with one another.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.signal import Plane

WINDOW: Final = 10
# Odd numbers are invertible modulo 2^64, so that a window's hash forgets where it stood.
_ROW_BASE: Final = 0x9E3779B97F4A7C15
_COLUMN_BASE: Final = 0xC2B2AE3D27D4EB4F
_WORD: Final = 1 << 64
_MIN_DISTANCE: Final = 24
_MIN_ACTIVITY: Final = 3.0
_KEYPOINTS: Final = 1200


@dataclass(frozen=True, slots=True)
class Copies:
    """`count` windows or keypoints agree on one displacement; `mask` marks both ends."""

    count: int
    mask: NDArray[np.bool_]


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    values, value = [], 1
    for _ in range(count):
        values.append(value)
        value = value * base % _WORD
    return np.array(values, np.uint64)


def _window_hashes(rgb: NDArray[np.uint8]) -> NDArray[np.uint64]:
    height, width = rgb.shape[:2]
    value = rgb[..., 0].astype(np.uint64)
    value = value | rgb[..., 1].astype(np.uint64) << np.uint64(8)
    value = value | rgb[..., 2].astype(np.uint64) << np.uint64(16)
    value *= _powers(_ROW_BASE, height)[:, None]
    value *= _powers(_COLUMN_BASE, width)[None, :]
    total = np.zeros((height + 1, width + 1), np.uint64)
    np.cumsum(value, axis=0, out=value)
    np.cumsum(value, axis=1, out=total[1:, 1:])
    n = WINDOW
    sums = total[n:, n:] - total[:-n, n:] - total[n:, :-n] + total[:-n, :-n]
    sums *= _powers(pow(_ROW_BASE, -1, _WORD), height - n + 1)[:, None]
    sums *= _powers(pow(_COLUMN_BASE, -1, _WORD), width - n + 1)[None, :]
    return sums


def exact_copies(rgb: NDArray[np.uint8], y: Plane) -> Copies:
    """Windows of 10x10 identical pixels that share one displacement, flat areas left out."""
    hashes = _window_hashes(rgb)
    # The sampling is by content, so both copies of a window are kept or dropped together.
    mixed = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_ROW_BASE)
    activity = np.asarray(cv2.blur(np.abs(cv2.Laplacian(y, cv2.CV_32F)), (WINDOW, WINDOW)))
    half = WINDOW // 2
    lively = activity[half : half + hashes.shape[0], half : half + hashes.shape[1]]
    chosen = np.flatnonzero(((mixed >> np.uint64(61)) == 0) & (lively > _MIN_ACTIVITY))
    keys = hashes.ravel()[chosen]
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], chosen[order]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    first, second = places[same], places[same + 1]
    width = hashes.shape[1]
    return _agreeing(
        np.stack([first // width, first % width], 1),
        np.stack([second // width, second % width], 1),
        y.shape,
        bin_size=1,
    )


def _agreeing(
    first: NDArray[np.int64], second: NDArray[np.int64], shape: tuple[int, ...], bin_size: int
) -> Copies:
    mask = np.zeros(shape, bool)
    shift = second - first
    shift = np.where((shift[:, :1] < 0) | ((shift[:, :1] == 0) & (shift[:, 1:] < 0)), -shift, shift)
    far = np.hypot(shift[:, 0], shift[:, 1]) > _MIN_DISTANCE
    if not far.any():
        return Copies(0, mask)
    first, second, shift = first[far], second[far], np.rint(shift[far] / bin_size)
    _, inverse, counts = np.unique(shift, axis=0, return_inverse=True, return_counts=True)
    best = inverse.ravel() == int(counts.argmax())
    for row, column in np.concatenate([first[best], second[best]]):
        mask[row : row + WINDOW, column : column + WINDOW] = True
    return Copies(int(counts.max()), mask)


def keypoint_copies(y: Plane) -> Copies:
    """Keypoints that look alike, lie apart and agree on one displacement (to 6 pixels)."""
    empty = Copies(0, np.zeros(y.shape, bool))
    # SIFT doubles its input first; at half size it costs a quarter and sees the same detail.
    half = np.clip(cv2.resize(y, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), 0, 255)
    detector = cv2.SIFT.create(nfeatures=_KEYPOINTS)
    points, described = detector.detectAndCompute(half.astype(np.uint8), None)
    if len(points) < 8:  # noqa: PLR2004
        return empty
    d = described / (np.linalg.norm(described, axis=1, keepdims=True) + 1e-6)
    likeness = d @ d.T
    at = 2 * np.array([p.pt for p in points], np.float32)[:, ::-1]
    row, column = at[:, 0], at[:, 1]
    near = np.abs(row[:, None] - row) + np.abs(column[:, None] - column) < _MIN_DISTANCE
    likeness[near] = -1
    top = np.argpartition(-likeness, 2, axis=1)[:, :2]
    top = np.take_along_axis(top, np.argsort(-np.take_along_axis(likeness, top, 1), 1), 1)
    rows = np.arange(len(points))
    best, runner_up = likeness[rows, top[:, 0]], likeness[rows, top[:, 1]]
    # Distances on the unit sphere; a true copy is far closer than the next candidate.
    match = (best > 0.95) & (1 - best < 0.5 * (1 - runner_up))  # noqa: PLR2004
    if not match.any():
        return empty
    first, second = at[match], at[top[match, 0]]
    found = _agreeing(first.astype(np.int64), second.astype(np.int64), y.shape, bin_size=6)
    grown = cv2.dilate(found.mask.astype(np.uint8), np.ones((25, 25), np.uint8))
    return Copies(found.count, np.asarray(grown, bool))

"""
Forgeries of photographs, with the pixels that were changed: what Spatial learns manipulation from.

Every forgery is drawn from a seed, so that the same photographs give the same forgeries.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from parley.agents.forensic.specimen import Mask, Pixels, jpeg, opened, png

# Of the shorter side, and of the picture's area.
_LEAST_RADIUS, _MOST_RADIUS = 0.10, 0.28
_FEATHER_PIXELS: Final = 1.5
_QUALITIES: Final = (70, 80, 88, 92, 95)
_LOSSLESS_SHARE: Final = 0.35


@dataclass(frozen=True, slots=True)
class Forgery:
    kind: str
    data: bytes
    mask: Mask


def _blob(rng: np.random.Generator, shape: tuple[int, ...]) -> Mask:
    """A closed curve of four to nine corners, rounded: the outline of some object."""
    height, width = shape[:2]
    radius = rng.uniform(_LEAST_RADIUS, _MOST_RADIUS) * min(height, width)
    centre = rng.uniform(radius, height - radius), rng.uniform(radius, width - radius)
    corners = int(rng.integers(4, 10))
    angles = (np.arange(corners) + rng.uniform(-0.3, 0.3, corners)) * 2 * np.pi / corners
    reach = radius * rng.uniform(0.55, 1.0, corners)
    points = np.stack([centre[1] + reach * np.cos(angles), centre[0] + reach * np.sin(angles)], 1)
    canvas = np.zeros((height, width), np.uint8)
    cv2.fillPoly(canvas, [points.astype(np.int32)], 255)
    soft = cv2.GaussianBlur(canvas, (0, 0), max(1.0, radius / 10))
    return np.asarray(soft > 127)  # noqa: PLR2004


def _pasted(base: Pixels, patch: Pixels, mask: Mask, feather: float) -> Pixels:
    cover = mask.astype(np.float32)
    if feather > 0:
        cover = np.asarray(cv2.GaussianBlur(cover, (0, 0), feather), np.float32)
    mixed = base * (1 - cover[..., None]) + patch * cover[..., None]
    return np.asarray(np.rint(mixed), np.uint8)


def _scaled(rng: np.random.Generator, pixels: Pixels) -> Pixels:
    factor = float(rng.choice([0.7, 0.85, 1.0, 1.0, 1.2, 1.5]))
    return np.asarray(cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC))


def _filling(pixels: Pixels, shape: tuple[int, ...]) -> Pixels:
    """At least as large as `shape`, mirrored at its edges, and cut to it."""
    down, across = max(0, shape[0] - pixels.shape[0]), max(0, shape[1] - pixels.shape[1])
    larger = cv2.copyMakeBorder(pixels, 0, down, 0, across, cv2.BORDER_REFLECT_101)
    return np.asarray(larger[: shape[0], : shape[1]], np.uint8)


def _splice(rng: np.random.Generator, base: Pixels, donor: Pixels) -> tuple[Pixels, Mask]:
    mask = _blob(rng, base.shape)
    if rng.random() < 0.7:  # noqa: PLR2004 - a donor has mostly been saved before, and differently
        donor = opened(jpeg(donor, int(rng.choice(_QUALITIES))))
    patch = _filling(_scaled(rng, donor), base.shape)
    shift = tuple(int(rng.integers(0, side)) for side in base.shape[:2])
    patch = np.roll(patch, shift, (0, 1))
    return _pasted(base, patch, mask, rng.choice([0, 0.7, _FEATHER_PIXELS])), mask


def _copy_move(rng: np.random.Generator, base: Pixels, _donor: Pixels) -> tuple[Pixels, Mask]:
    """Both ends are in the mask."""
    source = _blob(rng, base.shape)
    rows, columns = np.nonzero(source)
    down = int(rng.integers(-rows.min(), base.shape[0] - rows.max()))
    across = int(rng.integers(-columns.min(), base.shape[1] - columns.max()))
    move = np.array([[1, 0, across], [0, 1, down]], np.float32)
    size = base.shape[1], base.shape[0]
    target = np.asarray(cv2.warpAffine(source.astype(np.uint8), move, size) > 0)
    moved = np.asarray(cv2.warpAffine(base, move, size), np.uint8)
    return _pasted(base, moved, target, rng.choice([0, _FEATHER_PIXELS])), source | target


def _removal(rng: np.random.Generator, base: Pixels, _donor: Pixels) -> tuple[Pixels, Mask]:
    mask = _blob(rng, base.shape)
    bgr = np.ascontiguousarray(base[..., ::-1])
    method = int(rng.choice([cv2.INPAINT_TELEA, cv2.INPAINT_NS]))
    filled = cv2.inpaint(bgr, mask.astype(np.uint8), 5, method)
    return np.ascontiguousarray(filled[..., ::-1], np.uint8), mask


def _retouch(rng: np.random.Generator, base: Pixels, _donor: Pixels) -> tuple[Pixels, Mask]:
    """Smoothed, sharpened, or grained anew."""
    mask = _blob(rng, base.shape)
    smooth = cv2.bilateralFilter(base, 7, 40, 5)
    blurred = cv2.GaussianBlur(base, (0, 0), 1.6)
    changed = (
        smooth,
        cv2.addWeighted(base, 2.0, blurred, -1.0, 0),
        np.clip(smooth + rng.normal(0, 6, base.shape), 0, 255),
        blurred,
    )[int(rng.integers(0, 4))]
    return _pasted(base, np.asarray(changed, np.uint8), mask, _FEATHER_PIXELS), mask


_MAKERS: Final[dict[str, Callable[[np.random.Generator, Pixels, Pixels], tuple[Pixels, Mask]]]] = {
    "splice": _splice,
    "copymove": _copy_move,
    "removal": _removal,
    "retouch": _retouch,
}


def forge(name: str, base: Pixels, donors: Sequence[Pixels]) -> Forgery:
    """One forgery, its kind and its place drawn from `name`."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kind = str(rng.choice(list(_MAKERS), p=[0.4, 0.25, 0.2, 0.15]))
    donor = donors[int(rng.integers(0, len(donors)))]
    pixels, mask = _MAKERS[kind](rng, base, donor)
    lossless = rng.random() < _LOSSLESS_SHARE
    data = png(pixels) if lossless else jpeg(pixels, int(rng.choice(_QUALITIES)))
    return Forgery(kind, data, mask)

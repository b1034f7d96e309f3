"""Evidence as pictures, each a PNG: what an agent saw, for people who want to see it too."""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.image import Picture
from parley.agents.forensic.regions import TILE
from parley.agents.forensic.signal import Plane, luma, residual, tile_spectrum
from parley.agents.forensic.spatial import SpatialMaps, analyse_spatial
from parley.bus.contracts.verdicts.content import Region

_LONGEST_SIDE: Final = 720
_RESAVE_QUALITY: Final = 90
_BOX_COLOUR: Final = (40, 40, 255)  # BGR
_MASK_COLOUR: Final = np.array([60, 60, 255], np.float32)


@dataclass(frozen=True, slots=True)
class Drawing:
    """`name` is fit for a file; `caption` tells a reader what to look for."""

    name: str
    title: str
    caption: str
    png: bytes


def draw_all(picture: Picture) -> tuple[Drawing, ...]:
    """Drawn from the image again: the debate carries measurements and boxes, not pictures."""
    spatial = analyse_spatial(picture)
    regions = spatial.findings.regions
    found = (
        "Tinted tiles differ from the rest in noise, sharpness or compression history; boxes mark the largest."
        if regions
        else "No region stands out."
    )
    return (
        Drawing("regions", "Suspect regions", found, overlay_png(picture, spatial.maps, regions)),
        Drawing(
            "noise",
            "Noise residual",
            "The grain of the image, amplified. Pasted or retouched material has a different grain.",
            noise_png(picture),
        ),
        Drawing(
            "error-level",
            "Error level",
            "What saving it once more as JPEG would change. It illustrates; alone it proves nothing.",
            error_level_png(picture),
        ),
        Drawing(
            "spectrum",
            "Frequency spectrum",
            "Low frequencies in the middle. Bright dots away from the axes are left by resizing or by a generator.",
            spectrum_png(picture),
        ),
    )


def spectrum_png(picture: Picture) -> bytes:
    """Log power by frequency, zero in the middle; a generator's grid shows as bright dots."""
    half = np.log(tile_spectrum(luma(picture.rgb)) + 1e-4)
    size = half.shape[0]
    # A real image's spectrum is symmetric: the missing half is the other one, turned by 180 degrees.
    mirrored = np.roll(half[::-1, 1 : size - half.shape[1] + 1][:, ::-1], 1, axis=0)
    full = np.fft.fftshift(np.hstack([half, mirrored]))
    return _coloured(_stretched(full), scale_to=2 * size)


def noise_png(picture: Picture) -> bytes:
    """The noise residual, amplified; pasted material has a different grain."""
    grain = np.abs(residual(luma(picture.rgb)))
    smooth = np.asarray(cv2.blur(grain, (5, 5)), np.float32)
    return _coloured(_stretched(np.log(smooth + 0.2)), scale_to=None)


def error_level_png(picture: Picture) -> bytes:
    """What one more save as JPEG would change. An illustration: it proves nothing by itself."""
    bgr = cv2.cvtColor(picture.rgb, cv2.COLOR_RGB2BGR)
    _, encoded = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, _RESAVE_QUALITY])
    again = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
    change = cv2.absdiff(bgr, np.asarray(again, np.uint8)).max(axis=2).astype(np.float32)
    return _coloured(_stretched(np.asarray(cv2.blur(change, (5, 5)), np.float32)), scale_to=None)


def overlay_png(picture: Picture, maps: SpatialMaps, regions: tuple[Region, ...]) -> bytes:
    """The analysed crop with suspect tiles tinted and the regions boxed."""
    canvas = cv2.cvtColor(picture.rgb, cv2.COLOR_RGB2BGR)
    rows, columns = maps.mask.shape
    mask = cv2.resize(
        maps.mask.astype(np.uint8), (columns * TILE, rows * TILE), interpolation=cv2.INTER_NEAREST
    )
    tinted = canvas[: rows * TILE, : columns * TILE][mask > 0]
    canvas[: rows * TILE, : columns * TILE][mask > 0] = (0.6 * tinted + 0.4 * _MASK_COLOUR).astype(
        np.uint8
    )
    for region in regions:
        corner = (region.x - picture.left, region.y - picture.top)
        opposite = (corner[0] + region.width, corner[1] + region.height)
        cv2.rectangle(canvas, corner, opposite, _BOX_COLOUR, 3)
    return _encoded(_fitted(np.asarray(canvas, np.uint8)))


def _stretched(values: Plane) -> NDArray[np.uint8]:
    low, high = np.quantile(values, [0.01, 0.995])
    return np.asarray(np.clip(255 * (values - low) / (high - low + 1e-6), 0, 255), np.uint8)


def _coloured(grey: NDArray[np.uint8], scale_to: int | None) -> bytes:
    if scale_to is not None:
        grey = np.asarray(
            cv2.resize(grey, (scale_to, scale_to), interpolation=cv2.INTER_NEAREST), np.uint8
        )
    coloured = cv2.applyColorMap(grey, cv2.COLORMAP_VIRIDIS)
    return _encoded(_fitted(np.asarray(coloured, np.uint8)))


def _fitted(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    scale = _LONGEST_SIDE / max(image.shape[:2])
    if scale >= 1:
        return image
    return np.asarray(
        cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8
    )


def _encoded(image: NDArray[np.uint8]) -> bytes:
    _, encoded = cv2.imencode(".png", image)
    return encoded.tobytes()

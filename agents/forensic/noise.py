"""
Noise: does the fine grain of an image look like that of a sensor?

A sensor's noise grows with brightness, is interpolated on a colour-filter lattice and is similar in
all regions of one exposure. Generators and editors imitate none of this on purpose.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.evidence import Findings, Measurement, Skill
from parley.agents.forensic.image import Picture
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.prnu import MATCH_NEEDED, fingerprint, peak_to_energy
from parley.agents.forensic.regions import TILE, boxes
from parley.agents.forensic.signal import (
    Plane,
    block_mean,
    correlation,
    kurtosis,
    log_ratio,
    luma,
    residual,
    robust_sigma,
)
from parley.agents.forensic.texture import chroma_grain, colour_range, middle, residual_pairs
from parley.bus.contracts.verdicts.content import Region

_COOCCURRENCE_LEVELS = 2
_FOREIGN_NOISE = 2.5
_LIMIT = "denoising and strong compression remove sensor noise, so its absence is no proof"
_NO_REFERENCES = (
    "without reference photographs of the camera a sensor fingerprint cannot be matched"
)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Per 16x16 tile: residual energy, scene texture and brightness."""

    sigma: Plane
    texture: Plane
    brightness: Plane

    @property
    def smooth(self) -> np.ndarray:
        """The quietest 30 % of tiles that are neither clipped nor flat."""
        usable = (self.brightness > 10) & (self.brightness < 245)  # noqa: PLR2004
        if not usable.any():
            return np.ones_like(usable)
        return np.asarray(usable & (self.texture <= np.quantile(self.texture[usable], 0.3)))


def tiles(plane: Plane, noise: Plane) -> Tiles:
    base = np.asarray(cv2.blur(plane, (3, 3)), np.float32)
    mean = block_mean(base, TILE)
    texture = np.sqrt(np.maximum(block_mean(base * base, TILE) - mean * mean, 0))
    return Tiles(np.sqrt(block_mean(noise * noise, TILE)), texture, mean)


def _level_function(t: Tiles) -> tuple[float, float, float]:
    """Noise over brightness in smooth tiles: median, slope per 100 grey levels, scatter (log)."""
    smooth = t.smooth
    sigma, level = np.log(t.sigma[smooth] + 0.05), t.brightness[smooth] / 100
    if sigma.size < 8 or float(np.ptp(level)) < 0.05:  # noqa: PLR2004
        return float(np.median(sigma)), 0.0, 0.0
    slope, offset = np.polyfit(level, sigma, 1)
    return float(np.median(sigma)), float(slope), float(np.std(sigma - slope * level - offset))


def noise_map(t: Tiles) -> Plane:
    """How far each tile's noise departs from what its texture predicts, in robust deviations."""
    x, y = np.log(t.texture + 0.5), np.log(t.sigma + 0.05)
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / (np.sum((x - x.mean()) ** 2) + 1e-3))
    rest = y - y.mean() - slope * (x - x.mean())
    rest -= np.median(rest)
    return np.asarray(rest / (robust_sigma(rest) + 1e-3), np.float32)


def _colour_filter_trace(green: Plane) -> tuple[float, float]:
    """Difference of prediction error between the two quincunx lattices, and its spectral peak."""
    kernel = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], np.float32) / 4
    error = np.abs(cv2.filter2D(green, cv2.CV_32F, kernel))
    rows, columns = error.shape[0] // 2 * 2, error.shape[1] // 2 * 2
    e = error[:rows, :columns]
    a = float(e[::2, ::2].mean() + e[1::2, 1::2].mean())
    b = float(e[::2, 1::2].mean() + e[1::2, ::2].mean())
    signs = np.asarray(block_mean(e * _quincunx(rows, columns), 32))
    consistent = float(np.abs(signs.mean()) / (signs.std() + 1e-3))
    return abs(log_ratio(a, b)), consistent


def _quincunx(rows: int, columns: int) -> Plane:
    row, column = np.ogrid[:rows, :columns]
    return (1 - 2 * ((row + column) % 2)).astype(np.float32)


def _cooccurrence(plane: Plane) -> list[float]:
    """Shares of neighbouring second differences, quantised; symmetric pairs are merged."""
    levels = _COOCCURRENCE_LEVELS
    width = 2 * levels + 1
    histogram = np.zeros((width, width))
    for view in (plane, plane.T):
        second = view[:, 2:] - 2 * view[:, 1:-1] + view[:, :-2]
        quantised = np.clip(np.rint(second / 2), -levels, levels).astype(np.int32) + levels
        pairs = quantised[:, 1:] * width + quantised[:, :-1]
        histogram += np.bincount(pairs.ravel(), minlength=width * width).reshape(width, width)
    shares = histogram / histogram.sum()
    shares = (shares + shares.T + shares[::-1, ::-1] + shares.T[::-1, ::-1]) / 4
    kept = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (2, 2)]
    return [float(np.log(shares[i, j] + 1e-4)) for i, j in kept]


def _binary_patterns(plane: Plane) -> list[float]:
    """Log shares of rotation-invariant local binary patterns: the fine texture's alphabet."""
    rows, columns = plane.shape
    centre = plane[1:-1, 1:-1] + 0.5
    ring = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
    brighter = [plane[1 + v : rows - 1 + v, 1 + h : columns - 1 + h] >= centre for v, h in ring]
    count, changes = np.zeros(centre.shape, np.uint8), np.zeros(centre.shape, np.uint8)
    for i, bit in enumerate(brighter):
        count += bit
        changes += bit ^ brighter[i - 1]
    pattern = np.where(changes <= 2, count, 9)  # noqa: PLR2004 - more changes are not uniform
    shares = np.bincount(pattern.ravel(), minlength=10) / pattern.size
    return [float(v) for v in np.log(shares + 1e-3)]


def _colour_response(rgb: NDArray[np.uint8]) -> list[float]:
    """How colours fill their range: sensors rarely reach full saturation or true black."""
    small = rgb[::2, ::2].astype(np.float32)
    top, bottom = small.max(axis=2), small.min(axis=2)
    saturation = (top - bottom) / (top + 1)
    y = luma(rgb[::2, ::2])
    red, green, blue = (small[..., i] for i in range(3))
    return [
        float(saturation.mean()), float(saturation.std()), float(np.mean(saturation > 0.9)),  # noqa: PLR2004
        float(np.mean(top <= 4)), float(np.mean(bottom >= 251)), float(np.mean(bottom <= 1)),  # noqa: PLR2004
        float(y.mean()), float(y.std()), float(np.quantile(y, 0.02)), float(np.quantile(y, 0.98)),
        correlation(red, green), correlation(red, blue), correlation(green, blue),
    ]  # fmt: skip


def _phase_ranges(noise: tuple[Plane, ...]) -> list[float]:
    """Per colour, how much residual energy differs between the four places of a 2x2 mosaic."""
    found = []
    for plane in noise:
        rows, columns = plane.shape[0] // 2 * 2, plane.shape[1] // 2 * 2
        energy = np.minimum(np.square(plane[:rows, :columns]), 100)
        mean = [float(energy[r::2, c::2].mean()) for r in (0, 1) for c in (0, 1)]
        phases = np.log(np.array(mean) + 1e-3)
        found += [float(np.ptp(phases)), abs(float(phases[0] + phases[3] - phases[1] - phases[2]))]
    return found


@dataclass(frozen=True, slots=True)
class Grain:
    """The noise of one image at one scale."""

    level: float
    slope: float
    quiet_correlations: tuple[float, float]
    features: tuple[float, ...]
    tiles: Tiles
    residuals: tuple[Plane, ...]


def _grain(rgb_planes: list[Plane], y: Plane) -> Grain:
    noise = [residual(plane) for plane in rgb_planes]
    light = residual(y)
    t = tiles(y, light)
    level, slope, scatter = _level_function(t)
    smooth = np.kron(t.smooth, np.ones((TILE, TILE), bool))
    quiet = [n[: smooth.shape[0], : smooth.shape[1]][smooth] for n in noise]
    energy = [float(np.mean(np.square(n))) + 1e-2 for n in (*noise, light)]
    quiet_energy = [float(np.mean(np.square(n))) + 1e-2 for n in quiet]
    pairs = (correlation(noise[0], noise[1]), correlation(noise[1], noise[2]))
    quiet_pairs = (correlation(quiet[0], quiet[1]), correlation(quiet[1], quiet[2]))
    sigma = np.log(t.sigma + 0.05)
    features = (
        level, slope, scatter, *pairs, *quiet_pairs,
        log_ratio(quiet_energy[0], quiet_energy[1]), log_ratio(quiet_energy[2], quiet_energy[1]),
        log_ratio(energy[0], energy[3]), log_ratio(energy[2], energy[3]),
        log_ratio(quiet_energy[1], energy[1]),
        float(np.log(kurtosis(light))), float(np.log(kurtosis(quiet[1]))),
        float(sigma.std()), float(np.log(t.texture + 0.5).std()),
    )  # fmt: skip
    return Grain(level, slope, quiet_pairs, features, t, tuple(noise))


def _foreign_regions(departures: Plane, picture: Picture) -> tuple[Region, ...]:
    smooth = np.abs(cv2.GaussianBlur(np.clip(departures, -8, 8), (5, 5), 1.2))
    foreign = np.asarray(smooth > _FOREIGN_NOISE)
    return boxes(foreign, np.asarray(smooth, np.float32), 2 * _FOREIGN_NOISE, picture)


def match_camera(findings: Findings, picture: Picture, references: Sequence[Picture]) -> Findings:
    """The same findings with the sensor's fingerprint looked for; a match rules a generator out."""
    energy = peak_to_energy(picture, fingerprint(references))
    measured = Measurement(
        name="sensor fingerprint", value=energy, unit="peak over correlation energy",
        meaning=f"from {MATCH_NEEDED:.0f} on the photograph comes from the camera of the references",
    )  # fmt: skip
    return findings.model_copy(update={
        "measurements": (*findings.measurements, measured),
        "rules_out": (Verdict.AI_GENERATED,) if energy >= MATCH_NEEDED else (),
        "limitations": tuple(text for text in findings.limitations if text != _NO_REFERENCES),
    })  # fmt: skip


def analyse_noise(picture: Picture) -> Findings:
    y = luma(picture.rgb)
    planes = [np.ascontiguousarray(picture.rgb[..., i]).astype(np.float32) for i in range(3)]
    half = [block_mean(plane, 2) for plane in planes]
    half_y = block_mean(y, 2)
    fine, coarse = _grain(planes, y), _grain(half, half_y)
    centre = middle(picture.rgb)
    departures = noise_map(fine.tiles)
    regions = _foreign_regions(departures, picture)
    lattice, lattice_consistency = _colour_filter_trace(planes[1])
    flat = float(np.mean(fine.residuals[1] == 0))
    outliers = float(np.mean(np.abs(departures) > 3))  # noqa: PLR2004
    spread = float(np.quantile(departures, 0.98) - np.quantile(departures, 0.02))
    features = (
        *fine.features, *coarse.features, lattice, lattice_consistency, *_phase_ranges(fine.residuals),
        flat, outliers, spread, *_cooccurrence(y), *_cooccurrence(half_y),
        *_binary_patterns(half_y), *_colour_response(picture.rgb),
        *residual_pairs(luma(centre)), *chroma_grain(centre), *colour_range(centre),
    )  # fmt: skip
    return Findings(
        skill=Skill.NOISE,
        state=picture.state,
        unsuited=picture.unsuited,
        measurements=_measurements(fine, lattice, outliers, flat, regions),
        features=features,
        regions=regions,
        limitations=(_LIMIT, _NO_REFERENCES, *picture.notes),
    )


# `feature` is the place among the features of analyse_noise.
def _measurements(
    fine: Grain, lattice: float, outliers: float, flat: float, regions: tuple[Region, ...]
) -> tuple[Measurement, ...]:
    return (
        Measurement(name="noise level", value=float(np.exp(fine.level)), unit="grey levels", feature=0,
                    meaning="grain in the smoothest tiles; a sensor leaves some, denoising removes it"),
        Measurement(name="noise growth with brightness", value=fine.slope, unit="log noise per 100 grey levels", feature=1,
                    meaning="photon noise grows with light; generators have no photons"),
        Measurement(name="colour-filter trace", value=lattice, unit="log error ratio", feature=32,
                    meaning="a camera interpolates two of three colours at each pixel, which shows"),
        Measurement(name="cross-channel noise correlation", value=fine.quiet_correlations[0], unit="correlation", feature=5,
                    meaning="demosaicing couples the colours' noise; so do generators, more strongly"),
        Measurement(name="tiles with foreign noise", value=outliers, unit="share of tiles", feature=41,
                    meaning="noise that their texture does not explain: pasted or retouched material",
                    where=regions[0] if regions else None),
        Measurement(name="pixels without residual", value=flat, unit="share of pixels", feature=40,
                    meaning="clipped, synthetic or strongly compressed areas have none"),
    )  # fmt: skip

"""
Noise: does the fine grain of an image look like that of a sensor?

A sensor's noise grows with brightness, is interpolated on a colour-filter lattice and is similar in
all regions of one exposure. Generators and editors imitate none of this on purpose.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from parley.agents.forensic.evidence import Findings, Measurement, Skill
from parley.agents.forensic.image import Picture
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

TILE = 16
_COOCCURRENCE_LEVELS = 2
_LIMITS = (
    "denoising and strong compression remove sensor noise, so its absence is no proof",
    "without reference photographs of the camera a sensor fingerprint cannot be matched",
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
    return (rest / (robust_sigma(rest) + 1e-3)).astype(np.float32)


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


def analyse_noise(picture: Picture) -> Findings:
    y = luma(picture.rgb)
    red, green, blue = (picture.rgb[..., i].astype(np.float32) for i in range(3))
    noise = [residual(plane) for plane in (red, green, blue)]
    t = tiles(y, residual(y))
    level, slope, scatter = _level_function(t)
    departures = noise_map(t)
    lattice, lattice_consistency = _colour_filter_trace(green)
    pairs = [correlation(noise[i], noise[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    smooth = np.kron(t.smooth, np.ones((TILE, TILE), bool))
    quiet = [n[: smooth.shape[0], : smooth.shape[1]][smooth] for n in noise]
    quiet_pairs = [correlation(quiet[i], quiet[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    sigmas = [robust_sigma(n) for n in quiet]
    flat = float(np.mean(noise[1] == 0))
    tails = [kurtosis(np.clip(q, -30, 30)) for q in (quiet[1], noise[1])]
    outliers = float(np.mean(np.abs(departures) > 3))  # noqa: PLR2004
    spread = float(np.quantile(departures, 0.98) - np.quantile(departures, 0.02))
    features = (
        level, slope, scatter, lattice, lattice_consistency, *pairs, *quiet_pairs,
        *(float(np.log(s + 0.05)) for s in sigmas),
        log_ratio(sigmas[0] + 0.1, sigmas[1] + 0.1), log_ratio(sigmas[2] + 0.1, sigmas[1] + 0.1),
        flat, *(float(np.log(k)) for k in tails), outliers, spread,
        float(np.quantile(np.log(t.sigma + 0.05), 0.1)),
        float(np.quantile(np.log(t.sigma + 0.05), 0.9)),
        float(np.mean(picture.rgb >= 254)), float(np.mean(picture.rgb <= 1)),  # noqa: PLR2004
        *_cooccurrence(y),
    )  # fmt: skip
    return Findings(
        skill=Skill.NOISE,
        state=picture.state,
        measurements=_measurements(level, slope, lattice, quiet_pairs, outliers, flat),
        features=features,
        limitations=(*_LIMITS, *picture.notes),
    )


def _measurements(
    level: float, slope: float, lattice: float, pairs: list[float], outliers: float, flat: float
) -> tuple[Measurement, ...]:
    return (
        Measurement(name="noise level", value=float(np.exp(level)), unit="grey levels",
                    meaning="grain in the smoothest tiles; a sensor leaves some, denoising removes it"),
        Measurement(name="noise growth with brightness", value=slope, unit="log noise per 100 grey levels",
                    meaning="photon noise grows with light; generators have no photons"),
        Measurement(name="colour-filter trace", value=lattice, unit="log error ratio",
                    meaning="a camera interpolates two of three colours at each pixel, which shows"),
        Measurement(name="cross-channel noise correlation", value=float(np.mean(pairs)), unit="correlation",
                    meaning="demosaicing couples the colours' noise; so do generators, more strongly"),
        Measurement(name="tiles with foreign noise", value=outliers, unit="share of tiles",
                    meaning="noise that their texture does not explain: pasted or retouched material"),
        Measurement(name="pixels without residual", value=flat, unit="share of pixels",
                    meaning="clipped, synthetic or strongly compressed areas have none"),
    )  # fmt: skip

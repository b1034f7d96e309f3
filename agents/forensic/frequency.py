"""
Frequency: what the spectrum of an image says about how its pixels were made.

Cameras and generators leave different slopes, and upsampling in a generator's decoder repeats
itself in the pixels: peaks at 1/2, 1/4 and 1/8 of the sampling rate. JPEG makes peaks at multiples
of 1/8 by itself, so these count for nothing once the file is a JPEG.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.evidence import CompressionState, Findings, Measurement, Skill
from parley.agents.forensic.image import Picture
from parley.agents.forensic.signal import (
    Plane,
    block_mean,
    frequency_grid,
    kurtosis,
    luma,
    luma_and_chroma,
    residual_autocorrelation,
    tile_spectrum,
)
from parley.agents.forensic.texture import dct_spread, middle

RADIAL_BANDS = 16
_LAGS = (2, 3, 4, 8)
_COLOUR_SIDE = 512
_LATTICE_WIDTH = 1.5 / 256
_FLOOR = 1e-4
_LIMITS = (
    "a generator that this agent was not calibrated on may leave none of these traces",
    "resizing and strong compression erase upsampling traces",
)


@dataclass(frozen=True, slots=True)
class Spectra:
    power: Plane
    radial: Plane
    # Log of each bin over the median of its neighbourhood: a peak stands out, a slope does not.
    prominence: Plane


def spectra(plane: Plane) -> Spectra:
    power = tile_spectrum(plane)
    log = np.log(power + _FLOOR)
    return Spectra(power, _radial(log), log - _local_median(log))


def _radial(log_power: Plane) -> Plane:
    vertical, horizontal = frequency_grid(log_power.shape[0])
    radius = np.hypot(vertical, horizontal)
    edges = np.linspace(0.02, 0.5, RADIAL_BANDS + 1)
    band = np.digitize(radius.ravel(), edges)
    sums = np.bincount(band, log_power.ravel(), RADIAL_BANDS + 2)
    counts = np.bincount(band, minlength=RADIAL_BANDS + 2)
    return (sums / np.maximum(counts, 1))[1 : RADIAL_BANDS + 1].astype(np.float32)


def _local_median(log_power: Plane) -> Plane:
    scaled = np.clip((log_power + 12.0) * 8.0, 0, 255).astype(np.uint8)
    return np.asarray(cv2.medianBlur(scaled, 11), np.float32) / 8.0 - 12.0


def _near(axis: Plane, target: float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(np.abs(axis) - target) < _LATTICE_WIDTH)


def _peak_at(prominence: Plane, fractions: tuple[float, ...]) -> float:
    """Highest prominence at the points whose two frequencies are each 0 or one of the fractions."""
    vertical, horizontal = frequency_grid(prominence.shape[0])
    best = 0.0
    for v in (0.0, *fractions):
        for h in (0.0, *fractions):
            if v or h:
                best = max(best, float(prominence[_near(vertical, v) & _near(horizontal, h)].max()))
    return best


def _on_eighths(size: int) -> NDArray[np.bool_]:
    vertical, horizontal = frequency_grid(size)
    near_v = np.abs(vertical * 8 - np.round(vertical * 8)) < 8 * _LATTICE_WIDTH
    near_h = np.abs(horizontal * 8 - np.round(horizontal * 8)) < 8 * _LATTICE_WIDTH
    return np.asarray(near_v | near_h)


def _stray_peak(prominence: Plane) -> float:
    """The strongest peak off the 1/8 lattice (where only resampling puts one)."""
    size = prominence.shape[0]
    vertical, horizontal = frequency_grid(size)
    off = ~_on_eighths(size) & (np.hypot(vertical, horizontal) > 0.1)  # noqa: PLR2004
    return float(prominence[off].max())


def _resampling(plane: Plane) -> float:
    """Periodicity of the second derivative along rows, the trace interpolation leaves."""
    rows = plane[::2]
    second = np.abs(rows[:, 2:] - 2 * rows[:, 1:-1] + rows[:, :-2]).mean(axis=0)
    log = np.log(np.abs(np.fft.rfft((second - second.mean()) * np.hanning(second.size))) + _FLOOR)
    frequency = np.fft.rfftfreq(second.size)
    eighths = np.abs(frequency * 8 - np.round(frequency * 8)) < 0.1  # noqa: PLR2004
    usable = log[(frequency > 0.1) & ~eighths]  # noqa: PLR2004
    return float(usable.max() - np.median(usable))


def _directions(power: Plane) -> tuple[float, float]:
    """Fine detail along rows over columns, and along diagonals over axes (log)."""
    vertical, horizontal = frequency_grid(power.shape[0])
    v, h = np.abs(vertical), np.abs(horizontal)
    high = 0.3  # cycles per pixel
    along_rows = float(power[(h > high) & (v < 0.1)].mean())  # noqa: PLR2004
    along_columns = float(power[(v > high) & (h < 0.1)].mean())  # noqa: PLR2004
    diagonal = float(power[(v > high) & (h > high)].mean())
    axes = (along_rows + along_columns) / 2
    return (
        float(np.log((along_rows + _FLOOR) / (along_columns + _FLOOR))),
        float(np.log((diagonal + _FLOOR) / (axes + _FLOOR))),
    )


def _middle(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colour needs fewer samples than light: its spectrum is taken from the middle only."""
    top = max(0, (rgb.shape[0] - _COLOUR_SIDE) // 2)
    left = max(0, (rgb.shape[1] - _COLOUR_SIDE) // 2)
    return rgb[top : top + _COLOUR_SIDE, left : left + _COLOUR_SIDE]


def _scale_space(plane: Plane) -> list[float]:
    """Gradient energy and tails at half and quarter size: natural scenes look alike at each."""
    found: list[float] = []
    for _ in range(2):
        plane = block_mean(plane, 2)
        across, down = np.diff(plane, axis=1), np.diff(plane, axis=0)
        energy = np.log(float(np.square(across).mean() + np.square(down).mean()) + 1e-3)
        found += [float(energy), *(float(np.log(kurtosis(g))) for g in (across, down))]
    return [*found, found[3] - found[0]]


def analyse_frequency(picture: Picture) -> Findings:
    y = luma(picture.rgb)
    light = spectra(y)
    _, blue, red = luma_and_chroma(_middle(picture.rgb))
    colour = [_radial(np.log(tile_spectrum(c, 128) + _FLOOR)) for c in (blue, red)]
    bands = light.radial
    axis = np.log(np.linspace(0.035, 0.485, RADIAL_BANDS))
    curvature, slope, _ = np.polyfit(axis, bands, 2)
    straight = float(np.polyfit(axis, bands, 1)[0])
    half, quarter, eighth = (
        _peak_at(light.prominence, f) for f in ((0.5,), (0.25, 0.5), (0.125, 0.25, 0.375, 0.5))
    )
    stray = _stray_peak(light.prominence)
    rows_columns, diagonal = _directions(light.power)
    periodic = _resampling(y)
    lags = residual_autocorrelation(light.power, _LAGS)
    jpeg = picture.state is not CompressionState.LOSSLESS
    features = (
        *(float(b) for b in np.diff(bands)),
        *(float(b - bands[0]) for b in (bands[8], bands[15])),
        float(curvature), float(slope), straight,
        *((0.0, 0.0, 0.0) if jpeg else (half, quarter, eighth)),
        abs(rows_columns), diagonal, *lags,
        *(float(c[8:].mean() - c[:4].mean()) for c in colour),
        float(colour[0][12:].mean() - bands[12:].mean()),
        float(colour[1][12:].mean() - bands[12:].mean()),
        *_scale_space(y),
        *dct_spread(luma(middle(picture.rgb))),
    )  # fmt: skip
    return Findings(
        skill=Skill.FREQUENCY,
        state=picture.state,
        unsuited=picture.unsuited,
        measurements=_measurements(
            Traces(straight, float(curvature), (half, quarter, eighth), stray, periodic, lags[0]),
            jpeg=jpeg,
        ),
        features=features,
        limitations=(*_LIMITS, *picture.notes),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Traces:
    slope: float
    curvature: float
    peaks: tuple[float, float, float]
    stray: float
    periodic: float
    neighbours: float


# `feature` is the place among the features of analyse_frequency.
def _measurements(traces: Traces, *, jpeg: bool) -> tuple[Measurement, ...]:
    discounted = "; not counted, JPEG makes such peaks itself" if jpeg else ""
    return (
        Measurement(name="radial slope", value=traces.slope, unit="log power per log frequency", feature=19,
                    meaning="natural photographs fall by about 2 to 3; flatter or steeper is unusual"),
        Measurement(name="radial curvature", value=traces.curvature, unit="log power", feature=17,
                    meaning="a bend at high frequencies tells of upsampling or denoising"),
        *(
            Measurement(name=f"checkerboard peak at {name}", value=value, unit="log power over neighbours",
                        feature=None if jpeg else place,
                        meaning=f"upsampling by a generator's decoder repeats in the pixels{discounted}")
            for place, name, value in zip((20, 21, 22), ("1/2", "1/4", "1/8"), traces.peaks, strict=True)
        ),
        Measurement(name="stray spectral peak", value=traces.stray, unit="log power over neighbours",
                    meaning="a peak off the JPEG lattice is left by resizing or by a generator"),
        Measurement(name="resampling periodicity", value=traces.periodic, unit="log amplitude over median",
                    meaning="interpolated pixels repeat in their second derivative"),
        Measurement(name="residual autocorrelation at lag 2", value=traces.neighbours, unit="correlation", feature=25,
                    meaning="neighbouring noise of a camera is nearly independent"),
    )  # fmt: skip

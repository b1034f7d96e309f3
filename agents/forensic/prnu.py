"""
Does a photograph carry the fingerprint of a camera, learnt from reference photographs of it?

Every sensor's pixels differ a little in sensitivity, always in the same way. The references must
come from the same camera at the same resolution; flat, bright pictures teach fastest.
"""

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np

from parley.agents.forensic.image import Picture
from parley.agents.forensic.signal import Plane, luma
from parley.bus.errors import BadInput

# Peak over correlation energy; chance stays below about 30 in images of this size.
MATCH_NEEDED: Final = 60.0
_PEAK_RADIUS: Final = 5


def noise_of(y: Plane) -> Plane:
    """The part of an image that is not scene, with row and column patterns of the readout removed."""
    smooth = np.asarray(cv2.GaussianBlur(y, (0, 0), 1.0), np.float32)
    rest = y - smooth
    spread = np.asarray(cv2.blur(rest * rest, (9, 9)), np.float32)
    # Weak where the scene is busy: there the residual is texture rather than sensor.
    rest = rest / (1 + spread / 4)
    rest = rest - rest.mean(axis=0, keepdims=True)
    return np.asarray(rest - rest.mean(axis=1, keepdims=True), np.float32)


def fingerprint(references: Sequence[Picture]) -> Plane:
    """The sensitivity pattern that the references share; brighter pixels count more."""
    places = {(p.rgb.shape, p.left, p.top) for p in references}
    if len(places) != 1:
        raise BadInput("the reference photographs of a camera must all have the same size")
    above = np.zeros(references[0].rgb.shape[:2], np.float64)
    below = np.full(above.shape, 1e-3)
    for picture in references:
        y = luma(picture.rgb)
        above += noise_of(y) * y
        below += np.square(y)
    return np.asarray(above / below, np.float32)


def peak_to_energy(picture: Picture, pattern: Plane) -> float:
    """Correlation energy at zero shift over its mean at all other shifts, signed."""
    y = luma(picture.rgb)
    if y.shape != pattern.shape:
        raise BadInput("the photograph and the camera's references differ in size")
    expected = pattern * y
    seen = noise_of(y)
    product = np.fft.rfft2(seen - seen.mean()) * np.conj(np.fft.rfft2(expected - expected.mean()))
    surface = np.fft.irfft2(product, y.shape)
    peak = float(surface[0, 0])
    around = np.ones(surface.shape, bool)
    r = _PEAK_RADIUS
    around[np.ix_(np.arange(-r, r + 1), np.arange(-r, r + 1))] = False
    return float(np.sign(peak) * peak**2 / (np.mean(np.square(surface[around])) + 1e-12))

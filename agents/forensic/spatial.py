"""
Spatial: where does an image disagree with itself?

Each detector gives a map on a common grid of 16-pixel tiles. What the file format can still show
decides which maps count: fine inconsistencies do not survive low-quality JPEG, so there the agent
says that it cannot tell instead of guessing.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.copymove import Copies, exact_copies, keypoint_copies
from parley.agents.forensic.evidence import CompressionState, Findings, Measurement, Skill
from parley.agents.forensic.image import Picture
from parley.agents.forensic.jpeg_traces import CombTrace, comb_trace, ghost_maps, grid_trace
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.noise import noise_map, tiles
from parley.agents.forensic.regions import TILE, boxes
from parley.agents.forensic.signal import (
    BLOCK,
    Plane,
    block_dct,
    block_mean,
    luma,
    residual,
    robust_sigma,
)
from parley.agents.forensic.texture import activity, middle
from parley.bus.contracts.verdicts.content import Region

EXACT_COPIES_NEEDED: Final = 40
KEYPOINT_COPIES_NEEDED: Final = 8
# No camera and no generator repeats so many pixels exactly.
_NOT_COPIED: Final = (Verdict.AUTHENTIC, Verdict.AI_GENERATED)
SUSPICION_LIMIT: Final = 2.2
_SMALL_PIXELS: Final = 200_000


@dataclass(frozen=True, slots=True)
class SpatialMaps:
    """All on one grid of 16-pixel tiles, in robust deviations; `suspicion` is their combination."""

    noise: Plane
    sharpness: Plane
    ghost: Plane
    comb: Plane
    suspicion: Plane
    copies: NDArray[np.bool_]

    @property
    def mask(self) -> NDArray[np.bool_]:
        return np.asarray((self.suspicion > SUSPICION_LIMIT) | self.copies)


@dataclass(frozen=True, slots=True)
class SpatialResult:
    findings: Findings
    maps: SpatialMaps


def _deviations(values: Plane) -> Plane:
    centred = values - np.median(values)
    return np.asarray(centred / (robust_sigma(centred) + 1e-2), np.float32)


def _smooth(values: Plane) -> Plane:
    return np.asarray(
        cv2.GaussianBlur(np.clip(values, -8, 8), (5, 5), 1.2, borderType=cv2.BORDER_REFLECT),
        np.float32,
    )


def _without_texture(values: Plane, texture: Plane) -> Plane:
    """What remains of a map after its dependence on texture (log, quadratic) is taken out."""
    x = np.log(texture + 0.5).ravel()
    x -= x.mean()
    terms = np.stack([np.ones_like(x), x, x * x], 1)
    gram = terms.T @ terms + 1e-3 * np.eye(3, dtype=np.float32)
    fitted = terms @ np.linalg.solve(gram, terms.T @ values.ravel())
    return np.asarray(values - fitted.reshape(values.shape), np.float32)


def _fit_to(values: Plane, shape: tuple[int, ...]) -> Plane:
    return np.asarray(
        cv2.resize(values, (shape[1], shape[0]), interpolation=cv2.INTER_AREA), np.float32
    )


def _sharpness(y: Plane) -> Plane:
    """Detail at the finest scale over detail at the next, per tile (log)."""
    fine = block_mean(np.abs(residual(y)), TILE)
    coarse_plane = np.asarray(cv2.GaussianBlur(y, (0, 0), 1.5), np.float32)
    coarse = block_mean(np.abs(cv2.Laplacian(coarse_plane, cv2.CV_32F)), TILE)
    return np.log((fine + 0.1) / (coarse + 0.1)).astype(np.float32)


def _is_jpeg_low(state: CompressionState) -> bool:
    return state in {CompressionState.JPEG_LOW, CompressionState.WEBP}


def _combine(
    noise: Plane, sharpness: Plane, ghost: Plane, comb: Plane, comb_strength: float
) -> Plane:
    """Two independent detectors that agree weigh more than one that shouts."""
    comb_weight = min(1.0, comb_strength / 0.4)
    parts = [np.abs(_smooth(noise)), np.abs(_smooth(sharpness)), np.abs(_smooth(ghost)),
             comb_weight * np.maximum(-_smooth(comb), 0)]  # fmt: skip
    stacked = np.sort(np.stack(parts), axis=0)
    return np.asarray(0.6 * stacked[-1] + 0.4 * stacked[-2], np.float32)


def _copies(picture: Picture, y: Plane) -> tuple[Copies, Copies]:
    nothing = Copies(0, np.zeros(y.shape, bool))
    lossless = picture.state is CompressionState.LOSSLESS
    return (exact_copies(picture.rgb, y) if lossless else nothing), keypoint_copies(y)


def analyse_spatial(picture: Picture) -> SpatialResult:
    y = luma(picture.rgb)
    t = tiles(y, residual(y))
    coefficients = block_dct(y)
    comb = comb_trace(coefficients, picture.tables[0] if picture.tables else ())
    grid = grid_trace(y)
    ghosts = ghost_maps(coefficients, TILE // BLOCK)
    shape = t.sigma.shape
    ghost_maps_z = [_deviations(_without_texture(_fit_to(g, shape), t.texture)) for g in ghosts]
    ghost = ghost_maps_z[
        int(np.argmax([float(np.quantile(-_smooth(g), 0.98)) for g in ghost_maps_z]))
    ]
    noise = noise_map(t)
    sharpness = _deviations(_without_texture(_sharpness(y), t.texture))
    comb_map = _deviations(_fit_to(block_mean(comb.blocks, TILE // BLOCK), shape))
    exact, keypoints = _copies(picture, y)
    copied = np.zeros(y.shape, bool)
    if exact.count >= EXACT_COPIES_NEEDED:
        copied |= exact.mask
    if keypoints.count >= KEYPOINT_COPIES_NEEDED:
        copied |= keypoints.mask
    maps = SpatialMaps(
        noise, sharpness, ghost, comb_map,
        _combine(noise, sharpness, ghost, comb_map, max(comb.strength)),
        np.asarray(block_mean(copied.astype(np.float32), TILE) > 0.3),  # noqa: PLR2004
    )  # fmt: skip
    regions = boxes(maps.mask, maps.suspicion, 2 * SUSPICION_LIMIT, picture)
    features = (
        max(comb.strength), float(np.mean(comb.strength)), float(np.quantile(-_smooth(comb_map), 0.98)),
        grid.own, grid.foreign, grid.foreign_tiles,
        *(float(np.quantile(np.abs(_smooth(g)), 0.95)) for g in ghost_maps_z),
        *(float(np.quantile(-_smooth(g), 0.98)) for g in ghost_maps_z),
        *(float(np.mean(g)) for g in ghosts),
        *_map_features(noise), *_map_features(sharpness), *_map_features(maps.suspicion),
        float(np.mean(maps.mask)), float(exact.count >= EXACT_COPIES_NEEDED),
        float(keypoints.count >= KEYPOINT_COPIES_NEEDED),
        float(np.log(t.texture.mean() + 0.1)), float(np.mean(_sharpness(y))),
        *activity(luma(middle(picture.rgb))),
    )  # fmt: skip
    findings = Findings(
        skill=Skill.SPATIAL,
        state=picture.state,
        unsuited=picture.unsuited,
        measurements=_measurements(comb, grid.foreign_tiles, (exact, keypoints), maps, regions),
        features=features,
        regions=regions,
        suspect_share=float(np.mean(maps.mask)),
        rules_out=_NOT_COPIED if exact.count >= EXACT_COPIES_NEEDED else (),
        limitations=_limitations(picture),
    )
    return SpatialResult(findings, maps)


def _map_features(values: Plane) -> tuple[float, float, float]:
    smooth = _smooth(values)
    return (
        float(np.quantile(smooth, 0.98)),
        float(np.quantile(smooth, 0.02)),
        float(np.mean(np.abs(smooth) > SUSPICION_LIMIT)),
    )


def _limitations(picture: Picture) -> tuple[str, ...]:
    notes = ["clean retouching with matched noise leaves nothing to see", *picture.notes]
    if _is_jpeg_low(picture.state):
        notes.append("strong compression has erased most local traces: regions are weak hints here")
    if picture.width * picture.height < _SMALL_PIXELS:
        notes.append("the image is too small for reliable local statistics")
    if not picture.is_whole:
        notes.append("only the centre of the image was analysed")
    return tuple(notes)


# `feature` is the place among the features of analyse_spatial.
def _measurements(
    comb: CombTrace, foreign_tiles: float, copies: tuple[Copies, Copies], maps: SpatialMaps,
    regions: tuple[Region, ...],
) -> tuple[Measurement, ...]:  # fmt: skip
    exact, keypoints = copies
    where = regions[0] if regions else None
    return (
        Measurement(name="double quantisation", value=max(comb.strength), unit="log histogram comb", feature=0,
                    meaning="above about 0.3 the image was saved as JPEG twice with different tables"),
        Measurement(name="foreign block grid", value=foreign_tiles, unit="share of tiles", feature=5,
                    meaning="blocks that do not stand on the file's own 8-pixel grid were moved"),
        Measurement(name="identical windows", value=float(exact.count), unit="windows", feature=28,
                    meaning=f"from {EXACT_COPIES_NEEDED} on, part of the image was copied within it"),
        Measurement(name="matching keypoints", value=float(keypoints.count), unit="pairs", feature=29,
                    meaning=f"from {KEYPOINT_COPIES_NEEDED} on with one displacement, a copied area is likely"),
        Measurement(name="strongest inconsistency", value=float(maps.suspicion.max()), unit="robust deviations", feature=24,
                    meaning="noise, sharpness or compression history differ from the surroundings", where=where),
        Measurement(name="suspect area", value=float(np.mean(maps.mask)), unit="share of the image", feature=27,
                    meaning="tiles that disagree with the rest"),
    )  # fmt: skip

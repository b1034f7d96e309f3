"""From a mask of suspect tiles to boxes in pixels of the original image."""

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.image import Picture
from parley.agents.forensic.signal import Plane
from parley.bus.contracts.verdicts.content import Region

TILE: Final = 16
_MIN_REGION_SHARE: Final = 0.004
_MIN_TILES: Final = 4
_MAX_REGIONS: Final = 5


def boxes(
    mask: NDArray[np.bool_], suspicion: Plane, certain_at: float, picture: Picture
) -> tuple[Region, ...]:
    """The largest connected parts first; a peak suspicion of `certain_at` scores 1."""
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    found = []
    for index in range(1, count):
        column, row, width, height, area = (int(v) for v in stats[index])
        if area < max(_MIN_TILES, _MIN_REGION_SHARE * mask.size):
            continue
        peak = float(suspicion[row : row + height, column : column + width].max())
        region = Region(
            x=picture.left + column * TILE,
            y=picture.top + row * TILE,
            width=width * TILE,
            height=height * TILE,
            score=min(1.0, max(0.0, peak / certain_at)),
        )
        found.append((area, region))
    found.sort(key=lambda pair: -pair[0])
    return tuple(region for _, region in found[:_MAX_REGIONS])

"""Whether a picture is one that the skills were made for: a photograph, or what passes for one."""

from enum import StrEnum
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.signal import BLOCK, Plane, whole_blocks

# In grey levels, per 8x8 block: without any grain, and with an edge or a texture in it.
_DEAD_DEVIATION: Final = 0.5
_LIVELY_RANGE: Final = 24
# Of the blocks; measured on 1,092 photographs, forgeries and generated images, original and re-saved.
_LEAST_LIVELY: Final = 0.001
_DRAWN_DEAD: Final = 0.3
_DRAWN_MIDDLE: Final = 0.2
_DRAWN_CONTRAST: Final = 6.0


class Unsuited(StrEnum):
    """Why no skill can judge a picture."""

    NO_TEXTURE = "no_texture"
    NOT_A_PHOTOGRAPH = "not_a_photograph"


MEANING: Final = {
    Unsuited.NO_TEXTURE: "the picture is even, and holds no texture to measure",
    Unsuited.NOT_A_PHOTOGRAPH: "this is a drawing, a chart or a screenshot, not a photograph",
}


def unsuited(rgb: NDArray[np.uint8]) -> Unsuited | None:
    """
    Drawn pictures are flat where nothing is drawn, and go from one colour to another without the
    shades between that a lens leaves at every edge.
    """
    grey = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.float32)
    blocks = whole_blocks(grey).reshape(-1, BLOCK * BLOCK)
    deviation, low, span = blocks.std(axis=1), blocks.min(axis=1), np.ptp(blocks, axis=1)
    lively = span > _LIVELY_RANGE
    if float(np.mean(lively)) < _LEAST_LIVELY:
        return Unsuited.NO_TEXTURE
    dead = deviation < _DEAD_DEVIATION
    is_drawn = (
        float(np.mean(dead)) > _DRAWN_DEAD
        and float(np.median(deviation[~dead])) > _DRAWN_CONTRAST
        and _shades_between(blocks[lively], low[lively], span[lively]) < _DRAWN_MIDDLE
    )
    return Unsuited.NOT_A_PHOTOGRAPH if is_drawn else None


def _shades_between(blocks: Plane, low: Plane, span: Plane) -> float:
    """The share of a block's pixels in the middle half of its range."""
    place = (blocks - low[:, None]) / span[:, None]
    return float(np.mean((place > 0.25) & (place < 0.75)))  # noqa: PLR2004

"""What no skill was made for is called uncertain, with the reason; photographs are not."""

import io
from collections.abc import Callable
from itertools import islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from parley.agents.forensic.calibration import assess, shipped
from parley.agents.forensic.debate import debate_positions
from parley.agents.forensic.evidence import Evidence, Skill
from parley.agents.forensic.image import ImageLimits, decoding
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.skills import ANALYSES
from parley.agents.forensic.specimen import untouched
from parley.agents.forensic.suited import Unsuited

Pixels = NDArray[np.uint8]
PAPER = (600, 800, 3)


def grey() -> Pixels:
    return np.full(PAPER, 128, np.uint8)


def gradient() -> Pixels:
    ramp = np.linspace(0, 255, PAPER[1]).astype(np.uint8)
    return np.tile(ramp[None, :, None], (PAPER[0], 1, 3))


def chart() -> Pixels:
    paper = np.full(PAPER, 255, np.uint8)
    for place, height in enumerate((100, 220, 330, 180, 400)):
        left = 120 + place * 120
        cv2.rectangle(paper, (left, 520 - height), (left + 80, 519), (40 + 40 * place, 90, 200), -1)
        cv2.putText(paper, f"Q{place + 1}", (left, 560), 0, 1, (0, 0, 0), 2, cv2.LINE_AA)
    return paper


def screenshot() -> Pixels:
    paper = np.full(PAPER, 250, np.uint8)
    paper[:60] = 40, 44, 52
    for line in range(20):
        words = "the quick brown fox jumps over the lazy dog"
        cv2.putText(paper, words, (40, 100 + line * 24), 0, 0.5, (30, 30, 30), 1, cv2.LINE_AA)
    return paper


def drawing() -> Pixels:
    paper, chance = np.full(PAPER, 246, np.uint8), np.random.default_rng(2)
    for _ in range(18):
        at, colour = chance.integers(40, 560, 2).tolist(), chance.integers(0, 255, 3).tolist()
        cv2.circle(paper, at, int(chance.integers(20, 90)), colour, -1, cv2.LINE_AA)
    return paper


def file(pixels: Pixels, kind: str) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **({"quality": 75} if kind == "JPEG" else {}))
    return out.getvalue()


def looked_at(data: bytes) -> list[Evidence]:
    with decoding(ImageLimits()) as decoder:
        picture = decoder.decode(data)
    return [assess(ANALYSES[skill](picture), shipped()) for skill in Skill]


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (grey, Unsuited.NO_TEXTURE),
        (gradient, Unsuited.NO_TEXTURE),
        (chart, Unsuited.NOT_A_PHOTOGRAPH),
        (screenshot, Unsuited.NOT_A_PHOTOGRAPH),
        (drawing, Unsuited.NOT_A_PHOTOGRAPH),
    ],
)
def test_all_are_uncertain_and_say_why(
    make: Callable[[], Pixels], why: Unsuited, kind: str
) -> None:
    panel = looked_at(file(make(), kind))
    assert {one.findings.unsuited for one in panel} == {why}
    rounds = debate_positions(panel, shipped())
    opening, first = next(rounds), next(rounds)
    assert {one.verdict for one in (*opening, *first)} == {Verdict.UNCERTAIN}


def test_a_generators_mark_in_a_drawing_still_counts() -> None:
    out = io.BytesIO()
    Image.fromarray(drawing()).save(out, "WEBP", exif=generator_named())
    panel = looked_at(out.getvalue())
    assert {one.verdict for one in panel} == {Verdict.UNCERTAIN, Verdict.AI_GENERATED}
    _, after = islice(debate_positions(panel, shipped()), 2)
    assert {one.verdict for one in after} == {Verdict.AI_GENERATED}


def generator_named() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0131] = "Midjourney"
    return exif


def test_a_photograph_is_judged() -> None:
    with decoding(ImageLimits()) as decoder:
        assert decoder.decode(untouched().data).unsuited is None

"""
Watermark: what the file itself declares, and whether a generator's invisible mark is in the pixels.

A mark is worth what its forgery costs: a valid signature by a trusted signer much, a text chunk or
an EXIF field little. No mark means nothing at all: most files carry none.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from parley.agents.forensic.evidence import CompressionState, Findings, Measurement, Skill
from parley.agents.forensic.image import STANDARD_LUMINANCE, Picture
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.provenance import ContentCredentials, Provenance
from parley.agents.forensic.signal import Plane

_GENERATOR_KEYS: Final = frozenset(
    {
        "parameters",
        "prompt",
        "workflow",
        "sd-metadata",
        "invokeai_metadata",
        "Dream",
        "generation_data",
    }
)
_GENERATORS: Final = ("midjourney", "stable diffusion", "dall-e", "dall·e", "comfyui", "automatic1111",
                      "novelai", "invokeai", "firefly", "imagen", "openai", "flux", "ideogram")  # fmt: skip
_EDITORS: Final = ("photoshop", "gimp", "lightroom", "affinity", "paint.net", "pixelmator", "snapseed",
                   "picsart", "canva", "facetune", "luminar", "capture one")  # fmt: skip
_AI_SOURCES: Final = ("trainedalgorithmicmedia", "algorithmicmedia")
_COMPOSITE_SOURCES: Final = (
    "compositewithtrainedalgorithmicmedia",
    "composite",
    "compositesynthetic",
)
# Messages that public generators embed with the dwtDct method, as bits.
KNOWN_MARKS: Final = {
    "Stable Diffusion 1": "".join(f"{byte:08b}" for byte in b"StableDiffusionV1"),
    "Stable Diffusion XL": "101100111110110010010000011110111011000110011110",
}
MARK_NEEDED: Final = 0.85
_MARK_SCALE: Final = 36.0
_MARK_BLOCK: Final = 4
_LIMITS: Final = (
    "no mark proves nothing: re-saving removes all of them",
    "metadata can be written by anybody; only a signature by a trusted signer cannot",
)


@dataclass(frozen=True, slots=True)
class Declaration:
    verdict: Verdict | None
    because: str = ""


def declared_by(said: Provenance) -> Declaration:
    """The first source that speaks, the hardest to forge first."""
    for judge in (_by_credentials, _by_source_type, _by_generator_text):
        found = judge(said)
        if found.verdict is not None:
            return found
    return Declaration(None)


def _by_credentials(said: Provenance) -> Declaration:
    c: ContentCredentials | None = said.c2pa
    if c is None or not c.valid:
        return Declaration(None)
    signer = f"signed by {c.signer or 'nobody named'}, " + (
        "a trusted signer" if c.signer_trusted else "who is on no trust list"
    )
    if c.says_ai:
        return Declaration(Verdict.AI_GENERATED, f"content credentials say AI made it ({signer})")
    if c.says_edited:
        return Declaration(Verdict.MANIPULATED, f"content credentials list edits ({signer})")
    return Declaration(None)


def _by_source_type(said: Provenance) -> Declaration:
    source = said.digital_source_type.rsplit("/", 1)[-1].lower()
    if source in _AI_SOURCES:
        return Declaration(Verdict.AI_GENERATED, "its XMP names a generative model as its source")
    if source in _COMPOSITE_SOURCES:
        return Declaration(Verdict.MANIPULATED, "its XMP calls it a composite")
    return Declaration(None)


def _by_generator_text(said: Provenance) -> Declaration:
    keys = [key for key, _ in said.png_text if key in _GENERATOR_KEYS]
    if keys:
        return Declaration(
            Verdict.AI_GENERATED, f"its PNG text holds a generator's {keys[0]!r} field"
        )
    spoken = " ".join(
        (said.software, said.creator_tool, said.comment, *(text for _, text in said.png_text))
    ).lower()
    for name in _GENERATORS:
        if name in spoken:
            return Declaration(Verdict.AI_GENERATED, f"its metadata names the generator {name}")
    return Declaration(None)


def editor_named(said: Provenance) -> str:
    """Empty where none is. Photographers save their pictures with these, too."""
    tools = f"{said.software} {said.creator_tool} {said.history_agent}".lower()
    return next((name for name in _EDITORS if name in tools), "")


def looks_like_a_camera_file(picture: Picture) -> bool:
    """Make, model and capture settings, and quantisation that no desktop encoder writes."""
    said = picture.provenance
    return bool(
        said.make
        and said.model
        and said.has_capture_settings
        and picture.tables
        and not is_standard_table(picture.tables[0])
    )


def is_standard_table(table: tuple[int, ...]) -> bool:
    """Whether the table is the standard's, scaled by some quality: then software wrote the file."""
    reference = np.array(STANDARD_LUMINANCE)
    for quality in range(30, 101):
        scale = 5000 // quality if quality < 50 else 200 - 2 * quality  # noqa: PLR2004
        if np.array_equal(np.clip((reference * scale + 50) // 100, 1, 255), np.array(table)):
            return True
    return False


def mark_votes(rgb: NDArray[np.uint8]) -> Plane:
    """
    One vote (0 or 1) per 4x4 block of the half-size U plane, in reading order.

    Despite its name the method moves no DCT coefficient: of each block's low-pass values it rounds
    the largest (the first left out) into the lower or upper half of a step of 36.
    """
    plane = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV)[..., 1], np.float32)
    rows, columns = plane.shape[0] // 4 * 4, plane.shape[1] // 4 * 4
    p = plane[:rows, :columns]
    low = (p[::2, ::2] + p[1::2, ::2] + p[::2, 1::2] + p[1::2, 1::2]) / 2
    n = _MARK_BLOCK
    high, wide = low.shape[0] // n, low.shape[1] // n
    blocks = low[: high * n, : wide * n].reshape(high, n, wide, n).swapaxes(1, 2)
    strongest = np.abs(blocks.reshape(-1, n * n)[:, 1:]).max(axis=1)
    return np.asarray((strongest % _MARK_SCALE) > _MARK_SCALE / 2, np.float32)


def find_mark(votes: Plane) -> tuple[str, float]:
    """The known mark that fits best and the share of its bits that agree."""
    best = ("", 0.0)
    for name, message in KNOWN_MARKS.items():
        wanted = np.array([bit == "1" for bit in message])
        index = np.arange(votes.size) % wanted.size
        share = np.bincount(index, votes, wanted.size) / np.bincount(index, minlength=wanted.size)
        agree = float(np.mean((share > 0.5) == wanted))  # noqa: PLR2004
        best = max(best, (name, agree), key=lambda pair: pair[1])
    return best


def _can_hold_mark(picture: Picture) -> bool:
    """JPEG destroys the mark; a crop loses the order of its bits, which starts at the first pixel."""
    return picture.is_whole and picture.state is CompressionState.LOSSLESS


def analyse_watermark(picture: Picture) -> Findings:
    said = picture.provenance
    declaration = declared_by(said)
    mark, agreement = find_mark(mark_votes(picture.rgb)) if _can_hold_mark(picture) else ("", 0.0)
    if agreement >= MARK_NEEDED and declaration.verdict is None:
        declaration = Declaration(
            Verdict.AI_GENERATED, f"the pixels carry the invisible mark of {mark}"
        )
    camera, editor = looks_like_a_camera_file(picture), editor_named(said)
    if camera and not editor and declaration.verdict is None:
        declaration = Declaration(
            Verdict.AUTHENTIC,
            f"camera settings and quantisation of a {said.make} {said.model} are intact",
        )
    return Findings(
        skill=Skill.WATERMARK,
        state=picture.state,
        unsuited=picture.unsuited,
        measurements=_measurements(said, agreement, editor, camera=camera),
        features=_features(picture, agreement, camera=camera),
        declared=declaration.verdict,
        declared_because=declaration.because,
        edited=bool(editor),
        limitations=(*_LIMITS, *picture.notes),
    )


def _features(picture: Picture, agreement: float, *, camera: bool) -> tuple[float, ...]:
    said = picture.provenance
    return (
        float(camera),
        float(bool(said.make)),
        float(said.has_capture_settings),
        float(said.has_adobe_marker),
        float(bool(picture.tables) and not is_standard_table(picture.tables[0])),
        float(agreement >= MARK_NEEDED),
        float(said.c2pa is not None),
    )


def _measurements(
    said: Provenance, agreement: float, editor: str, *, camera: bool
) -> tuple[Measurement, ...]:
    c = said.c2pa
    credentials = (
        Measurement(name="content credentials valid", value=float(c.valid), unit="yes=1",
                    meaning="the signed hashes match the file" if c.valid else c.problem or "they do not match"),
        Measurement(name="content credentials signer trusted", value=float(c.signer_trusted), unit="yes=1",
                    meaning=f"signer: {c.signer or 'not named'}"),
    ) if c is not None else ()  # fmt: skip
    return (
        *credentials,
        Measurement(name="invisible mark", value=agreement, unit="share of agreeing bits",
                    meaning=f"one half is chance; from {MARK_NEEDED} on a known generator's mark is present"),
        Measurement(name="camera record", value=float(camera), unit="yes=1",
                    meaning="make, model, capture settings and a camera's own quantisation table"),
        Measurement(name="editor named", value=float(bool(editor)), unit="yes=1",
                    meaning="photographers use editors as well as forgers; generators seldom name one"),
    )  # fmt: skip

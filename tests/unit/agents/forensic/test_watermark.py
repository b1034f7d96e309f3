"""What a file declares about itself, and the invisible mark."""

import io
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from parley.agents.forensic.calibration import assess, shipped
from parley.agents.forensic.evidence import CompressionState, Findings, Skill
from parley.agents.forensic.image import Decoder, ImageLimits, decoding
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.provenance import ContentCredentials, Provenance
from parley.agents.forensic.watermark import (
    KNOWN_MARKS,
    MARK_NEEDED,
    analyse_watermark,
    declared_by,
    editor_named,
    find_mark,
    is_standard_table,
)


def credentials(
    *, valid: bool = True, trusted: bool = False, ai: bool = False, edited: bool = False
) -> ContentCredentials:
    return ContentCredentials(
        valid=valid, signer_trusted=trusted, signer="Somebody", generator="", says_ai=ai,
        says_edited=edited,
    )  # fmt: skip


SAID = {
    "signed by AI": (Provenance(c2pa=credentials(ai=True)), Verdict.AI_GENERATED),
    "signed edits": (Provenance(c2pa=credentials(edited=True)), Verdict.MANIPULATED),
    "invalid signature": (Provenance(c2pa=credentials(valid=False, ai=True)), None),
    "xmp generative": (
        Provenance(
            digital_source_type="http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
        ),
        Verdict.AI_GENERATED,
    ),
    "xmp composite": (
        Provenance(digital_source_type="compositeWithTrainedAlgorithmicMedia"),
        Verdict.MANIPULATED,
    ),
    "png prompt": (Provenance(png_text=(("prompt", "{}"),)), Verdict.AI_GENERATED),
    "generator's name": (Provenance(software="Midjourney 6"), Verdict.AI_GENERATED),
    "editor": (Provenance(software="Adobe Photoshop 24.1 (Windows)"), None),
    "camera firmware": (Provenance(software="Ver.1.0"), None),
    "nothing": (Provenance(), None),
}


@pytest.mark.parametrize(("said", "verdict"), SAID.values(), ids=SAID.keys())
def test_declarations(said: Provenance, verdict: Verdict | None) -> None:
    assert declared_by(said).verdict == verdict


def test_an_editor_is_named_and_declares_nothing() -> None:
    """Photographers save with editors, too: it speaks against a generator, and for nothing."""
    assert editor_named(Provenance(software="Adobe Photoshop 24.1 (Windows)")) == "photoshop"
    silent = Findings(skill=Skill.WATERMARK, state=CompressionState.JPEG_HIGH, measurements=(),
                      features=(), edited=True)  # fmt: skip
    found = assess(silent, shipped())
    assert found.verdict == Verdict.UNCERTAIN
    before = shipped().prior
    assert found.belief.ai_generated < before.ai_generated
    assert found.belief.authentic / found.belief.manipulated == pytest.approx(
        before.authentic / before.manipulated
    )


def test_trust_in_the_signer_is_told_apart_from_validity() -> None:
    unknown = declared_by(Provenance(c2pa=credentials(ai=True)))
    trusted = declared_by(Provenance(c2pa=credentials(ai=True, trusted=True)))
    assert "on no trust list" in unknown.because
    assert "a trusted signer" in trusted.because


@pytest.mark.parametrize("name", KNOWN_MARKS)
def test_a_mark_is_read_through_scattered_errors(name: str) -> None:
    bits = np.array([bit == "1" for bit in KNOWN_MARKS[name]], np.float32)
    votes = np.tile(bits, 40)
    flipped = np.random.default_rng(1).random(votes.size) < 0.3
    votes[flipped] = 1 - votes[flipped]
    found, agreement = find_mark(votes)
    assert found == name
    assert agreement > 0.95


def marked(message: str) -> np.ndarray:
    """A smooth colour picture with the message rounded into its U plane, block by block."""
    rows, columns = np.mgrid[:512, :512]
    rgb = np.stack([60 + rows / 8, 90 + columns / 8, 120 + rows / 16], 2).astype(np.uint8)
    yuv = cv2.cvtColor(rgb, cv2.COLOR_RGB2YUV)
    low = yuv[..., 1].astype(np.float64).reshape(256, 2, 256, 2).sum(axis=(1, 3)) / 2
    for number in range(64 * 64):
        row, column = number // 64 * 4, number % 64 * 4
        flat = low[row : row + 4, column : column + 4].ravel()
        place = 1 + int(np.argmax(flat[1:]))
        wanted = (flat[place] // 36 + 0.25 + 0.5 * int(message[number % len(message)])) * 36
        moved = (wanted - flat[place]) / 2
        top, left = 2 * (row + place // 4), 2 * (column + place % 4)
        yuv[top : top + 2, left : left + 2, 1] = np.clip(
            np.rint(yuv[top : top + 2, left : left + 2, 1] + moved), 0, 255
        )
    return cv2.cvtColor(yuv, cv2.COLOR_YUV2RGB)


@pytest.mark.parametrize("name", KNOWN_MARKS)
def test_a_mark_is_read_from_the_pixels_of_a_lossless_file(name: str, decoder: Decoder) -> None:
    out = io.BytesIO()
    Image.fromarray(marked(KNOWN_MARKS[name])).save(out, "PNG")
    findings = analyse_watermark(decoder.decode(out.getvalue()))
    assert findings.declared == Verdict.AI_GENERATED
    assert name in findings.declared_because


def test_chance_is_no_mark() -> None:
    votes = np.random.default_rng(2).integers(0, 2, 4096).astype(np.float32)
    assert find_mark(votes)[1] < MARK_NEEDED


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    with decoding(ImageLimits()) as running:
        yield running


def test_a_generators_text_chunk_is_read_from_the_file(decoder: Decoder) -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("parameters", "a cat, Steps: 20")
    out = io.BytesIO()
    Image.new("RGB", (300, 300), "navy").save(out, "PNG", pnginfo=info)
    findings = analyse_watermark(decoder.decode(out.getvalue()))
    assert findings.declared == Verdict.AI_GENERATED
    assert "'parameters'" in findings.declared_because


def test_a_plain_picture_declares_nothing(decoder: Decoder) -> None:
    out = io.BytesIO()
    Image.new("RGB", (300, 300), "navy").save(out, "JPEG", quality=90)
    picture = decoder.decode(out.getvalue())
    assert analyse_watermark(picture).declared is None
    assert is_standard_table(picture.tables[0])

"""Bad pictures end in one sentence, never in a dead decoder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from parley.agents.forensic.decode_worker import crop_box
from parley.agents.forensic.evidence import CompressionState
from parley.agents.forensic.image import Decoder, ImageLimits, decoding, jpeg_quality, read_file
from parley.bus.errors import BadInput
from tests.bad_images import BAD, GOOD_SIDE, saved, textured


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    with decoding(ImageLimits()) as running:
        yield running


@pytest.mark.parametrize(("make", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_with_a_sentence_and_the_next_picture_is_decoded(
    decoder: Decoder, make: Callable[[], bytes], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        decoder.decode(make())
    assert decoder.decode(saved(textured(), "PNG")).rgb.shape == (GOOD_SIDE, GOOD_SIDE, 3)


def test_only_the_first_frame_of_an_animation_is_looked_at(decoder: Decoder) -> None:
    first, second = textured(), Image.new("RGB", (GOOD_SIDE, GOOD_SIDE))
    data = saved(first, "PNG", save_all=True, append_images=[second])
    picture = decoder.decode(data)
    assert np.array_equal(picture.rgb, np.asarray(first))
    assert "only the first of 2 frames" in picture.notes[0]


def test_bytes_behind_the_image_and_between_its_segments_are_noted(decoder: Decoder) -> None:
    good = saved(textured(), "JPEG")
    at = good.index(b"\xff\xdb")
    picture = decoder.decode(good[:at] + b"stray" + good[at:] + b"hidden")
    assert picture.notes == (
        "6 bytes follow the image's end marker",
        "5 stray bytes stand between the file's segments",
    )


def test_a_path_that_vanishes_is_the_callers_problem(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(saved(textured(), "JPEG"))
    path.unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        read_file(path, ImageLimits())
    with pytest.raises(BadInput, match="cannot be read"):
        read_file(tmp_path, ImageLimits())


def test_a_slow_picture_is_given_up_and_the_decoder_lives_on() -> None:
    with decoding(ImageLimits(decode_seconds=0.0005)) as hasty:
        with pytest.raises(BadInput, match="took longer"):
            hasty.decode(saved(textured(2000, 2000), "PNG"))
        with pytest.raises(BadInput, match="took longer"):
            hasty.decode(saved(textured(2000, 2000), "PNG"))


def test_a_picture_that_needs_too_much_memory_costs_one_decoder_only() -> None:
    with decoding(ImageLimits(memory_bytes=160_000_000)) as small:
        with pytest.raises(BadInput, match=r"memory|ended the decoder|cannot be decoded"):
            small.decode(saved(Image.new("RGB", (6200, 6200)), "PNG"))
        assert small.decode(saved(textured(), "PNG")).width == GOOD_SIDE


@pytest.mark.parametrize(
    ("kind", "options", "state"),
    [
        ("PNG", {}, CompressionState.LOSSLESS),
        ("JPEG", {"quality": 95}, CompressionState.JPEG_HIGH),
        ("JPEG", {"quality": 75}, CompressionState.JPEG_LOW),
        ("WEBP", {}, CompressionState.WEBP),
    ],
)
def test_the_compression_state_follows_from_the_file(
    decoder: Decoder, kind: str, options: dict[str, object], state: CompressionState
) -> None:
    assert decoder.decode(saved(textured(), kind, **options)).state is state


@pytest.mark.parametrize("quality", [60, 75, 90, 95])
def test_the_quality_of_a_standard_table_is_recovered(decoder: Decoder, quality: int) -> None:
    picture = decoder.decode(saved(textured(), "JPEG", quality=quality))
    assert jpeg_quality(picture.tables[0]) == pytest.approx(quality, abs=1)


def test_large_images_are_cropped_on_the_block_grid() -> None:
    left, top, right, bottom = crop_box(4001, 3003, 2_000_000)
    assert (left % 8, top % 8, (right - left) % 8, (bottom - top) % 8) == (0, 0, 0, 0)
    assert 1_900_000 < (right - left) * (bottom - top) <= 2_000_000
    assert crop_box(300, 400, 2_000_000) == (0, 0, 300, 400)


def test_position_and_control_characters_never_leave_the_decoder(decoder: Decoder) -> None:
    exif = Image.Exif()
    exif[271] = "Make\x00\x1b[31m er\n" + "x" * 500
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    said = decoder.decode(saved(textured(), "JPEG", exif=exif)).provenance
    assert said.make.startswith("Make")
    assert said.make.isprintable()
    assert len(said.make) <= 200
    assert "52" not in repr(said)

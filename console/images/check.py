"""Images are looked at before they are submitted: a bad one costs nobody a debate."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from parley.agents.forensic.image import Decoder, ImageLimits, Picture, decoding, read_file
from parley.bus.errors import BadInput


class Photo(NamedTuple):
    path: Path
    data: bytes
    picture: Picture

    @property
    def media_type(self) -> str:
        return f"image/{self.picture.format.lower()}"


def check(path: Path, decoder: Decoder, limits: ImageLimits) -> Photo:
    """Raises BadInput that names the file and says what is wrong with it."""
    try:
        data = read_file(path, limits)
        return Photo(path, data, decoder.decode(data))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def mistakes_in(paths: Iterable[Path]) -> Iterator[str]:
    """One line for each image that cannot be debated."""
    limits = ImageLimits()
    with decoding(limits) as decoder:
        for path in paths:
            try:
                check(path, decoder, limits)
            except BadInput as error:
                yield str(error)

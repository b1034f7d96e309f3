"""Images by their content: what they are, whether they can be debated, and what they show."""

from parley.agents.forensic import looking_at_images
from parley.bus.errors import BadInput
from parley.bus.extras import MissingPackage

_SIGNS = (
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"WEBP", 8, "image/webp"),
)


def media_type_of(data: bytes) -> str | None:
    """Of the three kinds that are debated; None for anything else."""
    for sign, at, media_type in _SIGNS:
        if data[at : at + len(sign)] == sign:
            return media_type
    return None


def usable_image(data: bytes) -> str:
    """
    The media type. Raises BadInput for what cannot be debated.

    Who submits to agents elsewhere needs no packages that look at images: then the agents say it.
    """
    media_type = media_type_of(data)
    if media_type is None:
        raise BadInput("image: should be a JPEG, PNG or WEBP file")
    try:
        with looking_at_images():
            from parley.agents.forensic.image import ImageLimits, decoding  # noqa: PLC0415 - numpy
    except MissingPackage:
        return media_type
    with decoding(ImageLimits()) as decoder:
        try:
            decoder.decode(data)
        except BadInput as error:
            raise BadInput(f"image: {error}") from error
    return media_type

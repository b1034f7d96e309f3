"""Which image files were meant: those named, and those in the directories that were named."""

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from parley.agents.forensic import looking_at_images
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.bus.extras import MissingPackage
from parley.configs.settings import Settings
from parley.console.inputs.kind import input_of
from parley.console.runtime.brains import BrainChoice
from parley.console.runtime.plan import Wishes
from parley.console.runtime.submit import check_id

# Only these are taken from a directory; a file named outright is looked at whatever its name.
SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp"})
# Images too, but of kinds that are not debated: taken as well, so that each is refused by name.
OTHER_SUFFIXES = frozenset({".avif", ".bmp", ".gif", ".heic", ".heif", ".tif", ".tiff"})


@dataclass(frozen=True, slots=True)
class Job:
    panel: Panel
    photos: tuple[Path, ...]
    # Photographs by the camera in question, for its fingerprint.
    references: tuple[Path, ...] = ()
    given_id: str | None = None
    out: Path | None = None
    as_json: bool = False
    # What the panel was made from.
    wishes: Wishes = field(default_factory=Wishes)

    @property
    def several(self) -> bool:
        return len(self.photos) > 1


def photo_job(  # noqa: PLR0913, PLR0917 - what the command line says
    panel: Panel,
    inputs: Iterable[str],
    references: Iterable[str],
    given_id: str | None,
    out: Path | None,
    as_json: bool,
) -> Job:
    photos = tuple(photos_in(inputs))
    if not photos:
        raise BadInput("nothing to debate: name an image or a directory of images")
    check_id(given_id, len(photos))
    return Job(panel, photos, tuple(photos_in(references)), given_id, out, as_json)


def photo_runner() -> Callable[[Settings, Job, BrainChoice], Awaitable[int]]:
    """Raises BadInput where the packages that look at images are missing."""
    with looking_at_images():
        from parley.console.images.run import run_photos  # noqa: PLC0415 - loads numpy, OpenCV
    return run_photos


def usable_photos(inputs: Iterable[str]) -> list[Path]:
    """
    Raises BadInput with one line for each image that cannot be debated.

    Who submits to agents elsewhere needs no packages that look at images: then the agents say it.
    """
    photos = photos_in(inputs)
    try:
        with looking_at_images():
            from parley.console.images.check import mistakes_in  # noqa: PLC0415 - as above
    except MissingPackage:
        return photos
    mistakes = list(mistakes_in(photos))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return photos


def debates_images(panel: PanelBase) -> bool:
    """Whether the panel's rules look at an image rather than read a text."""
    return input_of(panel).takes(panel) == "image"


def photos_in(inputs: Iterable[str]) -> list[Path]:
    """Each once, in the order given; directories are searched to the bottom, in order of names."""
    return list(dict.fromkeys(path for given in inputs for path in _photos(Path(given))))


def _photos(path: Path) -> Iterator[Path]:
    try:
        is_directory = path.is_dir()
    except (OSError, ValueError) as error:
        raise BadInput(f"{str(path)[:80]}: no such file") from error
    if not is_directory:
        yield path
        return
    found = images_below(path)
    if not found:
        raise BadInput(f"{path}: no images in this directory ({', '.join(sorted(SUFFIXES))})")
    yield from found


def files_below(directory: Path) -> list[Path]:
    """
    In order of names, directories that cannot be listed and broken links among them.

    Whoever opens those says what is wrong: nothing is passed over in silence.
    """
    closed: list[OSError] = []
    walked = list(os.walk(directory, onerror=closed.append))
    files = [Path(folder, name) for folder, _, names in walked for name in names]
    return sorted(files + [Path(error.filename) for error in closed])


def images_below(directory: Path) -> list[Path]:
    taken = SUFFIXES | OTHER_SUFFIXES
    found = files_below(directory)
    return [path for path in found if path.suffix.lower() in taken or path.is_dir()]

"""Four skills that look at an image's bytes, and how they argue."""

from contextlib import AbstractContextManager

from parley.bus.extras import extra


def looking_at_images() -> AbstractContextManager[None]:
    """Around an import of what needs the extra `forensic`. Raises MissingPackage."""
    return extra("forensic", "looking at images")

"""Four skills that look at an image's bytes, and how they argue."""

from parley.bus.errors import BadInput


def missing(error: ModuleNotFoundError) -> BadInput:
    """What to tell somebody whose installation lacks the packages of the extra `forensic`."""
    return BadInput(f"looking at images needs {error.name}: pip install 'parley-debate[forensic]'")

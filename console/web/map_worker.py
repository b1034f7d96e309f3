"""
Draws the evidence of one image: its bytes on stdin, a `Drawn` as JSON on stdout.

Run by `parley.console.web.maps` as a process of its own, with limits.
"""

import resource
import sys
from base64 import b64encode

from parley.agents.forensic import looking_at_images
from parley.bus.errors import BadInput
from parley.console.web.map_form import Drawn, DrawnMap

MEMORY_BYTES = 3 << 30
CPU_S = 50


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    sys.stdout.write(_drawn(sys.stdin.buffer.read()).model_dump_json())


def _drawn(image: bytes) -> Drawn:
    try:
        with looking_at_images():
            from parley.agents.forensic.image import ImageLimits, decoding  # noqa: PLC0415 - numpy
            from parley.agents.forensic.pictures import draw_all  # noqa: PLC0415 - OpenCV
        with decoding(ImageLimits()) as decoder:
            picture = decoder.decode(image)
    except BadInput as error:
        return Drawn(problem=str(error))
    maps = (
        DrawnMap(name=one.name, title=one.title, caption=one.caption, png=b64encode(one.png))
        for one in draw_all(picture)
    )
    return Drawn(maps=tuple(maps))


if __name__ == "__main__":
    main()

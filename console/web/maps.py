"""
Evidence as pictures, drawn on demand in a process of its own with limits, and kept for a while.

Whatever an image does to its decoder or to the analysis happens there, and not to the server.
"""

import sys
from collections import OrderedDict
from subprocess import DEVNULL, PIPE

import anyio
from pydantic import ValidationError

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import NotFound
from parley.client import Client
from parley.console.web.map_form import Drawn, DrawnMap

WORKER = "parley.console.web.map_worker"
DRAWN_WITHIN_S = 60.0
MOST_KEPT_BYTES = 48 << 20


class Maps:
    def __init__(self, client: Client) -> None:
        self._client = client
        # One at a time: the analysis keeps a processor busy for a second or two.
        self._drawing = anyio.Lock()
        # By the image's hash, the one looked at last at the end.
        self._kept: OrderedDict[str, Drawn] = OrderedDict()

    async def of(self, image: BlobRef) -> tuple[DrawnMap, ...]:
        """Raises NotFound, with the reason, where nothing can be drawn."""
        drawn = self._kept.get(image.sha256) or await self._draw(image)
        self._keep(image.sha256, drawn)
        if drawn.problem is not None:
            raise NotFound(f"no pictures of the evidence: {drawn.problem}")
        return drawn.maps

    async def _draw(self, image: BlobRef) -> Drawn:
        async with self._drawing:
            # Somebody else may have waited for the same image.
            known = self._kept.get(image.sha256)
            return known or await _drawn(await self._client.get_blob(image))

    def _keep(self, sha256: str, drawn: Drawn) -> None:
        self._kept[sha256] = drawn
        self._kept.move_to_end(sha256)
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > MOST_KEPT_BYTES:
            self._kept.popitem(last=False)


async def _drawn(image: bytes) -> Drawn:
    command = [sys.executable, "-m", WORKER]
    with anyio.move_on_after(DRAWN_WITHIN_S):
        ended = await anyio.run_process(
            command, input=image, stdout=PIPE, stderr=DEVNULL, check=False
        )
        try:
            return Drawn.model_validate_json(ended.stdout)
        except ValidationError:
            return Drawn(problem="the analysis broke off")
    return Drawn(problem=f"the analysis took longer than {DRAWN_WITHIN_S:g} s")


def _size(drawn: Drawn) -> int:
    return sum(len(one.png) for one in drawn.maps)

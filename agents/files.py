"""Files of YAML that travel with a debate: read once, beside the event loop that other asks share."""

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

from parley.agents.brain import BrainFailure, Task
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import FailureReason
from parley.bus.errors import BadInput

# PyYAML reads about 50 kB a second.
LARGEST_FILE_BYTES = 512 * 1024
# Parsed at once; a thread would take longer to start.
SMALL_FILE_BYTES = 4096
# Kept parsed between the asks of their debates.
FILES_CACHED = 256

ParsedT = TypeVar("ParsedT")


class ParsedFiles(Generic[ParsedT]):
    def __init__(self, parse: Callable[[bytes], ParsedT]) -> None:
        self._parse = parse
        self._parsed: dict[str, ParsedT] = {}
        # One thread at a time: several would take the interpreter from the loop together.
        self._turn = anyio.Lock()

    async def read(self, task: Task, ref: BlobRef) -> ParsedT:
        """Raises BrainFailure for a file that is too large or cannot be used."""
        if ref.size > LARGEST_FILE_BYTES:
            raise _unusable(
                f"a file of {ref.size} bytes is too large: at most {LARGEST_FILE_BYTES}"
            )
        async with self._turn:
            if ref.sha256 not in self._parsed:
                parsed = await self._read(await task.fetch(ref))
                while len(self._parsed) >= FILES_CACHED:
                    del self._parsed[next(iter(self._parsed))]
                self._parsed[ref.sha256] = parsed
            return self._parsed[ref.sha256]

    async def _read(self, data: bytes) -> ParsedT:
        try:
            if len(data) <= SMALL_FILE_BYTES:
                return self._parse(data)
            return await anyio.to_thread.run_sync(self._parse, data)
        except BadInput as error:
            raise _unusable(str(error)) from error


def check_file_size(data: bytes, source: str) -> None:
    """Raises BadInput for a file that no agent would read."""
    if len(data) > LARGEST_FILE_BYTES:
        raise BadInput(f"{source}: {len(data)} bytes, more than {LARGEST_FILE_BYTES}")


def _unusable(why: str) -> BrainFailure:
    return BrainFailure(FailureReason.UNSUPPORTED_REQUEST, why)

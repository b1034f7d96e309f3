"""`parley serve` as a process of its own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.processes import Role


class Served(Role):
    @property
    def page(self) -> str:
        found = re.search(r"The web page is at (\S+)", self.log.read_text())
        assert found is not None
        return found[1]

    @property
    def resident_mb(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / 1e6

    @property
    def cpu_s(self) -> float:
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)


@contextmanager
def serving(url: str, home: Path, *arguments: str) -> Iterator[Served]:
    role = Served(("serve", "--port", "0", *arguments), url, home / "serve.log", "debates_listed")
    role.start()
    try:
        yield role
    finally:
        if role.process.poll() is None:
            role.kill()

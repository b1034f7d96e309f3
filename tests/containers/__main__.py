"""
python -m tests.containers                everything in containers, with the images made from scratch
python -m tests.containers --short        the forensic panel only: for CI, and loud where it cannot run

Nothing of it is left afterwards but the images.
"""

import argparse
import fcntl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from tests.containers import scenes
from tests.containers.engine import Engine, Missing, find, progress
from tests.containers.images import prepare, roles
from tests.containers.system import PANELS, System, system
from tests.simulation.seeds import logs_to

SHORT = {"parley-coordinator:0.1.0", "parley-forensic:0.1.0"}
# Nothing is trained or served here.
LONG = set(roles()) - {"parley-model:0.1.0"}

Scene = Callable[[System], str | Awaitable[str]]
FIRST: tuple[Scene, ...] = (scenes.starts, scenes.confined, scenes.debates)
LAST: tuple[Scene, ...] = (
    scenes.sharing,
    scenes.draining,
    partial(scenes.killing, services=("coordinator", "nats")),
    scenes.audited,
)


def show(
    engine: Engine,
    panels: Sequence[str],
    played: Sequence[Scene],
    extras: Sequence[str] = (),
    *,
    clustered: bool = False,
) -> None:
    with tempfile.TemporaryDirectory(prefix="parley-containers-") as folder:
        begun = time.monotonic()
        Path(folder).chmod(0o755)
        with system(engine, Path(folder, "deploy"), panels, extras, clustered=clustered) as running:
            running.until_healthy()
            running.until_present()
            count = len(running.containers())
            progress(
                f"  {count} containers healthy and present in {time.monotonic() - begun:.0f} s"
            )
            for scene in played:
                with logs_to(None):
                    seen = anyio.run(_seen, scene, running)
                progress(f"  {seen}")


async def _seen(scene: Scene, running: System) -> str:
    seen = scene(running)
    return seen if isinstance(seen, str) else await seen


def play(*, short: bool) -> int:
    begun = time.monotonic()
    try:
        engine = find()
        progress(f"{engine.name}; images")
        images = SHORT if short else LONG
        prepare(engine, images)
        progress(f"  {scenes.bills(engine, sorted(images))}")
    except (Missing, subprocess.TimeoutExpired) as missing:
        sys.stderr.write(f"{'SKIPPED: ' if short else ''}no containers here: {missing}\n")
        return 0 if short else 1
    if short:
        progress("deploy/compose.yaml, the forensic panel")
        show(engine, ("forensic",), (*FIRST, *LAST))
    else:
        progress("deploy/compose.yaml, every panel and the page")
        show(engine, PANELS, (*FIRST, scenes.page, *LAST, scenes.integration), ["web"])
        progress("deploy/compose.yaml and compose.cluster.yaml, the forensic panel")
        last = (scenes.debates, scenes.losing_a_node, scenes.audited)
        show(engine, ("forensic",), last, clustered=True)
    progress(f"all of it in {time.monotonic() - begun:.0f} s")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.containers", description=__doc__)
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    # Images and the project have one name each on a machine.
    with Path(tempfile.gettempdir(), "parley-containers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return play(short=short)


if __name__ == "__main__":
    sys.exit(main())

"""How the deployable processes take signals."""

import signal
import subprocess
import sys
from textwrap import dedent

import pytest

# Takes a while to leave, as one does that has requests under way.
RELUCTANT = dedent(
    """
    import anyio
    from parley.console.cli import logs
    from parley.console.runtime.signals import serve
    from parley.console.runtime.system import run_async

    async def main(stop):
        print("ready", flush=True)
        try:
            await stop.wait()
        finally:
            with anyio.CancelScope(shield=True):
                print("leaving", flush=True)
                await anyio.sleep(0.5)
                print("left", flush=True)

    logs.configure("error", "json")
    raise SystemExit(run_async(lambda: serve(main)))
    """
)


@pytest.mark.parametrize(
    ("first", "then", "code"),
    [
        (signal.SIGINT, signal.SIGINT, 130),
        (signal.SIGINT, signal.SIGTERM, 130),
        (signal.SIGTERM, signal.SIGINT, 130),
        (signal.SIGTERM, signal.SIGTERM, 0),
    ],
)
def test_an_impatient_person_does_not_cut_the_leaving_short(first, then, code):
    with subprocess.Popen(
        [sys.executable, "-c", RELUCTANT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == "leaving\n"
        process.send_signal(then)
        assert process.stdout.readline() == "left\n"
        assert process.wait(60) == code
        assert "Traceback" not in process.stderr.read()

"""Where the command begins: who asks what there is need not wait for what there is to be imported."""

import os
import sys

# Set by the shell that completes a command line.
COMPLETING = "_PARLEY_COMPLETE"
# The exit code where whoever read our output is gone.
CUT_OFF = 1


def silence_stdout() -> None:
    """Whoever read our output is gone; the interpreter's last flush must not complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    if sys.argv[1:] in ([], ["--help"]) and COMPLETING not in os.environ:  # noqa: TID251 - before any setting is read
        from parley.console.cli.overview import overview  # noqa: PLC0415

        try:
            print(overview(), flush=True)
        except BrokenPipeError:
            silence_stdout()
            sys.exit(CUT_OFF)
        return
    from parley.console.cli.main import main as run  # noqa: PLC0415

    run()

"""Where the command begins: who asks what there is need not wait for what there is to be imported."""

import os
import sys

# Set by the shell that completes a command line.
COMPLETING = "_PARLEY_COMPLETE"


def main() -> None:
    if sys.argv[1:] in ([], ["--help"]) and COMPLETING not in os.environ:  # noqa: TID251 - before any setting is read
        from parley.console.cli.overview import overview  # noqa: PLC0415

        print(overview())
        return
    from parley.console.cli.main import main as run  # noqa: PLC0415

    run()

"""Where the command begins: who asks what there is need not wait for what there is to be imported."""

import sys


def main() -> None:
    if sys.argv[1:] in ([], ["--help"]):
        from parley.console.cli.overview import overview  # noqa: PLC0415

        print(overview())
        return
    from parley.console.cli.main import main as run  # noqa: PLC0415

    run()

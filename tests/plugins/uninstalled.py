"""`python -m tests.plugins.uninstalled …`: the command where the auctions are not installed."""

import sys
from importlib import metadata

_installed = metadata.entry_points


def entry_points(*, group: str) -> list[metadata.EntryPoint]:
    return [one for one in _installed(group=group) if not one.value.startswith("parley_auction")]


if __name__ == "__main__":
    metadata.entry_points = entry_points  # type: ignore[assignment]
    from parley.console.cli.start import main

    sys.argv[0] = "parley"
    main()

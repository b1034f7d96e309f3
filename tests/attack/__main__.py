"""
python -m tests.attack                    every login against a system at work, about ten minutes
"""

import argparse
import sys
import tempfile
from pathlib import Path

import anyio

from tests.attack.run import Report, attack

LONGEST_S = 3600.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--most", type=int, default=60, help="attempts of a group with a login")
    parser.add_argument("--home", type=Path, help="keeps the logs of the processes")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parley-attack-") as temporary:
        home: Path = wanted.home or Path(temporary)

        async def run() -> Report:
            with anyio.fail_after(LONGEST_S):
                return await attack(home, wanted.most)

        report = anyio.run(run)
    sys.stdout.write(f"{report}\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())

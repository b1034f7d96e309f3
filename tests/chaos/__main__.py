"""
python -m tests.chaos                     500 debates on one server, under fire
python -m tests.chaos --cluster           the same on three servers, whose leaders are killed
"""

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

import anyio

from tests.chaos.run import Plan, Report, under_fire, under_fire_in_a_cluster
from tests.simulation.seeds import logs_to


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--debates", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--every", type=float, default=0.3, help="seconds between submissions")
    parser.add_argument("--pause", type=float, default=4.0, help="longest seconds between blows")
    parser.add_argument("--cluster", action="store_true")
    wanted = parser.parse_args()
    plan = Plan(wanted.seed, wanted.debates, wanted.every, wanted.pause)
    sys.stdout.write(f"seed {plan.seed}\n")
    with tempfile.TemporaryDirectory(prefix="parley-chaos-") as home:

        async def run() -> Report:
            start = under_fire_in_a_cluster if wanted.cluster else under_fire
            with anyio.fail_after(plan.longest_s):
                return await start(Path(home), plan)

        with logs_to(None):
            report = anyio.run(run)
    sys.stdout.write(f"{report}\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())

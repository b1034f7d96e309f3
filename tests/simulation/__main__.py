"""
python -m tests.simulation --seeds 10000          every seed from 0 on, on all cores
python -m tests.simulation --seed 17 --trace      one seed, told in full
"""

import argparse
import sys

from tests.simulation.seeds import run_seeds, tell_seed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one seed only")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens in it")
    wanted = parser.parse_args()
    if wanted.seed is not None:
        outcome = tell_seed(wanted.seed, _say if wanted.trace else lambda _text: None)
        _say(outcome)
        return 1 if outcome.violations else 0
    tally = run_seeds(range(wanted.first, wanted.first + wanted.seeds), tell=_progress)
    _say(f"\n{tally.report()}")
    return 1 if tally.failures else 0


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")


def _progress(text: str) -> None:
    sys.stderr.write(f"\r{text}")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())

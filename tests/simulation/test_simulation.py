"""500 seeds of everything that can go wrong; and proof that the checks can fail."""

import subprocess
import sys
from collections.abc import Callable
from os import environ  # noqa: TID251 - a process with another hash seed

import pytest

from tests.simulation import broken
from tests.simulation.seeds import logs_to, run_seeds
from tests.simulation.world import Build, simulate


@pytest.mark.timeout(900)
def test_the_invariants_hold_for_500_seeds() -> None:
    tally = run_seeds(range(500))
    assert not tally.failures, tally.report()
    assert tally.debates > 1000
    verdicts = {"quorum_lost", "cancelled", "stalemate", "no_progress", "consensus_reached"}
    regimes = {"decision_sufficiency", "answer_convergence", "verification_pass"}
    aspects = {"debate_action", "low_signal", "neutral_only"}
    assert verdicts | regimes | aspects <= set(tally.reasons)


@pytest.mark.parametrize("seed", [7, 72])
def test_a_seed_takes_the_same_course_in_every_process(seed: int) -> None:
    """To the byte and in order, logs included: whatever hashes, addresses and clocks do."""
    told = []
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed), "--trace"]
        environment = {**environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
        told.append(subprocess.run(command, env=environment, capture_output=True, check=True))
    assert told[0].stdout == told[1].stdout
    assert b"ctl.closed" in told[0].stdout


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (broken.blind, "forks the control chain"),
        (broken.chatty, "stands in the log twice"),
        (broken.forgetful, "not in the archive"),
        (broken.patient, "s of attention"),
        (broken.hasty, "fired after"),
        (broken.careless, "was there all the time"),
        (broken.selfish, "s of attention"),
        (broken.offended, "s of attention"),
        (broken.wishful, "is not what the facts call for"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_broken_parts_are_caught(build: Callable[[], Build], says: str) -> None:
    with logs_to(None):
        for seed in range(100):
            if any(says in problem for problem in simulate(seed, build()).violations):
                return
    pytest.fail(f"100 seeds, and nothing {says}")

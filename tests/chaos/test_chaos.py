"""The short form of `make chaos`: everything that goes wrong there, on sixty debates."""

import secrets
from pathlib import Path

import pytest

from tests.chaos.run import Plan, under_fire


@pytest.mark.timeout(240)
async def test_sixty_debates_under_fire(tmp_path: Path) -> None:
    plan = Plan(seed=secrets.randbelow(10**6), debates=60, every_s=0.3, pause_s=2.0)
    report = await under_fire(tmp_path, plan)
    assert not report.problems, str(report)
    assert report.inquest.closed == plan.debates

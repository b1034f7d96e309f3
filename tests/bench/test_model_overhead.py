"""What asking a model through Parley costs, at no model latency, against a bare call."""

import pytest

from tests.bench.model_overhead import overhead

# A turn on the model brain, in units of a bare call of the same package.
ALLOWED = 1.3


@pytest.mark.timeout(90)
async def test_our_part_of_a_turn_is_small():
    """By the clock and in CPU time; others share the machine, hence the best of three."""
    measured = [await overhead(calls=150)]
    while max(measured[-1].cpu, measured[-1].clock) > ALLOWED and len(measured) < 3:
        measured.append(await overhead(calls=150))
    assert min(max(one.cpu, one.clock) for one in measured) <= ALLOWED, measured

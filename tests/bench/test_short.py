"""The short form of `make bench`: the machinery works, and Parley stays within reach of the floor."""

from tests.bench.__main__ import idle_memory, pairs, table
from tests.bench.processes import Plan

# Far below what a quiet machine shows: this guards against a blunder, `make bench` measures.
LEAST_OF_THE_FLOOR = 0.15
MOST_KB_PER_OPEN_DEBATE = 40
MOST_KB_GROWTH = 4


def test_parley_stays_within_reach_of_the_floor():
    floor, parley = pairs(Plan(debates=150, concurrent=100, alone=10, warm_up=5))
    assert parley.debates_per_s > LEAST_OF_THE_FLOOR * floor.debates_per_s
    assert "parley, 100 concurrent" in table([floor, parley])


def test_a_waiting_debate_costs_little_memory_and_no_more_with_age():
    idle = idle_memory(400)
    assert idle["kb_per_open_debate"] < MOST_KB_PER_OPEN_DEBATE
    assert idle["kb_growth_in_10_s"] < MOST_KB_GROWTH

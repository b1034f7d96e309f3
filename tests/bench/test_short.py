"""The short form of `make bench`: the machinery works, and Parley stays within reach of the floor."""

from tests.bench.__main__ import idle_memory, pairs
from tests.bench.processes import Plan
from tests.bench.report import Idle, Report

# Far below what a quiet machine shows: this guards against a blunder, `make bench` measures.
LEAST_OF_THE_FLOOR = 0.15
MOST_KB_PER_OPEN_DEBATE = 40
MOST_KB_GROWTH = 4
# Submitted, opened, four asks of four turns each, terminated, decided, closed.
MESSAGES_OF_A_DEBATE = 25


def test_parley_stays_within_reach_of_the_floor():
    plan = Plan(debates=150, concurrent=100, alone=10, warm_up=5, sampled=True)
    floor, parley = rows = pairs(plan)
    assert parley.debates_per_s > LEAST_OF_THE_FLOOR * floor.debates_per_s
    assert floor.stored_messages == parley.stored_messages == MESSAGES_OF_A_DEBATE
    idle = Idle(debates=1, kb_per_open_debate=9.0, kb_growth_in_10_s=0.0)
    shared = parley.model_copy(
        update={"coordinators": 4, "coordinator_cpu_ms": 1.5 * parley.coordinator_cpu_ms}
    )
    page = Report(machine="here", rows=[*rows, shared], bar=rows, sampled=rows, idle=idle).page()
    assert "| parley, 100 concurrent |" in page
    assert "against one: 1.50 with 4 " in page
    assert "| rules | 0.00 |" in page


def test_a_waiting_debate_costs_little_memory_and_no_more_with_age():
    idle = idle_memory(400)
    assert idle.kb_per_open_debate < MOST_KB_PER_OPEN_DEBATE
    assert idle.kb_growth_in_10_s < MOST_KB_GROWTH

"""
Who may be missing in a step, and who may not.

A persona has no excuse if its brain answers, one of its replicas lived throughout the step, and
there was time for an answer: also for a second one, where another replica was ended while it may
have held the ask. Whatever else befell the persona in the step excuses it.
"""

from collections.abc import Sequence

from parley.bus.contracts.facts import Asked
from tests.simulation.plan import Blow, Scenario
from tests.simulation.process import Process

# Longer delays keep signs of life from arriving in time.
LONGEST_DELAY_S = 0.2
# The ask to the agent, a large request to be fetched, the turn to the log.
HOPS = 4
SLACK_S = 0.5


def answers(scenario: Scenario) -> bool:
    """Whether every brain answers, what it says arrives, and nobody forges a turn in its place."""
    moods, faults = scenario.moods, scenario.faults
    moody = moods.silent or moods.fails or moods.crashes
    lossy = faults.lost_writes or faults.delay_s > LONGEST_DELAY_S
    return not (moody or lossy or scenario.forgeries)


def has_excuse(
    scenario: Scenario, replicas: Sequence[Process], ask: Asked, asked_at: float, ack_wait_s: float
) -> bool:
    if not answers(scenario) or not any(_lived_since(asked_at, one) for one in replicas):
        return True
    struck = [one for one in replicas if not _lived_since(asked_at, one)]
    if any(_was_frozen(one, asked_at) for one in struck):
        return True
    ends = [at for one in struck for at, _ in one.suffered if at >= asked_at]
    if len(ends) > 1 or (ends and scenario.faults.duplicates):
        return True
    handed_out_at = max((at + ack_wait_s for at in ends), default=asked_at)
    takes_s = scenario.moods.slowest_s + HOPS * scenario.faults.delay_s + SLACK_S
    return handed_out_at + takes_s > asked_at + ask.deadline_s


def _lived_since(moment: float, process: Process) -> bool:
    return process.well_since is not None and process.well_since <= moment


def _was_frozen(process: Process, since: float) -> bool:
    """It may have been frozen before, and have taken the ask in its sleep."""
    later = [blow for at, blow in process.suffered if at >= since]
    earlier = [blow for at, blow in process.suffered if at < since]
    return Blow.FREEZE in [*earlier[-1:], *later]

"""The arithmetic of budgets: what is granted, what is charged, what comes back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.llm.budget_arithmetic import (
    Account,
    Balance,
    Ruling,
    attempt_at,
    balance,
    rule,
)
from parley.bus.contracts.base import NOTHING_USED, Usage
from parley.bus.contracts.budget import Budget

ONE_CALL = Usage(model_calls=1, input_tokens=70, output_tokens=30, cost=0.1)


def amount(calls: int = 0, tokens: int = 0, cost: float = 0.0) -> Usage:
    return Usage(model_calls=calls, input_tokens=tokens, cost=cost)


@pytest.mark.parametrize(
    ("budget", "used", "held", "ruling"),
    [
        ({}, amount(99), amount(99), Ruling.GRANTED),
        ({"calls": 3}, amount(2), amount(), Ruling.GRANTED),
        ({"calls": 3}, amount(2), amount(1), Ruling.LATER),
        ({"calls": 3}, amount(3), amount(), Ruling.REFUSED),
        ({"tokens": 50}, amount(), amount(), Ruling.GRANTED),
        ({"tokens": 150}, amount(), amount(tokens=60), Ruling.LATER),
        ({"tokens": 160}, amount(), amount(tokens=60), Ruling.GRANTED),
        ({"tokens": 150}, amount(tokens=149), amount(), Ruling.GRANTED),
        ({"tokens": 150}, amount(tokens=150), amount(), Ruling.REFUSED),
        ({"cost": 1.0}, amount(cost=1.0), amount(), Ruling.REFUSED),
        ({"cost": 1.0}, amount(cost=0.95), amount(cost=0.01), Ruling.LATER),
        ({"calls": 9, "tokens": 5}, amount(tokens=5), amount(), Ruling.REFUSED),
    ],
    ids=str,
)
def test_a_call_is_granted_while_something_is_left(budget, used, held, ruling):
    assert rule(Budget(**budget), Balance(used=used, held=held), ONE_CALL) is ruling


def test_time_is_a_limit_too():
    budget = Budget(seconds=10)
    assert rule(budget, Balance(seconds=9.9), ONE_CALL) is Ruling.GRANTED
    assert rule(budget, Balance(seconds=10.0), ONE_CALL) is Ruling.REFUSED


def test_what_a_crashed_holder_held_is_free_after_its_time():
    account = Account(began_ns=0).holding("d.opening", ONE_CALL, until_ns=1_000)
    assert balance([account], 999).held == ONE_CALL
    assert balance([account], 1_000).held == NOTHING_USED


def test_a_repeated_write_charges_nothing_twice():
    account = Account(began_ns=0).settled("d.opening#1", amount(2, 200))
    assert account.settled("d.opening#1", amount(2, 200)) == account
    assert balance([account], 0) == Balance(used=amount(2, 200))


def test_an_ask_that_is_handed_out_again_is_charged_for_every_attempt():
    """What the first attempt used stays used; what it held goes over to the second."""
    first, second = (attempt_at("d.opening", mark) for mark in "12")
    account = Account(began_ns=0).settled(first, amount(2, 200)).holding(first, ONE_CALL, 1_000)
    again = account.taken_over(second).holding(second, ONE_CALL, 2_000)
    assert balance([again], 0) == Balance(used=amount(2, 200), held=ONE_CALL)
    paid = again.settled(second, amount(1, 150))
    assert balance([paid], 0) == Balance(used=amount(3, 350))
    assert paid.used_by_others_at(second) == amount(2, 200)
    assert paid.used_by_others_at(attempt_at("d.round-1", "1")) == NOTHING_USED


def test_an_attempt_that_was_given_up_for_lost_does_not_free_what_the_next_one_holds():
    first, second = (attempt_at("d.opening", mark) for mark in "12")
    account = Account(began_ns=0).holding(first, ONE_CALL, 1_000).taken_over(second)
    late = account.holding(second, ONE_CALL, 2_000).settled(first, amount(1, 150))
    assert balance([late], 0) == Balance(used=amount(1, 150), held=ONE_CALL)


def test_old_attempts_are_added_up_and_nothing_is_lost():
    account = Account(began_ns=0).holding("busy", ONE_CALL, 10**18)
    for number in range(500):
        account = account.settled(f"d{number}.opening", amount(1, 10))
    assert len(account.attempts) < 70
    assert "busy" in account.attempts
    assert balance([account], 1).used == amount(500, 5000)


@given(
    limit=st.integers(1, 12),
    moves=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60),
)
@settings(deadline=None, max_examples=150)
def test_used_and_held_calls_never_exceed_the_budget(limit, moves):
    """Four asks of two personas, each in turn reserving or settling what it reserved."""
    budget = Budget(calls=limit)
    accounts = {"a": Account(began_ns=0), "b": Account(began_ns=0)}
    used = dict.fromkeys(range(4), 0)
    open_calls: set[int] = set()
    for ask, settles in moves:
        who = "ab"[ask % 2]
        if settles and ask in open_calls:
            used[ask] += 1
            open_calls.discard(ask)
            accounts[who] = accounts[who].settled(str(ask), amount(used[ask]))
        elif not settles and ask not in open_calls:
            now = balance(accounts.values(), 1)
            if rule(budget, now, amount(1)) is Ruling.GRANTED:
                open_calls.add(ask)
                accounts[who] = accounts[who].holding(str(ask), amount(1), 10**18)
        now = balance(accounts.values(), 1)
        assert now.used.model_calls == sum(used.values())
        assert now.used.model_calls + now.held.model_calls <= limit


@pytest.mark.parametrize(
    "text",
    [
        '{"began_ns": 0, "spent": {"model_calls": -5}}',
        '{"began_ns": 0, "attempts": {"x": {"used": {"cost": -1}}}}',
        '{"began_ns": 0, "attempts": {"x": {"used": {"cost": NaN}}}}',
    ],
)
def test_nobody_can_hold_less_than_nothing(text):
    with pytest.raises(ValueError, match="validation error"):
        Account.model_validate_json(text)

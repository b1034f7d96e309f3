"""The arithmetic of budgets: what is granted, what is charged, what comes back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.model.ledger import (
    NOTHING,
    Account,
    Amount,
    Balance,
    Ruling,
    balance,
    rule,
)
from parley.bus.contracts.budget import Budget

ONE_CALL = Amount(calls=1, tokens=100, cost=0.1)


def amount(calls: int = 0, tokens: int = 0, cost: float = 0.0) -> Amount:
    return Amount(calls=calls, tokens=tokens, cost=cost)


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
    assert balance([account], 1_000).held == NOTHING


def test_an_ask_that_is_handed_out_again_is_charged_once():
    first = Account(began_ns=0).holding("d.opening", ONE_CALL, 1_000)
    again = first.holding("d.opening", ONE_CALL, 2_000)
    assert balance([again], 0).held == ONE_CALL
    paid = again.settled("d.opening", amount(2, 200)).settled("d.opening", amount(1, 150))
    assert balance([paid], 0) == Balance(used=amount(2, 200))


def test_old_asks_are_added_up_and_nothing_is_lost():
    account = Account(began_ns=0).holding("busy", ONE_CALL, 10**18)
    for number in range(500):
        account = account.settled(f"d{number}.opening", amount(1, 10))
    assert len(account.asks) < 70
    assert "busy" in account.asks
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
        assert now.used.calls == sum(used.values())
        assert now.used.calls + now.held.calls <= limit


@pytest.mark.parametrize(
    "text",
    [
        '{"began_ns": 0, "spent": {"calls": -5}}',
        '{"began_ns": 0, "asks": {"x": {"used": {"cost": -1}}}}',
        '{"began_ns": 0, "asks": {"x": {"used": {"cost": NaN}}}}',
    ],
)
def test_nobody_can_hold_less_than_nothing(text):
    with pytest.raises(ValueError, match="validation error"):
        Account.model_validate_json(text)

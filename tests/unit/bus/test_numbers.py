"""No number of a contract is infinite, and none is so large that a sum of many would be."""

import importlib
import math
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from parley.agents.llm.budget_arithmetic import Account, Charge
from parley.bus import contracts
from parley.bus.codec import decode
from parley.bus.contracts.base import MOST, Contract, Usage, sum_of
from parley.bus.contracts.facts import Failure, FailureReason, TurnTaken
from parley.bus.errors import DecodeError

EXTREMES = (1.7e308, -1.7e308, math.inf, -math.inf, math.nan, 10**400, -(10**400))
# Beyond any moment in nanoseconds.
LARGEST = 10**20
# What an agent measured or concluded, as it said it: finite, and never added up.
AS_SAID = {"evidence", "conclusion", "unresolved_conflicts", "value", "threshold"}
# Written by a coordinator or a batch only.
FIGURES = {"thresholds", "values", "output", "call_metadata", "brief", "params"}


def models() -> list[type[Contract]]:
    for module in pkgutil.walk_packages(contracts.__path__, f"{contracts.__name__}."):
        importlib.import_module(module.name)
    found: dict[str, type[Contract]] = {}
    waiting = [Contract]
    while waiting:
        for one in waiting.pop().__subclasses__():
            waiting.append(one)
            if one.__module__.startswith(contracts.__name__):
                found[f"{one.__module__}.{one.__name__}"] = one
    return [*found.values(), Account, Charge]


def numbers(value: object) -> Iterator[float]:
    match value:
        case bool() | str() | None:
            return
        case int() | float():
            yield value
        case dict():
            for one in value.values():
                yield from numbers(one)
        case list():
            for one in value:
                yield from numbers(one)
        case _:
            raise AssertionError(value)


def taken(model: type[BaseModel], field: str, value: object) -> object:
    """What the field holds afterwards; None where the value is refused."""
    try:
        made = model.__pydantic_validator__.validate_assignment(
            model.model_construct(), field, value
        )
    except (ValidationError, OverflowError):
        return None
    return to_jsonable_python(getattr(made, field), inf_nan_mode="constants")


@pytest.mark.parametrize("model", models(), ids=lambda one: one.__name__)
def test_no_field_takes_an_extreme_number(model: type[Contract]) -> None:
    open_model: Any = type(model.__name__, (model,), {"model_config": {"frozen": False}})
    open_model.model_rebuild()
    for field in set(model.model_fields) - FIGURES:
        for extreme in EXTREMES:
            for value in (extreme, [extreme], {"k": extreme}, {"k": [extreme]}):
                for number in numbers(taken(open_model, field, value)):
                    assert math.isfinite(number), (field, value)
                    assert field in AS_SAID or abs(number) <= LARGEST, (field, value)


@pytest.mark.parametrize("number", ["1.7e308", "1e999", "NaN", "Infinity", "-1", "1e13"])
@pytest.mark.parametrize("name", ["cost", "input_tokens", "model_calls"])
def test_a_turn_of_senseless_usage_is_no_fact(name: str, number: str) -> None:
    turn = TurnTaken(step="s", persona="p", content=Failure(reason=FailureReason.BRAIN_ERROR))
    data = turn.model_dump_json()[:-1] + f',"usage":{{"{name}":{number}}}}}'
    with pytest.raises(DecodeError):
        decode("turn.s.p", data.encode())


def test_usages_of_any_size_add_up() -> None:
    most = Usage(model_calls=MOST, input_tokens=MOST, output_tokens=MOST, cost=MOST)
    assert sum_of([most] * 3) == most
    assert sum_of([Usage(cost=0.25), Usage(cost=0.5, model_calls=2)]) == Usage(
        cost=0.75, model_calls=2
    )

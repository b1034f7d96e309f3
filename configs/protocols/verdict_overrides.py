"""
What somebody wants otherwise for one debate of verdicts, live or recorded, laid over its panel.

The short names of parameters and the places of rules are two ways to the same value: where a panel
lists stop rules of its own, `max_rounds` is `stop.rounds.at`.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from parley.bus.contracts.verdicts.panel import (
    PARAMETERS,
    VerdictPanel,
    VerdictParams,
    briefs_list,
)
from parley.bus.contracts.verdicts.rules import ANY, AllOf, OwnStop, StopRule, rule_name
from parley.bus.errors import BadInput
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import Override
from parley.configs.protocols.verdict_rules import read_decide_rule, read_stop, stop_names


def lay_over(
    data: Mapping[str, object],
    overrides: Sequence[Override],
    mistakes: list[str],
    name: str,
    plain: Sequence[str] = ("quorum", "visibility"),
) -> VerdictPanel:
    """
    The panel with the overrides in their places; `name` is where the other values come from.

    Raises BadInput with one line for each mistake, those given included.
    """
    known = known_keys(data, plain)
    mistakes += [
        f"{one.origin}: {name_unknown('key', one.key, worth_naming(known))}"
        for one in overrides
        if not _is_known(one.key, known)
    ]
    laid = _Laid(data, [one for one in overrides if _is_known(one.key, known)], mistakes)
    seats = len(laid.seats)
    quorum = laid.data["quorum"]
    if isinstance(quorum, int) and quorum > seats:
        where = laid.origin(("quorum",)) or name
        mistakes.append(f"{where}: quorum: {quorum} of {seats} personas can never speak")
    try:
        panel = VerdictPanel.model_validate(laid.data)
    except ValidationError as error:
        mistakes += explain(error, VerdictPanel, lambda place: laid.origin(place) or name)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return panel


def known_keys(data: Mapping[str, object], plain: Sequence[str]) -> list[str]:
    stop = _stop_in(data)
    rules = [one for rule in stop for one in (rule.rules if isinstance(rule, AllOf) else (rule,))]
    return [
        *VerdictParams.model_fields,
        *plain,
        *(f"trust.{seat}" for seat in _seats(data)),
        "stop",
        *dict.fromkeys(
            f"stop.{rule_name(rule)}.{field}"
            for rule in rules
            if not isinstance(rule, OwnStop)
            for field in type(rule).model_fields
            if field != "rule"
        ),
        "decide",
        *(f"decide.{key}" for key in (*stop_names(), ANY)),
    ]


def worth_naming(keys: Iterable[str]) -> list[str]:
    """One key of `decide` stands for all of them where a person is told what there is."""
    return [key for key in keys if not key.startswith("decide.") or key == f"decide.{ANY}"]


def with_fields(
    stop: Sequence[StopRule], changes: Mapping[tuple[str, str], object]
) -> tuple[StopRule, ...]:
    """The rules with other values of their parameters, unchecked, wherever they stand."""

    def changed(rule: StopRule) -> StopRule:
        if isinstance(rule, AllOf):
            return rule.model_copy(update={"rules": tuple(changed(one) for one in rule.rules)})
        own = {field: value for (name, field), value in changes.items() if name == rule.rule}
        return rule.model_copy(update=own)

    return tuple(changed(rule) for rule in stop)


class _Laid:
    """A panel's data with overrides laid over it, and where each of them came from."""

    def __init__(
        self, data: Mapping[str, object], overrides: Iterable[Override], mistakes: list[str]
    ) -> None:
        self.data = dict(data)
        self.seats = _seats(data)
        self._origins: dict[Place, str] = {}
        self._mistakes = mistakes
        self._fields: dict[tuple[str, str], object] = {}
        self._stop = _stop_in(data, own_only=True)
        for one in overrides:
            self._lay(one)
        if self._fields:
            stop = self._stop or briefs_list(VerdictParams.model_validate(self._sound_params()))
            changed = with_fields(stop, self._fields)
            self.data["stop"] = tuple(rule.model_dump(warnings=False) for rule in changed)

    def origin(self, place: Place) -> str | None:
        path = tuple(str(part) for part in place)
        if path[:1] == ("stop",):
            path = ("stop", *path[-2:])
        return next((o for key, o in self._origins.items() if path[: len(key)] == key), None)

    def _lay(self, one: Override) -> None:
        head, _, rest = one.key.removeprefix("params.").partition(".")
        if head in VerdictParams.model_fields:
            self._put("params", head, one)
            if self._stop and head in PARAMETERS:
                self._change(PARAMETERS[head], one)
        elif head == "trust":
            self._put("trust", rest, one)
        elif one.key == "stop":
            rules, wrong = read_stop(one.value)
            self._mistakes += [f"{one.origin}: {line}" for line in wrong]
            self._stop = rules  # type: ignore[assignment]
            self.data["stop"] = rules
        elif head == "stop":
            rule, _, field = rest.partition(".")
            self._change((rule, field), one)
        elif head == "decide":
            self._decide(rest, one)
        else:
            self.data[head] = one.value
            self._origins[(head,)] = one.origin

    def _decide(self, stopped_by: str, one: Override) -> None:
        """Without a stop rule: for all of them, and for a budget, which `any` does not cover."""
        read, wrong = read_decide_rule(one.value, one.key)
        self._mistakes += [f"{one.origin}: {line}" for line in wrong]
        if read is not None and stopped_by:
            self._put("decide", stopped_by, Override(one.key, read, one.origin))
        elif read is not None:
            self.data["decide"] = {ANY: read, "budget": read}

    def _put(self, head: str, key: str, one: Override) -> None:
        old = self.data[head]
        assert isinstance(old, Mapping)
        self.data[head] = {**old, key: one.value}
        self._origins[head, key] = one.origin

    def _change(self, place: tuple[str, str], one: Override) -> None:
        self._fields[place] = one.value
        self._origins["stop", *place] = one.origin

    def _sound_params(self) -> Mapping[str, object]:
        """As far as they can be used: what cannot is reported by the panel's schema."""
        given = self.data["params"]
        assert isinstance(given, Mapping)
        sound = {}
        for key, value in given.items():
            try:
                VerdictParams.model_validate({key: value})
            except ValidationError:
                continue
            sound[key] = value
        return sound


def _is_known(key: str, known: Sequence[str]) -> bool:
    return key.removeprefix("params.") in known or key in known


def _seats(data: Mapping[str, object]) -> list[str]:
    personas = data["personas"]
    assert isinstance(personas, Sequence)
    return [persona.name for persona in personas]


def _stop_in(data: Mapping[str, object], *, own_only: bool = False) -> tuple[StopRule, ...]:
    stop = data["stop"]
    assert isinstance(stop, tuple)
    return stop or (() if own_only else briefs_list(VerdictParams()))

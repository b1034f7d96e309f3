"""
The stop and decide rules of a panel as people write them, brought to the contract's form.

    stop:                                         decide:
      - consensus: {below: 0.3, majority: true}     consensus: plurality
      - all: [{stable: {}}, {rounds: {at: 2}}]      deadlock: {rule: judge, persona: maintainer}
      - rounds: {at: 3}                             any: {rule: trust_weighted, confidence: 0.55}
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from parley.bus.contracts.base import Contract
from parley.bus.contracts.verdicts.own_rules import OWN_DECIDE_RULES, OWN_STOP_RULES, OwnRules
from parley.bus.contracts.verdicts.rules import (
    ANY,
    DECIDE_RULES,
    STOP_RULES,
    AllOf,
    Fixed,
    Judge,
    MixedContent,
    OwnDecide,
    OwnStop,
    Rounds,
)
from parley.configs.mistakes import explain
from parley.configs.names import name_unknown

ENDLESS = "no rule ends the debate for certain: add rounds, for example `- rounds: {at: 3}`"
# Rules that `all` cannot join.
_ALONE = ("all", "budget")
_OWN = "own"


def read_stop(given: object) -> tuple[tuple[Contract, ...], list[str]]:
    """The rules that can be read, and one line for each mistake."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return (), ["stop: should be a list of rules"]
    rules, mistakes = _read_list(given, "stop")
    if not mistakes and not any(isinstance(rule, Rounds) for rule in rules):
        mistakes.append(f"stop: {ENDLESS}")
    return tuple(rules), mistakes


def read_decide(given: object, stop_names: Iterable[str]) -> tuple[dict[str, Contract], list[str]]:
    if not isinstance(given, Mapping):
        return {}, ["decide: should be a mapping from stop rules to decide rules"]
    known = [*stop_names, ANY]
    rules, mistakes = {}, []
    for key, value in given.items():
        if key not in known:
            mistakes.append(f"decide: {name_unknown('stop rule', str(key), known)}")
        rule, wrong = read_decide_rule(value, f"decide.{key}")
        mistakes += wrong
        if rule is not None:
            rules[str(key)] = rule
    return rules, mistakes


def read_decide_rule(given: object, place: str) -> tuple[Contract | None, list[str]]:
    """`plurality`, or `{rule: plurality, …}`."""
    if isinstance(given, Contract):
        return given, []
    if isinstance(given, str):
        given = {"rule": given}
    if not isinstance(given, Mapping) or not isinstance(given.get("rule"), str):
        return None, [f"{place}: should be a rule's name, or a mapping with `rule`"]
    name = given["rule"]
    own = OWN_DECIDE_RULES.find(name)
    if name in DECIDE_RULES:
        return _validated(DECIDE_RULES[name], given, place)
    if name == _OWN:
        return _validated(OwnDecide, given, place)
    if own is not None:
        params = {key: value for key, value in given.items() if key not in {"rule", "confidence"}}
        data = {"name": name, "digest": own.digest, "params": params}
        return _validated(OwnDecide, {**data, "confidence": given.get("confidence")}, place)
    known = _known(DECIDE_RULES, OWN_DECIDE_RULES)
    return None, [f"{place}: {name_unknown('decide rule', name, known)}"]


def stop_names() -> tuple[str, ...]:
    """Every name under which `decide` can know a stop rule."""
    return tuple(name for name in _known(STOP_RULES, OWN_STOP_RULES) if name != "all")


def names_that_decide_rules_lack(
    decide: Mapping[str, Contract], verdicts: Sequence[str], personas: Sequence[str]
) -> list[str]:
    """Personas and labels that decide rules name and the panel does not have."""
    mistakes = []
    for key, rule in decide.items():
        place = f"decide.{key}"
        labels: tuple[str, ...] = ()
        match rule:
            case Judge() if rule.persona not in personas:
                mistakes.append(
                    f"{place}.persona: {name_unknown('persona', rule.persona, personas)}"
                )
            case Fixed():
                labels = (rule.label,)
            case MixedContent():
                labels = (*rule.labels, rule.means)
            case _:
                pass
        mistakes += [
            f"{place}: {name_unknown('label', label, verdicts)}"
            for label in labels
            if label not in verdicts
        ]
    return mistakes


def _read_list(given: Sequence[object], place: str) -> tuple[list[Contract], list[str]]:
    rules, mistakes = [], []
    for number, item in enumerate(given):
        rule, wrong = _read_rule(item, f"{place}.{number}")
        mistakes += wrong
        if rule is not None:
            rules.append(rule)
    return rules, mistakes


def _read_rule(  # noqa: PLR0911  one return a form
    given: object, place: str
) -> tuple[Contract | None, list[str]]:
    if isinstance(given, Contract):
        return given, []
    named = _name_and_params(given)
    if named is None:
        return None, [f"{place}: should be one rule, for example `consensus: {{below: 0.3}}`"]
    name, params = named
    if name == "all":
        return _read_all(params, f"{place}.all")
    if not isinstance(params, Mapping):
        return None, [f"{place}.{name}: should be a mapping of parameters"]
    own = OWN_STOP_RULES.find(name)
    if name in STOP_RULES:
        return _validated(STOP_RULES[name], params, f"{place}.{name}")
    if name == _OWN:
        return _validated(OwnStop, params, place)
    if own is not None:
        return OwnStop(name=name, digest=own.digest, params=dict(params)), []
    known = _known(STOP_RULES, OWN_STOP_RULES)
    return None, [f"{place}: {name_unknown('stop rule', name, known)}"]


def _read_all(params: object, place: str) -> tuple[Contract | None, list[str]]:
    if isinstance(params, Mapping):
        params = params.get("rules")
    if not isinstance(params, Sequence) or isinstance(params, str):
        return None, [f"{place}: should be a list of rules"]
    members, mistakes = _read_list(params, place)
    mistakes += [
        f"{place}: {name} stands alone: it cannot be joined with others"
        for name in _ALONE
        if any(getattr(member, "rule", None) == name for member in members)
    ]
    if mistakes:
        return None, mistakes
    return _validated(AllOf, {"rules": members}, place)


def _name_and_params(given: object) -> tuple[str, object] | None:
    """`rounds`, `rounds: {at: 3}` and `{rule: rounds, at: 3}` say the same."""
    if isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping):
        return None
    if isinstance(given.get("rule"), str):
        return given["rule"], {key: value for key, value in given.items() if key != "rule"}
    if len(given) != 1:
        return None
    [(name, params)] = given.items()
    return str(name), {} if params is None else params


def _validated(
    schema: type[Contract], data: Mapping[str, object], place: str
) -> tuple[Contract | None, list[str]]:
    try:
        return schema.model_validate(data), []
    except ValidationError as error:
        return None, explain(error, schema, lambda _: place)


def _known(rules: Mapping[str, object], own: OwnRules) -> list[str]:
    return [*rules, *own.names()]

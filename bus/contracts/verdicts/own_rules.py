"""
Stop and decide rules of a user's own: plain functions of what was said, registered by name.

    @stop_rule("veto")
    def veto(history: History, params: Mapping[str, Any]) -> bool: ...

    @decide_rule("eldest")
    def eldest(history: History, trust: Mapping[str, float], params: Mapping[str, Any]) -> Ruling: ...

Every process that decides or verifies such a debate needs the rule: registered by the decorator, or
found by the entry points `parley.stop_rules` and `parley.decide_rules`. A panel records the digest
of its source, so that another function of the same name is told apart.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from parley.bus.plugins import Plugins

# (persona, verdict, confidence) of everybody present, after the opening and after each round.
History = Sequence[Sequence[tuple[str, str, float]]]
# The verdict and how sure it is; None: the confidence of those who hold it.
Ruling = tuple[str, float | None]
Stop = Callable[[History, Mapping[str, Any]], bool]
Decide = Callable[[History, Mapping[str, float], Mapping[str, Any]], Ruling]


@dataclass(frozen=True, slots=True)
class OwnRule:
    name: str
    function: Callable[..., Any]
    digest: str


class OwnRules:
    """Rules of one kind by name: those registered here, then those of installed packages."""

    def __init__(self, group: str) -> None:
        self._registered: dict[str, OwnRule] = {}
        self._installed = Plugins(group, OwnRule)

    def register(self, rule: OwnRule) -> None:
        self._registered[rule.name] = rule

    def find(self, name: str) -> OwnRule | None:
        return self._registered.get(name) or self._installed.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._registered, *self._installed)))

    def lack_of(self, name: str, digest: str) -> str | None:
        """Why a recorded rule cannot be applied here; None if it can."""
        found = self.find(name)
        if found is None:
            return f"its rule {name!r} is not installed here"
        if found.digest != digest:
            return f"its rule {name!r} has another source here ({found.digest[:12]}, recorded {digest[:12]})"
        return None

    def applied(self, name: str, digest: str) -> Callable[..., Any]:
        """Raises LookupError where exactly this rule is not at hand."""
        lack = self.lack_of(name, digest)
        found = self.find(name)
        if lack is not None or found is None:
            raise LookupError(lack)
        return found.function


OWN_STOP_RULES = OwnRules("parley.stop_rules")
OWN_DECIDE_RULES = OwnRules("parley.decide_rules")


def stop_rule(name: str) -> Callable[[Stop], OwnRule]:
    return lambda function: _registered(OWN_STOP_RULES, name, function)


def decide_rule(name: str) -> Callable[[Decide], OwnRule]:
    return lambda function: _registered(OWN_DECIDE_RULES, name, function)


def _registered(among: OwnRules, name: str, function: Callable[..., Any]) -> OwnRule:
    source = inspect.getsource(function)
    rule = OwnRule(name, function, sha256(source.encode()).hexdigest())
    among.register(rule)
    return rule

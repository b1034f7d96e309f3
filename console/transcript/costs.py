"""What a debate cost, in words; and what stopping early has saved."""

from collections.abc import Iterator, Mapping

from parley.bus.contracts.base import Usage
from parley.console.transcript.text import one_line
from parley.coordinator.core.accounting import brains_of, usage_by_persona, usage_of
from parley.coordinator.core.budget import limits_of
from parley.coordinator.core.endings import ending_of
from parley.coordinator.core.state import DebateState


def tell_costs(state: DebateState) -> Iterator[str]:
    if state.panel is None:
        return
    yield from tell_savings(state)
    brains = brains_of(state)
    if brains:
        yield f"thought by: {brains_in_words(brains)}"
    yield from tell_total(state)
    by_persona = usage_by_persona(state)
    width = max(map(len, by_persona), default=0)
    for name, usage in by_persona.items():
        yield f"  {name:<{width}}  {usage_in_words(usage)}"


def tell_total(state: DebateState) -> Iterator[str]:
    usage = usage_of(state)
    if not usage.model_calls:
        return
    limits = ", ".join(f"{name} {limit:g}" for name, limit in _limits(state).items())
    yield f"models: {usage_in_words(usage)}" + (f" (limits: {limits})" if limits else "")


def _limits(state: DebateState) -> dict[str, float]:
    limits = limits_of(state.running_panel)
    return {
        name.removeprefix("budget_"): limit
        for name, limit in limits.items()
        if isinstance(limit, int | float)
    }


def tell_savings(state: DebateState) -> Iterator[str]:
    """Counted as one turn for each agent and round, whoever thinks."""
    ending = ending_of(state)
    if ending.by_rule and ending.rounds < ending.most_rounds:
        yield (
            f"stopped after {ending.rounds} of {ending.most_rounds} rounds: {ending.calls} instead of"
            f" {ending.calls_without_early_stop} turns,"
            f" {1 - ending.rounds / ending.most_rounds:.0%} saved"
        )


def brains_in_words(brains: Mapping[str, str]) -> str:
    """Cleaned: a brain's name is what its turns say it is."""
    personas: dict[str, list[str]] = {}
    for persona, brain in brains.items():
        personas.setdefault(brain, []).append(persona)
    return one_line(", ".join(f"{brain} ({', '.join(who)})" for brain, who in personas.items()))


def usage_in_words(usage: Usage) -> str:
    calls = "1 model call" if usage.model_calls == 1 else f"{usage.model_calls} model calls"
    cost = f", cost {usage.cost:.4g}" if usage.cost else ""
    return f"{calls}, {usage.input_tokens} tokens read, {usage.output_tokens} written{cost}"

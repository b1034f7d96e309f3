"""Debates in the chambers of behaviour A8, with what they come to by its formulas, worked by hand."""

from collections.abc import Sequence
from typing import NamedTuple

from parley.agents.script import Script, parse_script
from parley.bus.contracts.facts import Fact
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef
from parley.configs.panel_files import Override
from parley.configs.panels import resolve
from parley.coordinator.core.reducer import fold
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of


class Case(NamedTuple):
    script: Script
    reason: str
    rounds: int
    verdict: str
    confidence: float
    # Of each agent at the end, by name.
    left: dict[str, float]


def chamber_panel(chamber: str, *more: Override) -> VerdictPanel:
    overrides = (Override("chamber", chamber, "--set"), *more)
    panel = resolve("forensic", overrides=overrides).panel
    assert isinstance(panel, VerdictPanel)
    return panel


def seated(case: Case, panel: VerdictPanel) -> VerdictPanel:
    """With those who speak in the script."""
    there = tuple(one for one in panel.personas if one.name in case.script.agents())
    trust = {one.name: panel.trust[one.name] for one in there}
    return panel.model_copy(update={"personas": there, "trust": trust})


def outcome_of(facts: Sequence[Fact]) -> VerdictResult:
    return result_of(DebateRef("forensic", "d"), fold(facts))


# Noise would change its mind and may not; frequency has three arguments, of which a synchronous
# message carries two: watermark, with two of its own, then loses nothing.
_DIVIDED = parse_script("""
rounds:
  - frequency: {verdict: ai_generated, confidence: .9, arguments: [a, b, c]}
    noise: {verdict: authentic, confidence: .7, arguments: [d]}
    watermark: {verdict: authentic, confidence: .8, arguments: [e, f]}
  - noise: [ai_generated, .99, noise speaks]
    watermark: {reasoning: watermark speaks}
""")
# Spatial has no argument against three agents: it loses .05 * (.85 + .80 + .85) a round.
_ALONE = parse_script("""
rounds:
  - frequency: {verdict: authentic, confidence: .8, arguments: [a]}
    noise: {verdict: authentic, confidence: .7, arguments: [b]}
    watermark: {verdict: authentic, confidence: .6, arguments: [c]}
    spatial: {verdict: manipulated, confidence: .9}
""")
# With two verdicts and even trust A8 takes DRWA, whose weight without a score is the trust.
CASES = {
    "synchronous": Case(
        _DIVIDED,
        "stable",
        1,
        "authentic",
        (0.8 * 0.6575 + 0.85 * 0.8) / (0.8 * 0.6575 + 0.85 * 0.8 + 0.85 * 0.9),
        {"frequency": 0.9, "noise": 0.6575, "watermark": 0.8},
    ),
    "asynchronous": Case(
        _DIVIDED,
        "stable",
        1,
        "authentic",
        (0.8 * 0.6575 + 0.85 * 0.7575) / (0.8 * 0.6575 + 0.85 * 0.7575 + 0.85 * 0.9),
        {"frequency": 0.9, "noise": 0.6575, "watermark": 0.7575},
    ),
    "structured": Case(
        _ALONE,
        "max_rounds",
        4,
        "authentic",
        1.75 / (1.75 + 0.85 * 0.4),
        {"frequency": 0.8, "noise": 0.7, "watermark": 0.6, "spatial": 0.4},
    ),
}
AGREED = Case(
    parse_script("rounds: [{frequency: [authentic, .9], noise: [authentic, .6]}]"),
    "unanimity",
    0,
    "authentic",
    1.0,
    {"frequency": 0.9, "noise": 0.6},
)
APART = Case(
    parse_script("rounds: [{frequency: [authentic, .9], noise: [authentic, .5]}]"),
    "unanimity",
    1,
    "authentic",
    1.0,
    {"frequency": 0.9, "noise": 0.5},
)

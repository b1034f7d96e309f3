import sys
from functools import cache
from typing import Annotated

import typer

from parley.bus.contracts.absa.moderator import ModeratorInput
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.panels import panel_path, read_panel, resolve
from parley.configs.protocols.verdicts import BRIEFS_PANEL, briefs_presets
from parley.console.cli.exits import BAD_INPUT
from parley.console.cli.filters import Answer, filter_lines, rule
from parley.console.cli.options import example
from parley.coordinator.protocols.absa import rules_io as absa
from parley.coordinator.protocols.absa.output import integrity
from parley.coordinator.protocols.deliberation import rules_io as regimes
from parley.coordinator.protocols.verdicts import rules_io as verdicts


@cache
def ground() -> verdicts.Ground:
    """The rules' labels, trust and presets are those of the brief's own panel."""
    content, _ = read_panel(panel_path(BRIEFS_PANEL))
    panel = resolve(BRIEFS_PANEL, roster=content.roster).panel
    assert isinstance(panel, VerdictPanel)
    return verdicts.Ground(panel, briefs_presets())


RULES: dict[str, Answer] = {
    "terminate-verdicts": rule(
        verdicts.TerminateVerdictsIn,
        lambda given: verdicts.answer_terminate_verdicts(given, ground()),
        ground,
    ),
    "terminate-regime": rule(regimes.TerminateRegimeIn, regimes.answer_terminate_regime),
    "manager": rule(
        verdicts.ManagerIn, lambda given: verdicts.answer_manager(given, ground()), ground
    ),
    "cobra": rule(verdicts.CobraIn, lambda given: verdicts.answer_cobra(given, ground()), ground),
    "moderator": rule(ModeratorInput, absa.answer_moderator),
    "override": rule(absa.OverrideLine, absa.answer_override),
    "adopt": rule(absa.AdoptLine, absa.answer_adopt),
    "hints": rule(absa.HintsLine, absa.answer_hints),
    "integrity": rule(integrity.RecordView, integrity.check_record),
}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        """echo '{"history": [[{"agent": "noise", "verdict": "uncertain", "confidence": 0.8}]]}' \\""",
        "  | parley rules terminate-verdicts",
    )
)
def rules(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(RULES)}.")],
) -> None:
    """
    Apply one rule to JSON Lines: stdin in, stdout out.

    Each answer stands on its question's line. A bad line is answered with {"error": …}, and the
    exit code is then 2.
    """
    if name not in RULES:
        raise BadInput(name_unknown("rule", name, RULES))
    if not filter_lines(sys.stdin.buffer, sys.stdout.buffer, RULES[name]):
        raise typer.Exit(BAD_INPUT)

"""What `parley` can do, as `parley --help` tells it: the first command of many imports nothing else."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

_AT = "parley.console.cli.commands"
ABOUT = "Debates between agents as durable event streams on NATS."
EXAMPLES = ("parley demo", "parley simulate debate.yaml", "parley up")
VERBOSE, VERSION = "Show tracebacks with errors.", "Print the version."
_OPTIONS = {
    "--verbose": VERBOSE,
    "--version": VERSION,
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Print what --install-completion would install.",
    "--help": "Show this message and exit.",
}


class Lazy(NamedTuple):
    """A command: the module that holds its `app`, and the line that stands for it in the help."""

    module: str
    summary: str


SECTIONS: Mapping[str, Mapping[str, Lazy]] = {
    "Try it": {
        "demo": Lazy(f"{_AT}.demo", "Watch debates on a private server, from start to verdict."),
        "simulate": Lazy(f"{_AT}.simulate", "Play a scripted debate through the real rules."),
        "run": Lazy(f"{_AT}.run", "Run debates and print their results."),
        "batch": Lazy(
            f"{_AT}.batch", "Run a data set through a panel, and compare variants of the panel."
        ),
        "eval": Lazy(
            f"{_AT}.eval", "Measure on labelled data whether a panel's debates earn their cost."
        ),
    },
    "Improve it": {
        "lab": Lazy(
            f"{_AT}.lab", "Find out what a panel's rules are worth before paying for models."
        ),
        "drill": Lazy(f"{_AT}.drill", "Find out how far one dishonest persona moves the outcome."),
    },
    "Run it": {
        "up": Lazy(
            f"{_AT}.up",
            "Run everything here: server, coordinator, agents, web page.",
        ),
        "coordinator": Lazy(f"{_AT}.coordinator", "Run a coordinator."),
        "agent": Lazy(f"{_AT}.agent", "Run agents: one process for one or more personas."),
        "notify": Lazy(
            f"{_AT}.notify", "Tell of people who are awaited, and of debates that closed."
        ),
        "serve": Lazy(f"{_AT}.serve", "Serve the web page and the HTTP interface."),
        "mcp": Lazy(f"{_AT}.mcp", "Offer debates as tools to a program that speaks MCP."),
    },
    "Use it": {
        "submit": Lazy(f"{_AT}.submit", "Submit a debate to a running system."),
        "list": Lazy(f"{_AT}.list_", "List debates."),
        "show": Lazy(f"{_AT}.show", "Show a debate as it stands."),
        "watch": Lazy(f"{_AT}.watch", "Follow debates as they happen."),
        "sit": Lazy(f"{_AT}.sit", "Take a person's seat: see what waits for you, and answer."),
        "cancel": Lazy(f"{_AT}.cancel", "Cancel a debate."),
        "delete": Lazy(f"{_AT}.delete", "Delete a debate for good."),
        "rerun": Lazy(f"{_AT}.rerun", "Debate the same question again, on the same panel."),
    },
    "Check it": {
        "replay": Lazy(f"{_AT}.replay", "Fold a debate's log again, fact by fact."),
        "verify": Lazy(f"{_AT}.verify", "Recompute every decision of a debate from its log."),
        "export": Lazy(f"{_AT}.export", "Write debates to a file."),
        "import": Lazy(f"{_AT}.import_", "Read exported debates into a server."),
        "report": Lazy(f"{_AT}.report", "Report on debates: one page, Markdown or JSON."),
        "backtest": Lazy(f"{_AT}.backtest", "Decide recorded debates anew under other parameters."),
        "memory": Lazy(f"{_AT}.memory", "What past debates about aspects left behind."),
        "rules": Lazy(f"{_AT}.rules", "Apply one rule to JSON Lines: stdin in, stdout out."),
    },
    "Operate it": {
        "infra": Lazy(f"{_AT}.infra", "Make what Parley needs on a NATS server."),
        "doctor": Lazy(f"{_AT}.doctor", "Look for whatever is wrong with a running system."),
        "archive": Lazy(f"{_AT}.archive", "Closed debates that left the log: status, run, verify."),
        "dlq": Lazy(f"{_AT}.dlq", "Dead letters: list, show, redrive, drop."),
    },
    "Set it up": {
        "panels": Lazy(f"{_AT}.panels", "List the panels, or show one."),
        "new": Lazy(f"{_AT}.new", "Write a panel of your own to start from."),
        "config": Lazy(f"{_AT}.config", "Show and check settings, panels and scripts."),
        "prompts": Lazy(f"{_AT}.prompts", "Show what language models are told."),
        "models": Lazy(f"{_AT}.models", "Run a small language model on this machine."),
        "schema": Lazy(f"{_AT}.schema", "Print the schema of everything on the bus."),
    },
}


def overview() -> str:
    """No line is longer than 80 characters, and none is wrapped."""
    sections = [
        ("Options", _OPTIONS.items()),
        *(
            (heading, [(name, one.summary) for name, one in commands.items()])
            for heading, commands in SECTIONS.items()
        ),
    ]
    lines = ["Usage: parley [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}"]
    for heading, entries in sections:
        lines += ["", f"{heading}:", *_table(entries)]
    return "\n".join([*lines, "", "Example:", *(f"  {one}" for one in EXAMPLES)])


def _table(entries: Iterable[tuple[str, str]]) -> list[str]:
    listed = list(entries)
    width = max(len(name) for name, _ in listed)
    return [f"  {name:<{width}}  {summary}" for name, summary in listed]

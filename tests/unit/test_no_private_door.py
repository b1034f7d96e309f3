"""The command line and the page reach a log by the client's public calls; who else does is named."""

import ast
from collections.abc import Iterator
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "console"
# They run, examine or keep a server, or put a program of ours beside it.
OPERATORS = {
    "cli/commands/agent.py",
    "cli/commands/archive.py",
    "cli/commands/coordinator.py",
    "cli/commands/memory.py",
    "cli/commands/notify.py",
    "cli/commands/up.py",
    "operations/health.py",
    "runtime/brains.py",
}
# Opened below the client: what sets up or examines a server.
OPENERS = {"open_bus", "open_journal", "open_server", "open_host"}


def doors(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "client":
            if node.attr == "journal" or node.attr.startswith("_"):
                yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from OPENERS.intersection(one.name for one in node.names)


def test_only_operators_go_past_the_client() -> None:
    found = {
        str(path.relative_to(CONSOLE)): sorted(set(doors(path.read_text())))
        for path in CONSOLE.rglob("*.py")
    }
    past = {name: used for name, used in found.items() if used}
    journal = {name for name, used in past.items() if used == ["journal"]}
    assert journal == OPERATORS
    assert set(past) - journal == {"cli/commands/doctor.py", "cli/commands/infra.py"}, past


def test_a_private_door_is_seen() -> None:
    assert list(doors("x = hub.client.journal.bus")) == ["journal"]
    assert list(doors("await client._seats.asks()")) == ["_seats"]
    assert list(doors("from parley.connection import open_server")) == ["open_server"]
    assert list(doors("await client.debates()")) == []

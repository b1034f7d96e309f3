import resource
import subprocess
import sys

import pytest

from parley.console.cli.main import Commands
from parley.console.cli.overview import overview
from tests.unit.console.calling import Call

COMMANDS = {name: lazy for part in Commands.sections.values() for name, lazy in part.items()}

GROUPS = {
    "config": ("check",),
    "memory": ("export",),
    "models": ("fetch", "list", "serve"),
    "new": ("panel",),
    "prompts": ("show",),
    "infra": ("plan", "apply", "accounts"),
    "archive": ("status", "run", "verify"),
    "dlq": ("list", "show", "redrive", "drop"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(parley: Call, name: str) -> None:
    arguments = (name, *GROUPS.get(name, ())[:1])
    called = parley(*arguments, "--help")
    assert called.code == 0
    assert "Example:" in called.out
    assert f"parley {name}" in called.out.split("Example:")[1]
    assert "--verbose" in called.out


@pytest.mark.parametrize("name", [f"{group} {one}" for group in GROUPS for one in GROUPS[group]])
def test_every_command_of_a_group_explains_itself(parley: Call, name: str) -> None:
    called = parley(*name.split(), "--help")
    assert called.code == 0
    assert f"parley {name}" in called.out.split("Example:")[1]
    assert "--verbose" in called.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_itself(parley: Call, name: str) -> None:
    assert COMMANDS[name].summary in parley(name, "--help").out


def test_help_without_arguments_and_version(parley: Call) -> None:
    called = parley()
    assert called.code == 0
    assert all(name in called.out for name in COMMANDS)
    assert parley("--version").out.startswith("parley ")


def test_help_loads_nothing_heavy_and_is_quick() -> None:
    code = (
        "import sys; from parley.console.cli.main import call; call(['--help']);"
        "heavy = {'pydantic', 'nats', 'rich', 'anyio', 'yaml', 'structlog', 'asyncio'};"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))"
    )
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.stderr == b""
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3


def test_the_overview_is_the_help_and_needs_next_to_nothing(parley: Call) -> None:
    assert parley("--help").out.strip() == parley().out.strip() == overview()
    assert all(len(line) <= 80 for line in overview().splitlines())
    code = (
        "import sys; sys.argv[1:] = ['--help']; from parley.console.cli.start import main; main();"
        "print(*(one for one in sys.modules if one in ('typer', 'pydantic', 'parley.bus')),"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr.strip()) == (overview(), "")

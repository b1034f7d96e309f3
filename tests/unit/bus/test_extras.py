"""What to install is said in one line, from wherever it is missed; our own bugs are not hidden."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from parley.bus.extras import MissingPackage, extra

ROOT = Path(__file__).parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# Of other people: frameworks and protocols, for who has them.
ADAPTERS = ("pydantic-ai", "langchain", "openai-agents", "mcp", "otel", "a2a", "nats-agents")


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    line = r"^asking needs openai: pip install 'parley-debate\[model\]'$"
    with pytest.raises(MissingPackage, match=line), extra("model", "asking"):
        import openai  # noqa: F401, PLC0415


def test_a_missing_module_of_our_own_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "parley.agents.llm.brain", None)
    with pytest.raises(ModuleNotFoundError), extra("model", "asking"):
        import parley.agents.llm.brain  # noqa: F401, PLC0415
    with pytest.raises(ImportError, match="cannot import name"), extra("model", "asking"):
        from parley.agents.brain import no_such_name  # type: ignore[attr-defined] # noqa: F401, PLC0415


@pytest.mark.parametrize(
    ("missing", "name", "arguments"),
    [
        ("openai", "model", ["run", "absa", "Good food.", "--brain", "model"]),
        ("kiwipiepy", "korean", ["run", "absa", "음식이 맛있어요.", "--brain", "rule"]),
        ("mcp", "mcp", ["mcp"]),
        ("mcp", "mcp", ["serve", "--mcp"]),
        ("a2a", "a2a", ["serve", "--a2a"]),
        ("a2a", "a2a", ["agent", "review", "--brain", "a2a:http://127.0.0.1:9"]),
        ("synadia_ai", "nats-agents", ["serve", "--config", "agents.yaml"]),
        ("opentelemetry", "otel", ["list", "--config", "telemetry.yaml"]),
        ("nkeys", "nkeys", ["infra", "accounts", "-o", "accounts"]),
    ],
)
def test_commands_say_what_to_install(
    tmp_path: Path, missing: str, name: str, arguments: list[str]
) -> None:
    (tmp_path / "telemetry.yaml").write_text("telemetry: {endpoint: 'http://127.0.0.1:4318'}")
    (tmp_path / "agents.yaml").write_text("web: {nats_agents: acme}")
    code = f"import sys; sys.modules[{missing!r}] = None; from parley.console.cli.main import call;"
    command = [sys.executable, "-c", f"{code} sys.exit(call({arguments!r}))"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode > 0
    assert f"needs {missing}: pip install 'parley-debate[{name}]'" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_what_is_installed_for_people_runs_what_the_readme_shows() -> None:
    """Both ways to install bring the same extras: all that Parley's own roles need."""
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    (told,) = re.findall(r"`pip install \.\[([a-z,]+)\]`", readme)
    (made,) = re.findall(r"^\$\(VENV\)/installed:.*\n.*'\.\[([a-z,]+)\]'$", makefile, re.MULTILINE)
    assert told == made
    (every,) = EXTRAS["all"]
    included = set(re.findall(r"[a-z-]+", every.partition("[")[2]))
    assert told == "all"
    assert set(EXTRAS) - included == {"all", "dev", *ADAPTERS}

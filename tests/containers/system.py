"""deploy/compose.yaml, started as it is in a project of its own, and what one does to it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.bus.jetstream.accounts import SEED_SUFFIX
from parley.configs.panels import panel_path, read_panel
from parley.configs.settings import Settings, load
from tests import servers
from tests.containers.engine import Engine, output
from tests.containers.images import DEPLOY
from tests.deploy.cluster import write_routes
from tests.ports import free_ports

PANELS = ("forensic", "absa", "deliberation")
# What the images run as; whoever is not root cannot hand files over to it.
OWNER = 10001
PROJECT = "parley-test"
PATIENCE_S = 600.0
POLL_S = 0.2
TOKENS = {"web-read.txt": "a-token-to-look-at", "web-operate.txt": "a-token-to-operate"}
CONFINED = (
    "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
)  # fmt: skip


@dataclass(frozen=True)
class System:
    engine: Engine
    # A copy of deploy/, with secrets.
    home: Path
    port: int
    page_port: int
    panels: Sequence[str]
    # The others that the compose file starts only when they are named.
    extras: Sequence[str]
    clustered: bool

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def seed(self, login: str) -> Path:
        return self.home / "secrets" / f"{login}{SEED_SUFFIX}"

    def settings(self, login: str = "coordinator") -> Settings:
        copies = len(self.nodes)
        where = {"nats.url": self.url, "nats.nkey_seed_file": self.seed(login)}
        return load(flags={**where, "nats.replicas": copies})

    def compose(self, *words: str) -> str:
        files = ["compose.yaml", *(["compose.cluster.yaml"] if self.clustered else [])]
        named = [part for file in files for part in ("-f", str(self.home / file))]
        named += [p for one in (*self.panels, *self.extras) for p in ("--profile", one)]
        command = [*self.engine.compose, "-p", PROJECT, *named, *words]
        return output(*command, timeout=PATIENCE_S, env=self._environment())

    def up(self, *words: str) -> None:
        start = ("up", "--detach", "--no-build")
        if self.engine.name == "docker":
            self.compose(*start, *words)
            return
        # Podman before 4.6 starts no container whose dependency has one of its own, and waits for
        # no health check; the order of the file's conditions is kept here.
        for service in [*self.nodes, "infra"] if not words else []:
            self.compose(*start, "--no-deps", service)
        if not words:
            self._until_set_up()
        self.compose(*start, "--no-deps", *(words or ("--no-recreate",)))

    @property
    def nodes(self) -> list[str]:
        return ["nats", "nats-2", "nats-3"] if self.clustered else ["nats"]

    def _until_set_up(self) -> None:
        setup = self.container("infra")
        until(lambda: self.engine.state(setup)["Status"] == "exited", "infra applied")
        assert self.engine.state(setup)["ExitCode"] == 0, self.engine("logs", setup)

    def _environment(self) -> dict[str, str]:
        owner = (
            {} if os.geteuid() == 0 else {"PARLEY_UID": self.user, "PARLEY_GID": str(os.getgid())}
        )
        ports = {"PARLEY_NATS_PORT": str(self.port), "PARLEY_PAGE_PORT": str(self.page_port)}
        return {**os.environ, **owner, **ports}  # noqa: TID251 - PATH, HOME

    @property
    def user(self) -> str:
        return str(OWNER if os.geteuid() == 0 else os.getuid())

    @property
    def personas(self) -> list[tuple[str, str]]:
        return [
            (panel, persona)
            for panel in self.panels
            for persona in read_panel(panel_path(panel))[0].everybody
        ]

    def containers(self, service: str | None = None) -> list[str]:
        of_project = f"label=com.docker.compose.project={PROJECT}"
        of_service = ["--filter", f"label=com.docker.compose.service={service}"] if service else []
        listed = self.engine(
            "ps", "--all", "--filter", of_project, *of_service, "--format", "{{.Names}}"
        )
        return sorted(listed.split())

    def container(self, service: str) -> str:
        [one] = self.containers(service)
        return one

    def until_healthy(self) -> None:
        """Every container's own health check holds, and the one that ends has ended well."""
        self._until_set_up()
        waiting = set(self.containers()) - {self.container("infra")}

        def healthy() -> bool:
            waiting.difference_update({one for one in waiting if self.engine.is_healthy(one)})
            return not waiting

        until(healthy, lambda: f"healthy: {sorted(waiting)}")

    def until_present(self, replicas: dict[str, int] | None = None) -> None:
        """A coordinator and every persona answer when they are called, as often as there are replicas."""
        wanted = sorted(
            f"{panel}-{persona}"
            for panel, persona in self.personas
            for _ in range((replicas or {}).get(f"{panel}-{persona}", 1))
        )

        def present() -> bool:
            told = self.parley("doctor", "--json", login="coordinator").stdout
            alive = json.loads(told)["alive"] if told else []
            labels = [one["labels"] for one in alive]
            there = sorted(f"{one['panel']}-{one['persona']}" for one in labels if "persona" in one)
            return there == wanted and any("persona" not in one for one in labels)

        until(present, f"present: {wanted}")

    def parley(self, *words: str, login: str = "submitter") -> subprocess.CompletedProcess[str]:
        """The command in a container of the same network, as confined as the others."""
        command = [
            self.engine.name, "run", "--rm", "--network", f"{PROJECT}_default", *CONFINED,
            "--user", self.user,
            "-v", f"{self.seed(login)}:/run/secrets/login:ro",
            "-v", f"{self.home / 'inputs'}:/inputs:ro",
            "-e", "PARLEY_NATS__URL=nats://nats:4222",
            "-e", "PARLEY_NATS__NKEY_SEED_FILE=/run/secrets/login",
            "parley-forensic:0.1.0", *words,
        ]  # fmt: skip
        return subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def figures(self, container: str) -> dict[str, float]:
        """Its /metrics, asked from within, since probes are published nowhere."""
        ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
        told = self.engine("exec", container, "python", "-c", ask)
        lines = [line.rpartition(" ") for line in told.splitlines() if line and line[0] != "#"]
        return {name: float(value) for name, _, value in lines}

    def said(self, container: str) -> list[dict[str, Any]]:
        """What it has logged."""
        done = subprocess.run(
            [self.engine.name, "logs", container], check=True, capture_output=True, text=True,
            timeout=PATIENCE_S,
        )  # fmt: skip
        lines = (done.stdout + done.stderr).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextmanager
def system(
    engine: Engine,
    home: Path,
    panels: Sequence[str],
    extras: Sequence[str] = (),
    *,
    clustered: bool = False,
) -> Iterator[System]:
    """Started, not yet awaited; everything of it is gone afterwards."""
    port, page_port = free_ports(2)
    made = System(engine, home, port, page_port, panels, extras, clustered=clustered)
    _furnish(made)
    # What a run that was killed has left.
    _remove(made)
    try:
        made.up()
        yield made
    finally:
        if sys.exc_info()[0] is not None:
            _tell(made)
        _remove(made)


def _remove(made: System) -> None:
    # Containers first: podman-compose forgets what was scaled, and a drain may take its time.
    if there := made.containers():
        made.engine("rm", "--force", "--volumes", *there)
    made.compose("down", "--volumes")


def _furnish(made: System) -> None:
    shutil.copytree(DEPLOY, made.home, ignore=shutil.ignore_patterns("secrets"))
    secrets = made.home / "secrets"
    command = [sys.executable, "-m", "parley", "infra", "accounts", "-o", str(secrets)]
    output(*command, timeout=PATIENCE_S)
    for name, token in TOKENS.items():
        (secrets / name).write_text(token)
    if made.clustered:
        write_routes(secrets, [f"nats-{number}:6222" for number in (1, 2, 3)])
    config = secrets / "accounts.conf"
    opening = "accounts: {\n"
    assert config.read_text().startswith(opening)
    config.write_text(opening + servers.accounts() + config.read_text().removeprefix(opening))
    (made.home / "inputs").mkdir()
    for path in (made.home, *made.home.rglob("*")):
        if path.suffix in (SEED_SUFFIX, ".txt", ".key"):
            path.chmod(0o600)
            if os.geteuid() == 0:
                os.chown(path, OWNER, OWNER)
        else:
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _tell(made: System) -> None:
    """What the containers said last, where something went wrong."""
    for container in made.containers():
        state = made.engine.state(container)
        done = subprocess.run(
            [made.engine.name, "logs", "--tail", "8", container], check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        sys.stderr.write(f"--- {container}: {state['Status']} {state['ExitCode']}\n")
        sys.stderr.write(f"{done.stdout}{done.stderr}\n")


def until(condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        awaited = what if isinstance(what, str) else what()
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:.0f} s: {awaited}"
        time.sleep(POLL_S)

"""The container engine of this machine: Docker with compose, or podman with podman-compose."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Of Debian. runc, because crun refuses machines whose cgroups are a mixture of both versions.
PACKAGES = (
    "podman", "runc", "buildah", "netavark", "aardvark-dns", "containernetworking-plugins",
    "iptables", "debootstrap", "busybox-static",
)  # fmt: skip
CONTAINERS_CONF = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[engine.runtimes]
runc = ["/usr/sbin/runc", "/usr/bin/runc"]
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4000:4000"]
"""
STORAGE_CONF = """\
[storage]
driver = "{driver}"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
"""
DRIVERS = ("overlay", "vfs")
ANSWERS_WITHIN_S = 600.0


class Missing(Exception):
    """Containers cannot be run here; the message says what is needed."""


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    compose: tuple[str, ...]
    # Without systemd nobody else runs podman's health checks.
    has_own_checks: bool

    def __call__(
        self, *arguments: str, check: bool = True, timeout: float = ANSWERS_WITHIN_S
    ) -> str:
        return output(self.name, *arguments, check=check, timeout=timeout)

    def has_image(self, image: str) -> bool:
        return code(self.name, "image", "inspect", image) == 0

    def is_healthy(self, container: str) -> bool:
        if not self.has_own_checks:
            return code(self.name, "healthcheck", "run", container) == 0
        return self("inspect", "-f", "{{.State.Health.Status}}", container).strip() == "healthy"

    def state(self, container: str) -> dict[str, object]:
        state: dict[str, object] = json.loads(self("inspect", container))[0]["State"]
        return state


def find() -> Engine:
    """The engine that answers; podman is installed where that is possible and nothing else is there."""
    if code("docker", "compose", "version") == 0 and code("docker", "info") == 0:
        return Engine("docker", ("docker", "compose"), has_own_checks=True)
    if shutil.which("podman") is None:
        _install()
    _configure()
    compose = Path(sysconfig.get_path("scripts"), "podman-compose")
    if not compose.exists():
        raise Missing("podman-compose is missing: `make .venv/ready` installs it")
    systemd = Path("/run/systemd/system").is_dir()
    return Engine("podman", (str(compose),), has_own_checks=systemd)


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install() -> None:
    if not can_install():
        raise Missing(
            "there is neither a Docker engine with compose nor podman, and only root on Debian can"
            f" install it here: apt-get install {' '.join(PACKAGES)}"
        )
    install(*PACKAGES)


def install(*packages: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}  # noqa: TID251 - what apt needs besides
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "--yes", "-qq", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(
            command, check=False, env=environment, capture_output=True, text=True, timeout=900
        )
        if done.returncode != 0:
            raise Missing(f"`{' '.join(command)}` failed: {last_line(done.stdout + done.stderr)}")


def _configure() -> None:
    """
    What podman needs where there is no systemd: written only where it does not work as it is, and
    where nobody has written anything.
    """
    if _works():
        return
    folder = Path("/etc/containers")
    files = folder / "containers.conf", folder / "storage.conf"
    if os.geteuid() != 0 or any(file.exists() for file in files):
        raise Missing(f"podman cannot run a container here: {_complaint()}")
    folder.mkdir(exist_ok=True)
    files[0].write_text(CONTAINERS_CONF)
    for driver in DRIVERS:
        # A store that was made with another driver is refused.
        if not list(Path("/var/lib/containers/storage").glob("*-images/images.json")):
            shutil.rmtree("/var/lib/containers/storage", ignore_errors=True)
        files[1].write_text(STORAGE_CONF.format(driver=driver))
        if _works():
            return
    complaint = _complaint()
    for file in files:
        file.unlink()
    raise Missing(f"podman cannot run a container here: {complaint}")


def _works() -> bool:
    return _complaint() == ""


def _complaint() -> str:
    """Why a container that does nothing cannot be run; empty if it can."""
    with tempfile.TemporaryDirectory() as home:
        tried = Path(home, "Dockerfile")
        busybox = shutil.which("busybox")
        if busybox is None:
            return "busybox is missing: apt-get install busybox-static"
        shutil.copy(busybox, Path(home, "busybox"))
        tried.write_text('FROM scratch\nCOPY busybox /bin/true\nENTRYPOINT ["/bin/true"]\n')
        for command in (
            ["podman", "build", "--quiet", "--tag", "localhost/parley-trial", home],
            ["podman", "run", "--rm", "localhost/parley-trial"],
        ):
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                return last_line(done.stderr) or f"exit code {done.returncode}"
        return ""


def code(*command: str) -> int:
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=120
        )
    except FileNotFoundError:
        return 127
    return done.returncode


def output(*command: str, check: bool = True, timeout: float, **more: object) -> str:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=timeout,
        stdin=subprocess.DEVNULL, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stdout}{done.stderr}")
    return str(done.stdout)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def progress(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

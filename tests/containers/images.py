"""
The images: ours from deploy/Dockerfile, and those that they and the compose files begin with.

What cannot be pulled is made here under the same name: Python from Debian's own packages, NATS from
the binary of our tests. Their versions are then those of Debian and of constraints.txt.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import yaml

from parley.bus.embedded import find_binary
from tests.containers.engine import Engine, Missing, can_install, install, last_line, progress

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
DEBIAN = "trixie"
PULLED_WITHIN_S = 60.0
BUILT_WITHIN_S = 1800.0
SBOM = "/opt/parley/sbom.cdx.json"
NATS_DOCKERFILE = """\
FROM scratch
COPY busybox /bin/wget
COPY nats-server /usr/local/bin/nats-server
ENTRYPOINT ["/usr/local/bin/nats-server"]
"""


def roles() -> Mapping[str, str]:
    """The images of the compose files that are ours, with the extras that each is built with."""
    found: dict[str, str] = {}
    for file in ("compose.yaml", "compose.model.yaml"):
        for service in yaml.safe_load((DEPLOY / file).read_text())["services"].values():
            if "build" in service:
                found[service["image"]] = service["build"]["args"]["EXTRAS"]
    return found


def bases() -> tuple[str, str]:
    """What our images begin with, and the server's."""
    [python] = {
        line.split()[1] for line in DOCKERFILE.read_text().splitlines() if "FROM" in line[:4]
    }
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return python, services["nats"]["image"]


def prepare(engine: Engine, wanted: set[str]) -> None:
    """Everything that the containers need, with the time that each took and its size."""
    python, server = bases()
    for image, make in ((python, _make_python), (server, _make_nats)):
        if not engine.has_image(image) and not _pulled(engine, image):
            _timed(engine, image, partial(make, engine, image))
    for image, extras in roles().items():
        if image in wanted:
            _timed(engine, image, partial(_build, engine, image, extras))


def _timed(engine: Engine, image: str, make: Callable[[], None]) -> None:
    begun = time.monotonic()
    make()
    size = int(engine("image", "inspect", "-f", "{{.Size}}", image)) / 1e6
    progress(f"  {image}: made in {time.monotonic() - begun:.0f} s, {size:.0f} MB")


def _pulled(engine: Engine, image: str) -> bool:
    try:
        engine("pull", "--quiet", image, timeout=PULLED_WITHIN_S)
    except (RuntimeError, subprocess.TimeoutExpired):
        return False
    return True


def _build(engine: Engine, image: str, extras: str) -> None:
    """From the cache, as far as nothing has changed."""
    command = ["build", "-f", str(DOCKERFILE), "-t", image, "--build-arg", f"EXTRAS={extras}"]
    if engine.name == "podman":
        # The format that keeps health checks; the network of this machine reaches the packages.
        command += ["--format", "docker", "--layers", "--isolation", "chroot", "--network", "host"]
        command += ["--pull=never"]
    engine(*command, str(ROOT), timeout=BUILT_WITHIN_S)


def _make_nats(engine: Engine, image: str) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Missing(f"{image} cannot be pulled, nor made: apt-get install busybox-static")
    with tempfile.TemporaryDirectory() as home:
        shutil.copy(busybox, Path(home, "busybox"))
        shutil.copy(find_binary(), Path(home, "nats-server"))
        Path(home, "Dockerfile").write_text(NATS_DOCKERFILE)
        engine("build", "--quiet", "-t", _full(image), home)


def _make_python(engine: Engine, image: str) -> None:
    if shutil.which("debootstrap") is None:
        if not can_install():
            raise Missing(f"{image} cannot be pulled, nor made: apt-get install debootstrap")
        install("debootstrap")
    # Beside the engine's own files, since /tmp may be mounted without devices.
    with tempfile.TemporaryDirectory(prefix="parley-root-", dir="/var/tmp") as home:
        root = Path(home, "root")
        packages = "python3,python3-venv,ca-certificates"
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={packages}", DEBIAN, root, _mirror()],
            check=False, capture_output=True, text=True, timeout=BUILT_WITHIN_S,
        )  # fmt: skip
        if done.returncode != 0:
            said = last_line(done.stdout + done.stderr)
            raise Missing(f"{image} cannot be pulled, nor made with debootstrap: {said}")
        (root / "usr/bin/python").symlink_to("python3")
        _as_this_machine(root)
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
            subprocess.run(
                [engine.name, "import", "--change", "CMD=python3", "-", _full(image)],
                check=True, stdin=packed.stdout, stdout=subprocess.DEVNULL,
            )  # fmt: skip


def _as_this_machine(root: Path) -> None:
    """Packages come the way they come here: the same index, the same authorities."""
    for folder in (root / "var/cache/apt/archives", root / "var/lib/apt/lists"):
        shutil.rmtree(folder, ignore_errors=True)
    for file in ("etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", file).exists():
            shutil.copy(Path("/", file), root / file)


def _mirror() -> str:
    """Where this machine has its own packages from."""
    files = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for file in files:
        for address in re.findall(r"\bhttps?://\S+/debian/?(?=\s)", _text_of(file)):
            return str(address)
    raise Missing("no source of Debian packages is configured on this machine")


def _text_of(file: Path) -> str:
    return file.read_text() + "\n" if file.is_file() else ""


def _full(image: str) -> str:
    """Of this machine's own; found by its short name."""
    return image if os.sep in image else f"localhost/{image}"


def listed(engine: Engine, image: str) -> list[str]:
    """What the image's own list says it holds."""
    found = json.loads(engine("run", "--rm", "--entrypoint", "cat", image, SBOM))
    assert found["bomFormat"] == "CycloneDX", found
    assert found["metadata"]["component"]["name"] == "parley-debate", found["metadata"]
    return sorted(f"{one['name']} {one['version']}" for one in found["components"])

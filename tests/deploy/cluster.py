"""The certificates and the login by which the nodes of a cluster know each other, made for tests."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.bus.worlds import NatsServer

DEPLOY = Path(__file__).parents[2] / "deploy"
USER, PASSWORD = "routes", "a-password-of-the-test"


def write_routes(home: Path, nodes: Sequence[str], password: str = PASSWORD) -> None:
    """As deploy/README.md tells an operator to."""
    urls = ", ".join(f'"nats://{USER}:{password}@{node}"' for node in nodes)
    login = f'authorization {{ user: {USER}, password: "{password}", timeout: 5 }}'
    (home / "routes.conf").write_text(f"{login}\nroutes: [{urls}]\n")
    if not (home / "route.crt").exists():
        _certify(home)


def _certify(home: Path) -> None:
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    _openssl(home, "req", "-x509", *key, "-days", "2", "-subj", "/CN=routes",
             "-keyout", "route-ca.key", "-out", "route-ca.crt")  # fmt: skip
    names = "subjectAltName=DNS:nats-1,DNS:nats-2,DNS:nats-3,IP:127.0.0.1"
    _openssl(home, "req", "-x509", "-CA", "route-ca.crt", "-CAkey", "route-ca.key", *key,
             "-days", "2", "-subj", "/CN=node", "-addext", names,
             "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", "route.key", "-out", "route.crt")  # fmt: skip


def _openssl(home: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["openssl", *arguments], check=False, cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def node(home: Path, name: str, route_port: int) -> NatsServer:
    """One node with the files of deploy/ and of `home`, on this machine."""
    own = home / name
    own.mkdir()
    for file in (*home.glob("route*"), home / "accounts.conf"):
        shutil.copy(file, own)
    shared = (DEPLOY / "nats" / "cluster.conf").read_text()
    (own / "cluster.conf").write_text(
        shared.replace('store_dir: "/data"', "")
        .replace("0.0.0.0:8222", "127.0.0.1:-1")
        .replace("0.0.0.0:6222", f"127.0.0.1:{route_port}")
        .replace("/etc/nats", str(own))
    )
    config = f'server_name: {name}\ninclude "cluster.conf"\n'
    return NatsServer(own, arguments=(), config=config)

"""Ports for processes that cannot choose one themselves and say which."""

import random
import socket
from pathlib import Path

LOWEST = 10_000
# Where the ports of outgoing connections begin, any of which may take a port before its process does.
OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
ELSEWHERE = 32_768


def free_ports(count: int) -> list[int]:
    """Held until all are chosen, so that no two are the same."""
    first = int(OUTGOING.read_text().split()[0]) if OUTGOING.exists() else ELSEWHERE
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            try:
                port = random.randrange(LOWEST, max(first, LOWEST + 1_000))
                held.append(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def free_port() -> int:
    [port] = free_ports(1)
    return port

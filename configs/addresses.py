"""Addresses of servers, checked before anybody connects to one."""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from urllib.parse import urlsplit

_HTTP = ("http", "https")
_FOUR_NUMBERS = re.compile(r"\d+(\.\d+){3}")


def is_address(url: str, schemes: Collection[str]) -> bool:
    """Whether it has a host that there can be, and such a port if any."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if _FOUR_NUMBERS.fullmatch(host):
            IPv4Address(host)
        return parts.scheme in schemes and bool(host) and parts.port != 0
    except ValueError:
        return False


def http_address(url: str, like: str) -> str:
    """Raises ValueError, which says what it should look like but not what it is: it may hold a password."""
    if not is_address(url, _HTTP) or not url.isprintable() or " " in url:
        raise ValueError(f"should look like {like}")
    return url.rstrip("/")


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks, separated by commas. Raises ValueError."""
    try:
        return tuple(ip_network(one.strip()) for one in text.split(",") if one.strip())
    except ValueError as error:
        raise ValueError("should look like 10.0.0.7,10.1.0.0/16") from error

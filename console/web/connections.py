"""
Who is connected: how many, from where, and how long they may keep the server waiting.

A connection waits for its client while a head or a body has not arrived whole. Where a place is
needed, the one that has waited longest gives way; so idle connections keep nobody out. Where
everybody is being answered, a newcomer gets a spare place, in which only probes are answered.
"""

import resource
from collections.abc import Callable
from enum import Enum
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple

import h11
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from parley.configs.addresses import networks
from parley.console.web.problems import Problem

MOST_CONNECTIONS = 3000
SPARE_PLACES = 64
# For the server's connection, pictures under way, files: what must be left for them.
OTHER_FILES = 256
LARGEST_HEAD_BYTES = 16 * 1024
HEAD_WITHIN_S = 10.0
# Longer than the application reads one, which can say so in an answer.
BODY_WITHIN_S = 75.0
# For an answer that does not fit into the buffers on the way.
TAKEN_WITHIN_S = 120.0

BAD_REQUEST, TIMED_OUT = 400, 408
_REASONS = {BAD_REQUEST: "Bad Request", TIMED_OUT: "Request Timeout"}
IPV6_PREFIX = 64
Address = IPv4Address | IPv6Address


class Phase(Enum):
    """What a connection is waiting for; `seconds` is how long it may."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"

    @property
    def seconds(self) -> float | None:
        return {"head": HEAD_WITHIN_S, "body": BODY_WITHIN_S}.get(self.value)


class Group:
    """Connections that share a limit; the one that has waited longest for its client comes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}

    def make_room(self) -> bool:
        """False where everybody is being answered."""
        if len(self.open) < self._most:
            return True
        longest = next(iter(self.waiting), None)
        if longest is not None:
            longest.hang_up()
        return longest is not None


class Place(NamedTuple):
    groups: tuple[Group, ...]
    is_spare: bool


class House:
    """All connections of one server. Those of `proxies` count only as a whole."""

    def __init__(self, most: int, per_address: int, proxies: str) -> None:
        self._everybody = Group(most)
        self._spare = Group(SPARE_PLACES)
        self._per_address = per_address
        self._proxies = networks(proxies)
        self._by_owner: dict[str, Group] = {}

    def enter(self, connection: "Connection", client: str) -> Place:
        address = _address(client)
        groups = self._groups_of(address)
        # The narrower one first: whoever has too many gives way before anybody else does.
        is_spare = not all(group.make_room() for group in reversed(groups))
        if is_spare:
            self._spare.make_room()
        # Whoever gave way may have been the last of its address.
        groups = (self._spare,) if is_spare else self._groups_of(address)
        for group in groups:
            group.open.add(connection)
        return Place(groups, is_spare)

    def leave(self, connection: "Connection", place: Place, client: str) -> None:
        for group in place.groups:
            group.open.discard(connection)
            group.waiting.pop(connection, None)
        owner = _owner(_address(client))
        known = self._by_owner.get(owner)
        if known is not None and not known.open:
            del self._by_owner[owner]

    def _groups_of(self, address: Address | None) -> tuple[Group, ...]:
        if address is not None and any(address in network for network in self._proxies):
            return (self._everybody,)
        own = self._by_owner.setdefault(_owner(address), Group(self._per_address))
        return self._everybody, own


class Connection(H11Protocol):
    def __init__(self, house: House, spare_app: ASGIApp, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._house = house
        self._spare_app = spare_app
        self._place = Place((), is_spare=False)
        self._client = ""
        self._seen: tuple[object, Phase] | None = None
        self._patience: Any = None
        self._unread: Any = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._client = self.client[0] if self.client else ""
        self._place = self._house.enter(self, self._client)
        if self._place.is_spare:
            self.app = self._spare_app
        self._look()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(TAKEN_WITHIN_S, self.hang_up)

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._unread)

    @override
    def send_400_response(self, msg: str) -> None:
        self._refuse(BAD_REQUEST, "this is no HTTP request that can be read")

    @override
    def _should_upgrade(self) -> bool:
        """Nothing here is spoken but HTTP: the request is answered as if it had not asked."""
        return False

    def hang_up(self) -> None:
        self._leave()
        self.transport.abort()

    def _look(self) -> None:
        """Time starts anew with each request, and with its body."""
        if self.transport.is_closing():
            return
        now = self.cycle, _phase_of(self.cycle)
        if now == self._seen:
            return
        self._seen = now
        _cancel(self._patience)
        seconds = now[1].seconds
        for group in self._place.groups:
            group.waiting.pop(self, None)
            if seconds is not None:
                group.waiting[self] = None
        if seconds is not None:
            self._patience = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        began = bool(self.conn.trailing_data[0])
        if began and _phase_of(self.cycle) is Phase.HEAD:
            self._refuse(TIMED_OUT, f"the head took longer than {HEAD_WITHIN_S:g} s to arrive")
        else:
            self.hang_up()

    def _refuse(self, status: int, error: str) -> None:
        """Nothing more can be understood of this connection."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.hang_up()
            return
        body = Problem(error=error).model_dump_json().encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._leave()
        self.transport.close()

    def _leave(self) -> None:
        _cancel(self._patience)
        _cancel(self._unread)
        self._house.leave(self, self._place, self._client)
        self._place = Place((), self._place.is_spare)


def connections_of(house: House, spare_app: ASGIApp) -> Callable[..., Connection]:
    return partial(Connection, house, spare_app)


def places(most: int = MOST_CONNECTIONS) -> int:
    """How many connections the process can hold; its limit on open files is raised where allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + SPARE_PLACES + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, soft - SPARE_PLACES - OTHER_FILES))


def _phase_of(cycle: RequestResponseCycle | None) -> Phase:
    if cycle is None or cycle.response_complete:
        return Phase.HEAD
    return Phase.BODY if cycle.more_body else Phase.ANSWER


def _address(text: str) -> Address | None:
    """None for a client that is gone already."""
    try:
        one = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(one, "ipv4_mapped", None) or one


def _owner(address: Address | None) -> str:
    """Who counts as one: of IPv6 a network, for whoever has an address there has all of them."""
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return str(address)


def _cancel(timer: Any) -> None:
    if timer is not None:
        timer.cancel()

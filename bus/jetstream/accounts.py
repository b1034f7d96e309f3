"""
Who may say what: the accounts of a nats-server, one per persona.

Permissions alone do not hold. Whoever may publish a turn could name a control subject as its reply,
and the server would store its acknowledgement there, as a fact. A reply never leaves the account
that asked; so the log lives in CORE with its coordinators, and everybody else in an account of
their own that reaches CORE through the services below and nothing else:

    CORE                the streams; coordinators and operators, and viewers that only listen
    CLIENTS             submit, cancel, upload, read the log and the archive, listen
    WEB                 the same, see who is there, what waits and what was given up, and speak for
                        people: a person has no account, the page writes their turns
    {panel}-{persona}   pull from its own queue, acknowledge there, speak its own turns, read blobs,
                        see whether a step or a debate of its panel is over, answer NATS micro, say partial text, keep its own account of the panel's
                        budgets and read the others', keep its own model's answers

Where the page answers NATS requests, CLIENTS may send them to WEB, and to nobody else.

Nobody outside CORE can send more at once than the log takes as one record, or take anything out.
The configuration holds public keys only. The seeds are secrets and go to files of their own.
"""

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from parley.bus.errors import BadInput
from parley.bus.extras import extra
from parley.bus.jetstream.infra import Layout
from parley.bus.port import LARGEST_RECORD_BYTES
from parley.bus.subjects import (
    ANSWERS,
    CLOSED,
    EVERY_DEBATE,
    LIVE,
    PURSE,
    DebateRef,
    Subjects,
    answer_key,
)

CORE = "CORE"
CLIENTS = "CLIENTS"
WEB_PAGE = "WEB"
COORDINATOR = "coordinator"
VIEWER = "viewer"
SUBMITTER = "submitter"
WEB = "web"
NO_PERSONAS = frozenset({COORDINATOR, VIEWER, SUBMITTER, WEB})
CONFIG_FILE = "accounts.conf"
SEED_SUFFIX = ".nk"

_INBOX = "_INBOX.>"
# A guest that imports this one reaches CORE's JetStream with the rest of its services; otherwise
# the server sends them to the guest's own, which is off.
_WHOSE_JETSTREAM = "$JS.API.INFO"
# NATS micro: whoever runs a service answers here.
_DISCOVERY = "$SRV.>"
_ROLL_CALL = "$SRV.STATS"
# To one request: a debate is told in many parts, and may take long.
_ANSWERS = {"max": -1, "expires": "24h"}
_OWNER_ONLY = 0o600
_SEED = re.compile("SU[A-Z2-7]{56}")
_PUBLIC_KEY = re.compile("U[A-Z2-7]{55}")
_NO_KEYS: Mapping[str, str] = MappingProxyType({})
_NO_PEOPLE: Mapping[str, Sequence[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Login:
    """One key pair; without a seed it was made elsewhere, and only its owner has it."""

    name: str
    public_key: str
    seed: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Service:
    """A subject of CORE that another account may send to; `streamed` if one request has many answers."""

    subject: str
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What the page answers clients over NATS, and what it tells them unasked."""

    services: tuple[Service, ...] = ()
    tells: str = ""


NOTHING_OFFERED = Offer()


@dataclass(frozen=True, slots=True)
class Guest:
    """An account outside CORE, with everything it may do there."""

    account: str
    login: Login
    services: tuple[Service, ...]
    # What it may hear of CORE, and what CORE and every listener may hear of it; neither is answered
    # or stored.
    hears: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    # Whether it answers the pings of NATS micro.
    discoverable: bool = False
    offer: Offer = NOTHING_OFFERED


@dataclass(frozen=True, slots=True)
class Accounts:
    coordinator: Login
    viewer: Login
    guests: tuple[Guest, ...]

    @property
    def listeners(self) -> tuple[Guest, ...]:
        """
        The server does not pass on what CORE imports: who listens to CORE imports what personas say
        from each of them.
        """
        return tuple(guest for guest in self.guests if guest.hears)

    @property
    def speakers(self) -> tuple[Guest, ...]:
        return tuple(guest for guest in self.guests if guest.says)

    def offered_to(self, guest: Guest) -> Offer:
        offers = (one.offer for one in self.guests if one.offer.services)
        return next(offers, NOTHING_OFFERED) if guest.account == CLIENTS else NOTHING_OFFERED

    @property
    def logins(self) -> tuple[Login, ...]:
        return (self.coordinator, self.viewer, *(guest.login for guest in self.guests))


def accounts(
    panels: Mapping[str, Sequence[str]],
    layout: Layout,
    keys: Mapping[str, str] = _NO_KEYS,
    people: Mapping[str, Sequence[str]] = _NO_PEOPLE,
    offer: Offer = NOTHING_OFFERED,
) -> Accounts:
    """
    Accounts for the personas of these panels; `people` are those of them that are people.

    `keys` holds what is known already, by login: a seed, or only the public key of one that is
    kept elsewhere. Every other login gets a new key pair.
    """
    names = [account_of(panel, persona) for panel in panels for persona in panels[panel]]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two personas would share the account {name!r}: rename one of them")
    return Accounts(
        coordinator=_login(COORDINATOR, keys),
        viewer=_login(VIEWER, keys),
        guests=(
            _clients(layout, _login(SUBMITTER, keys)),
            replace(_web(layout, _login(WEB, keys), people), offer=offer),
            *(
                _persona(panel, persona, layout, _login(account_of(panel, persona), keys))
                for panel in panels
                for persona in panels[panel]
            ),
        ),
    )


def offer_of(prefix: str, *, requests: bool, agents: str | None) -> Offer:
    """Of a page that answers requests, and whose panels are agents under the name of an owner."""
    services = [Service(f"service.{prefix}.*")] if requests else []
    if agents is not None:
        services += [
            Service(f"agents.{verb}.parley.{agents}.*", streamed=True)
            for verb in ("prompt", "status")
        ]
    if not services:
        return NOTHING_OFFERED
    beats = "agents.hb.>" if agents is not None else ""
    return Offer((*services, Service(_DISCOVERY, streamed=True)), beats)


def render(accounts: Accounts) -> str:
    """The `accounts` block of a nats-server configuration."""
    blocks = [
        _block(CORE, _core(accounts)),
        *(_block(g.account, _guest(g, accounts)) for g in accounts.guests),
    ]
    return "accounts: {\n" + ",\n".join(blocks) + "\n}\n"


def known_keys(directory: Path) -> dict[str, str]:
    """The seeds that an earlier `save` left, by login."""
    return {path.stem: path.read_text().strip() for path in directory.glob(f"*{SEED_SUFFIX}")}


def save(accounts: Accounts, directory: Path) -> list[Path]:
    """The configuration, and every seed in a file that only its owner can read; what was written."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = directory / CONFIG_FILE
    config.write_text(render(accounts))
    written = [config]
    for login in accounts.logins:
        if login.seed is not None:
            path = directory / f"{login.name}{SEED_SUFFIX}"
            path.touch(mode=_OWNER_ONLY)
            path.chmod(_OWNER_ONLY)
            path.write_text(login.seed)
            written.append(path)
    return written


def account_of(panel: str, persona: str) -> str:
    """Named like the persona's queue."""
    return f"{panel}-{persona}"


def _persona(panel: str, persona: str, layout: Layout, login: Login) -> Guest:
    subjects, debates = Subjects(layout.prefix), DebateRef(panel, "*")
    queues = [f"{stream}.{login.name}" for stream in layout.logs]
    answers = subjects.register(ANSWERS, answer_key(panel, persona, "*"))
    return Guest(
        account=login.name,
        login=login,
        services=(
            Service(subjects.at(debates, f"turn.*.{persona}")),
            Service(_WHOSE_JETSTREAM),
            *chain.from_iterable(
                (
                    Service(f"$JS.API.CONSUMER.MSG.NEXT.{queue}", streamed=True),
                    Service(f"$JS.API.CONSUMER.INFO.{queue}"),
                    Service(f"$JS.ACK.{queue}.>"),
                )
                for queue in queues
            ),
            *(
                Service(f"$JS.API.DIRECT.GET.{stream}.{subjects.at(debates, ending)}")
                for stream in layout.logs
                for ending in ("fired.*", CLOSED)
            ),
            *_reading(f"OBJ_{layout.bucket}"),
            Service(subjects.register(PURSE, f"{panel}.*.*.{persona}")),
            *_reading(layout.register(PURSE)),
            Service(answers),
            Service(f"$JS.API.DIRECT.GET.{layout.register(ANSWERS)}.{answers}"),
        ),
        says=(subjects.partial(debates, "*", persona),),
        discoverable=True,
    )


def _clients(layout: Layout, login: Login) -> Guest:
    subjects = Subjects(layout.prefix)
    return Guest(
        account=CLIENTS,
        login=login,
        services=(
            Service(subjects.submissions()),
            Service(subjects.at(EVERY_DEBATE, "cancel")),
            Service(f"$O.{layout.bucket}.C.*"),
            Service(f"$O.{layout.bucket}.M.*"),
            Service(_WHOSE_JETSTREAM),
            *chain.from_iterable(
                (*_reading(stream), Service(f"$JS.API.STREAM.INFO.{stream}"))
                for stream in (*layout.logs, layout.archive, layout.blobs)
            ),
        ),
        hears=(subjects.live(), subjects.beacons()),
    )


def _web(layout: Layout, login: Login, people: Mapping[str, Sequence[str]]) -> Guest:
    """It may not redrive: that is an ask, and whoever writes asks decides what is debated."""
    client, subjects = _clients(layout, login), Subjects(layout.prefix)
    return replace(
        client,
        account=WEB_PAGE,
        services=(
            *client.services,
            *_reading(layout.dead),
            Service(f"$JS.API.STREAM.INFO.{layout.dead}"),
            *(Service(f"$JS.API.CONSUMER.LIST.{stream}") for stream in layout.logs),
            Service(_ROLL_CALL, streamed=True),
            *(
                Service(subjects.at(DebateRef(panel, "*"), f"turn.*.{person}"))
                for panel in people
                for person in people[panel]
            ),
        ),
    )


def _reading(stream: str) -> tuple[Service, ...]:
    """Any replica answers the first, the leader the second."""
    return (
        Service(f"$JS.API.DIRECT.GET.{stream}", streamed=True),
        Service(f"$JS.API.STREAM.MSG.GET.{stream}"),
    )


def _core(accounts: Accounts) -> dict[str, object]:
    allowed: dict[tuple[str, Service | str], list[str]] = {}
    for guest in accounts.guests:
        for service in guest.services:
            allowed.setdefault(("service", service), []).append(guest.account)
        for heard in guest.hears:
            allowed.setdefault(("stream", heard), []).append(guest.account)
    only_listen = {"publish": {"deny": [">"]}, "subscribe": {"allow": [f"{LIVE}.>"]}}
    return {
        "jetstream": "enabled",
        "users": [
            {"nkey": accounts.coordinator.public_key},
            {"nkey": accounts.viewer.public_key, "permissions": only_listen},
        ],
        "exports": [_export(kind, what, who) for (kind, what), who in allowed.items()],
        "imports": list(chain.from_iterable(_heard_of(guest) for guest in accounts.guests)),
    }


def _guest(guest: Guest, accounts: Accounts) -> dict[str, object]:
    offer, asks = guest.offer, accounts.offered_to(guest)
    may_send = [*(service.subject for service in (*guest.services, *asks.services)), *guest.says]
    may_hear = [_INBOX, *guest.hears, *([_DISCOVERY] if guest.discoverable else [])]
    may_hear += [service.subject for service in offer.services]
    hearers = [CORE, *(listener.account for listener in accounts.listeners)]
    exports = [_export("stream", said, hearers) for said in guest.says]
    if guest.discoverable:
        exports.append(_export("service", Service(_DISCOVERY, streamed=True), [CORE]))
    exports += [_export("service", service, [CLIENTS]) for service in offer.services]
    if offer.tells:
        may_send.append(offer.tells)
        exports.append(_export("stream", offer.tells, [CLIENTS]))
    told = [asks.tells] if asks.tells else []
    return {
        "limits": {"max_payload": LARGEST_RECORD_BYTES},
        "users": [
            {
                "nkey": guest.login.public_key,
                "permissions": {
                    "publish": {"allow": may_send},
                    "subscribe": {"allow": [*may_hear, *told]},
                    "allow_responses": _ANSWERS if offer.services else guest.discoverable,
                },
            }
        ],
        "exports": exports,
        "imports": [
            *({"service": {"account": CORE, "subject": s.subject}} for s in guest.services),
            *({"stream": {"account": CORE, "subject": heard}} for heard in guest.hears),
            *(chain.from_iterable(map(_said_by, accounts.speakers)) if guest.hears else ()),
            *({"service": {"account": WEB_PAGE, "subject": s.subject}} for s in asks.services),
            *({"stream": {"account": WEB_PAGE, "subject": one}} for one in told),
        ],
    }


def _said_by(guest: Guest) -> Iterable[dict[str, object]]:
    for said in guest.says:
        yield {"stream": {"account": guest.account, "subject": said}}


def _heard_of(guest: Guest) -> Iterable[dict[str, object]]:
    yield from _said_by(guest)
    if guest.discoverable:
        yield {"service": {"account": guest.account, "subject": _DISCOVERY}}


def _export(kind: str, what: Service | str, accounts: Sequence[str]) -> dict[str, object]:
    subject = what.subject if isinstance(what, Service) else what
    streamed = isinstance(what, Service) and what.streamed
    return {
        kind: subject,
        **({"response_type": "stream"} if streamed else {}),
        "accounts": list(accounts),
    }


def _block(name: str, account: Mapping[str, object]) -> str:
    """The configuration's syntax takes JSON values; one line for each entry keeps it readable."""
    lines = []
    for key, value in account.items():
        if isinstance(value, list):
            entries = "".join(f"\n      {json.dumps(entry)}" for entry in value)
            lines.append(f"    {key}: [{entries}\n    ]")
        else:
            lines.append(f"    {key}: {json.dumps(value)}")
    return f"  {json.dumps(name)}: {{\n" + "\n".join(lines) + "\n  }"


def _login(name: str, keys: Mapping[str, str]) -> Login:
    with extra("nkeys", "making accounts"):
        import nkeys  # type: ignore[import-untyped] # noqa: PLC0415
    if name not in keys:
        key = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER).decode()
    elif _PUBLIC_KEY.fullmatch(keys[name]):
        return Login(name, keys[name])
    elif _SEED.fullmatch(keys[name]):
        key = keys[name]
    else:
        raise BadInput(f"the key of {name} is neither a user's seed (SU…) nor its public key (U…)")
    return Login(name, nkeys.from_seed(bytearray(key.encode())).public_key.decode(), key)

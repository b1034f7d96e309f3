"""
From settings to a server: a private one, or one that runs elsewhere, and the log on it.

A stream that exists is never changed, only compared.
"""

import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import structlog

from parley.bus.embedded import embedded_server
from parley.bus.errors import Denied, Unsuitable
from parley.bus.extras import extra
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Keep, Layout, refuse_foreign
from parley.bus.journal import Journal
from parley.bus.subjects import Subjects
from parley.bus.telemetry import OFF, Telemetry
from parley.configs.settings import NatsSettings, Settings, TelemetrySettings

USUAL_URL = "nats://127.0.0.1:4222"
DAY_S = 86_400
MIB = 1 << 20

# Without letters that are mistaken for digits; in ASCII order, so that ids sort by time.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_DIGITS = 8
_RANDOM_DIGITS = 4

# Told, in words, of what is not as expected and hinders nothing.
Warn = Callable[[Iterable[str]], None]

log = structlog.get_logger()


def tell(differences: Iterable[str]) -> None:
    """Where nobody says whom to tell."""
    for one in differences:
        log.warning("not_as_expected", what=one)


def only_warnings() -> None:
    """
    A library says on stderr what goes wrong, and nothing else, unless told otherwise; without the
    variables of a traceback's frames, which hold keys and prompts.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
            wrapper_class=structlog.make_filtering_bound_logger("warning"),
            # Asked for with each event, since whoever tests replaces it meanwhile.
            logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        )


def new_id() -> str:
    """
    Short, readable, sortable by time: eight digits of seconds, then four of chance.

    About a million ids fit into one second; one that is taken is refused when it is submitted.
    """
    return _base32(int(time.time()), _TIME_DIGITS) + _base32(
        secrets.randbelow(len(_ALPHABET) ** _RANDOM_DIGITS), _RANDOM_DIGITS
    )


@asynccontextmanager
async def private_server(
    settings: Settings, *, port: int | None = None, store: Path | None = None
) -> AsyncIterator[Settings]:
    """The settings, pointed at a server of our own that lives as long as the context."""
    embedded = settings.embedded
    async with embedded_server(
        port=port, store=store or embedded.store, binary=embedded.binary
    ) as url:
        nats = settings.nats.model_copy(update={"url": url, "user": None, "password": None})
        yield settings.model_copy(update={"nats": nats})


@asynccontextmanager
async def open_host(
    settings: Settings,
    *,
    warn: Warn = tell,
    private: bool = False,
    port: int | None = None,
    store: Path | None = None,
) -> AsyncIterator[tuple[Journal, Settings]]:
    """The server that the settings name; where they name none, or for a private one, our own."""
    async with AsyncExitStack() as stack:
        if private or not settings.names_a_server:
            server = private_server(settings, port=port, store=store)
            settings = await stack.enter_async_context(server)
        journal = await stack.enter_async_context(open_journal(settings, create=True, warn=warn))
        yield journal, settings


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncIterator[JetStreamBus]:
    """The server that the settings name, whatever there is on it."""
    async with open_bus(_server(settings.nats), layout_of(settings)) as bus:
        yield bus


@asynccontextmanager
async def open_journal(
    settings: Settings, *, create: bool, warn: Warn = tell
) -> AsyncIterator[Journal]:
    """
    The log of the server that the settings name.

    `create` makes the stream where there is none; without it a missing stream means that nobody
    runs Parley there.
    """
    async with _telemetry(settings.telemetry) as telemetry, open_server(settings) as bus:
        await _prepare(bus, create=create, warn=warn)
        yield Journal(bus, Subjects(settings.nats.prefix), telemetry)


def _telemetry(settings: TelemetrySettings) -> AbstractAsyncContextManager[Telemetry]:
    """Raises MissingPackage."""
    if settings.endpoint is None:
        return nullcontext(OFF)
    with extra("otel", "telemetry.endpoint"):
        from parley.bus.otlp import open_collector  # noqa: PLC0415 - large packages

    return open_collector(settings.endpoint, sample=settings.sample, content=settings.content)


def layout_of(settings: Settings) -> Layout:
    nats, kept = settings.nats, settings.retention
    return Layout(
        stream=nats.stream,
        streams=nats.streams,
        prefix=nats.prefix,
        replicas=nats.replicas,
        keep_log=_keep(kept.log_days, kept.log_mib),
        keep_archive=_keep(kept.archive_days, kept.archive_mib),
        keep_blobs=_keep(kept.blob_days, kept.blob_mib),
        keep_dead=_keep(kept.dead_days, kept.dead_mib),
        keep_purse=_keep(kept.purse_days, kept.purse_mib),
        keep_answers=_keep(kept.answer_days, kept.answer_mib),
        accept_below=kept.accept_below,
    )


async def _prepare(bus: JetStreamBus, *, create: bool, warn: Warn) -> None:
    try:
        differences = await (bus.plan() if create else bus.plan_essentials())
    except Denied:
        # A persona's login sees its own queue and nothing else: `parley infra apply` made the rest.
        return
    refuse_foreign(differences)
    missing = [one for one in differences if one.found is None]
    if missing and not create:
        raise Unsuitable(
            f"nobody runs Parley on this server yet (no {missing[0].resource}):"
            " start `parley up` or `parley coordinator`"
        )
    if missing:
        await bus.create_missing()
    warn(f"the server differs from the settings: {one}" for one in differences if one.found)


def _server(nats: NatsSettings) -> Server:
    return Server(
        urls=tuple(_with_user(url.strip(), nats) for url in (nats.url or USUAL_URL).split(",")),
        credentials=nats.creds_file,
        nkey_seed=nats.nkey_seed_file,
        tls_ca=nats.tls_ca_file,
        tls_cert=nats.tls_cert_file,
        tls_key=nats.tls_key_file,
    )


def _with_user(url: str, nats: NatsSettings) -> str:
    if nats.user is None:
        return url
    parts = urlsplit(url)
    secret = f":{quote(nats.password.get_secret_value(), safe='')}" if nats.password else ""
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(nats.user, safe='')}{secret}@{host}"))


def _keep(days: float | None, mib: int | None) -> Keep:
    return Keep(age_s=(days or 0.0) * DAY_S, size_bytes=(mib or 0) * MIB)


def _base32(number: int, digits: int) -> str:
    text = ""
    for _ in range(digits):
        number, digit = divmod(number, len(_ALPHABET))
        text = _ALPHABET[digit] + text
    return text

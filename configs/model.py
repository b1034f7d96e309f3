"""
Which language model speaks for whom, how patiently it is asked, and what it costs.

    model:
      base_url: https://models.example/v1
      name: large
      prices: {input: 2.5, output: 10}     # per million tokens
      seats:
        forensic: {name: small}            # everybody on the panel
        forensic/noise: {name: eyes, vision: true}

Keys stand in variables (`PARLEY_MODEL__API_KEY`), not in files. A seat with a `base_url` of its own
is sent no key but its own: `PARLEY_MODEL__SEATS='{"forensic/noise": {"api_key": "…"}}'`.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic.json_schema import SkipJsonSchema

from parley.bus.errors import BadInput
from parley.configs.addresses import http_address

SET_NAME = "set PARLEY_MODEL__NAME, or model.name in parley.yaml"
SET_KEY = "set PARLEY_MODEL__API_KEY (or OPENAI_API_KEY)"
SET_PRICES = (
    "set PARLEY_MODEL__PRICES__INPUT and PARLEY_MODEL__PRICES__OUTPUT (for a million tokens), or the"
    " seat's prices under model.seats in parley.yaml"
)
SET_ADDRESS = "set PARLEY_MODEL__BASE_URL (or OPENAI_BASE_URL)"
SET_LENGTH = "raise PARLEY_MODEL__MAX_OUTPUT_TOKENS for longer answers"
SET_SIZE = "raise PARLEY_MODEL__MAX_REPLY_KIB"
# Sent where an endpoint of one's own wants no key; the protocol has no way to send none. Keys are
# struck out of every answer, so it is no word that an answer could hold.
NO_KEY = "no-key-needed"
CHAT: Final = "chat"
RESPONSES: Final = "responses"
_FAMILIES: Mapping[str, Literal["anthropic", "gemini"]] = {
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
}
OPENAI = "https://api.openai.com/v1"


def endpoint(url: str) -> str:
    """Raises ValueError that does not show it."""
    return http_address(url, like="https://host/v1 or http://host:8080/v1")


def _travels_in_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


class Prices(BaseModel):
    """In any currency, for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Of a million tokens that are sent.
    input: Annotated[float, Field(ge=0)] = 0.0
    # Of a million tokens that are answered.
    output: Annotated[float, Field(ge=0)] = 0.0

    @property
    def are_known(self) -> bool:
        return self.input > 0 or self.output > 0


class ModelOptions(BaseModel):
    """What can differ from seat to seat. None leaves a parameter out of the call."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # A user and password may stand in it, so it is never shown whole. None means OpenAI's.
    base_url: Annotated[str, AfterValidator(endpoint)] | None = Field(default=None, repr=False)
    # Left out where an endpoint wants none.
    api_key: SecretStr | None = Field(default=None, repr=False)
    # The model, as the endpoint calls it.
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    # How calls are made: chat completions, or the Responses API where the endpoint has it.
    api: Literal["chat", "responses"] = CHAT
    # Whose ways the endpoint has, where they differ from OpenAI's; `auto` goes by its host.
    family: Literal["auto", "openai", "anthropic", "gemini"] = "auto"
    # 0 makes answers as repeatable as the endpoint can.
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    # For endpoints that can repeat an answer.
    seed: int | None = None
    # The longest answer.
    max_output_tokens: Annotated[int, Field(ge=16)] | None = 2000
    # Whether it can look at images; otherwise it reads what is measured and known about them.
    vision: bool = False
    # Without them no budget by cost can be kept.
    prices: Prices = Prices()

    @property
    def known_family(self) -> Literal["openai", "anthropic", "gemini"]:
        if self.family != "auto":
            return self.family
        return _FAMILIES.get(self.host, "openai")

    @property
    def address(self) -> str:
        return self.base_url or OPENAI

    @property
    def holds_a_user(self) -> bool:
        parts = urlsplit(self.address)
        return bool(parts.username or parts.password)

    @property
    def host(self) -> str:
        """For people: where the endpoint is, without any secret that stands in the URL."""
        parts = urlsplit(self.address)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


class ModelChoice(ModelOptions):
    """A seat's options, complete: there is a name and a key."""

    name: str
    api_key: SecretStr
    # What to set where the endpoint refuses whoever asks.
    key_advice: str = SET_KEY

    @property
    def refusal(self) -> str:
        """What an endpoint does that refuses whoever asks."""
        if self.holds_a_user:
            return "refuses the user in its address"
        return "wants a key" if self.api_key.get_secret_value() == NO_KEY else "refuses the key"


class ModelSettings(ModelOptions):
    """Which model speaks for whom, and how patiently it is asked. None leaves a parameter out."""

    # By panel, or by panel/persona; the closer one wins, key by key. One with a `base_url` has the
    # `api_key` that stands beside it, here or in PARLEY_MODEL__SEATS, or none.
    seats: dict[str, ModelOptions] = Field(default_factory=dict, repr=False)
    # Why OPENAI_BASE_URL is no address. It is not ours, so it concerns only who asks a model there.
    no_address: SkipJsonSchema[str | None] = None
    # The language of the prompts, where the text that is debated does not decide it.
    language: Literal["en", "ko"] = "en"
    # Of one call.
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 45.0
    # Further attempts after a fault that may pass; the pause before attempt n is 2**n seconds.
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    # The longest pause; after a longer one the ask is handed out again, if there is time.
    max_pause_s: Annotated[float, Field(ge=0, le=600)] = 30.0
    # How often an answer that cannot be used is sent back with its mistakes.
    reasks: Annotated[int, Field(ge=0, le=5)] = 2
    # Calls under way at the same time in this process.
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    # A longer answer is refused unread.
    max_reply_kib: Annotated[int, Field(ge=1)] = 1024
    # A larger image is not sent; the model reads what is measured and known about it.
    max_image_kib: Annotated[int, Field(ge=1)] = 6144
    # Answers remembered by their prompt, so that a repeated ask costs nothing: so many in this
    # process, and on the server for all replicas (for `retention.answer_days`).
    cached_answers: Annotated[int, Field(ge=0)] = 0
    # Whether those on the server are read and written.
    shared_answers: bool = False
    # Whether words are heard while they are spoken, by `parley watch` and the page. None leaves it
    # to the command: `parley run` on a terminal streams.
    stream: bool | None = None

    @model_validator(mode="after")
    def _seats_are_addresses(self) -> Self:
        for seat in self.seats:
            if not all(part.strip() for part in seat.split("/")) or seat.count("/") > 1:
                raise ValueError(f"seats: should be PANEL or PANEL/PERSONA (got {seat!r})")
        return self

    def options_for(self, panel: str, persona: str) -> ModelOptions:
        """
        What is set for a seat, complete or not.

        A seat at another address does not inherit the key: a key is never sent to an endpoint it
        was not given for.
        """
        chosen: dict[str, object] = {key: getattr(self, key) for key in ModelOptions.model_fields}
        for seat in (panel, f"{panel}/{persona}"):
            closer = self.seats.get(seat)
            if closer is None:
                continue
            given = {key: getattr(closer, key) for key in closer.model_fields_set}
            if given.get("base_url", chosen["base_url"]) != chosen["base_url"]:
                chosen["api_key"] = None
            chosen |= given
        return ModelOptions.model_validate(chosen)

    def choice_for(self, panel: str, persona: str) -> ModelChoice:
        """Raises BadInput that says what to set."""
        options = self.options_for(panel, persona)
        key = options.api_key.get_secret_value().strip() if options.api_key else ""
        if options.name is None:
            raise BadInput(f"no model is named for {panel}/{persona}: {SET_NAME}")
        if options.base_url is None and self.no_address is not None:
            raise BadInput(self.no_address)
        if key and options.holds_a_user:
            raise BadInput(
                f"{panel}/{persona}: a user in its model's address and a key cannot both be sent:"
                " leave one out (PARLEY_MODEL__API_KEY=none: no key)"
            )
        if not key and options.base_url is None:
            raise BadInput(f"no key for the model of {panel}/{persona}: {SET_KEY}")
        if not _travels_in_a_header(key):
            raise BadInput(f"the key of {panel}/{persona} holds characters no key has: {SET_KEY}")
        given = {"api_key": SecretStr(key or NO_KEY), "key_advice": self._key_advice(options)}
        return ModelChoice.model_validate({**dict(options), **given})

    def _key_advice(self, options: ModelOptions) -> str:
        """The same for all seats with the same options, so that they share a model."""
        if options.holds_a_user:
            return SET_ADDRESS
        decides = "base_url" if options.api_key is None else "api_key"
        wanted = getattr(options, decides)
        if wanted == getattr(self, decides):
            return SET_KEY
        seats = [seat for seat, one in self.seats.items() if getattr(one, decides) == wanted]
        variable = json.dumps({seat: {"api_key": "…"} for seat in seats}, ensure_ascii=False)
        lacking = f"no key is set for {', '.join(seats)}: " if options.api_key is None else ""
        return f"{lacking}set PARLEY_MODEL__SEATS='{variable}'"

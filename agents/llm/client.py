"""
One model, asked until it answers or until it is clear that it will not.

A fault that may pass is waited out; an answer that cannot be used goes back with its mistakes; in
the end there is an answer or a reason. Whatever it comes to, every call made is counted.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import structlog
from pydantic import JsonValue

from parley.agents.brain import BrainFailure
from parley.agents.llm.call_span import CallSpan
from parley.agents.llm.completion import Endpoint, Listener, open_endpoint
from parley.agents.llm.cost import CostMeter, expected, guessed_tokens
from parley.agents.llm.endpoint_capabilities import (
    EndpointCapabilities,
    first_tried,
    names_the_format,
    names_the_stream,
)
from parley.agents.llm.fault import PASSING, Fault, FaultKind, explained
from parley.agents.llm.form import filled_in
from parley.agents.llm.meter import UNMETERED, Meter, Spent
from parley.agents.llm.question import Form, FormT, Prompt, Question, Unusable
from parley.agents.llm.reply import Completion
from parley.agents.llm.request_body import (
    in_known_roles,
    messages_of,
    parameters_of,
    sent_back,
    streaming_parameters,
)
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Content, FailureReason
from parley.configs.model import SET_LENGTH, ModelChoice, ModelOptions, ModelSettings
from parley.prompts import FALLBACK, instructions

_TRIAL = '{"ready": true}'

log = structlog.get_logger()


class Unanswered(BrainFailure):
    """
    No answer came, and this is what the attempts cost.

    `again_in_s` is how long the endpoint asked to be left alone, where that is too long to wait.
    """

    def __init__(
        self, reason: FailureReason, detail: str, usage: Usage, again_in_s: float | None = None
    ) -> None:
        super().__init__(reason, detail)
        self.usage = usage
        self.again_in_s = again_in_s


class _Ready(Form):
    """The form of the trial question: any endpoint that takes it takes all others."""

    ready: bool


@dataclass(slots=True)
class Terms:
    """On which one ask is answered."""

    bill: CostMeter
    meter: Meter = UNMETERED
    # None where nobody wants to hear the answer before it is complete.
    listener: Listener | None = None
    # How many times the usual length an answer may have: more after one that was cut off.
    room: int = 1


@dataclass(frozen=True, slots=True)
class Talk:
    """A question, and what came of it so far: answers that cannot be used, and why not."""

    prompt: Prompt
    form: type[Form]
    so_far: tuple[JsonValue, ...] = ()

    def messages(self, capabilities: EndpointCapabilities) -> list[JsonValue]:
        return [*messages_of(self.prompt, self.form, capabilities), *self.so_far]

    def after(self, said: str, problem: Unusable) -> "Talk":
        """The answer goes back with its mistakes; after a copy the question is asked anew."""
        if problem.copied:
            return Talk(self.prompt.without_example(), self.form)
        return replace(self, so_far=(*self.so_far, *sent_back(said, str(problem), self.form)))


class ModelClient:
    """`slots` is shared by all models of a process."""

    def __init__(
        self,
        endpoint: Endpoint,
        choice: ModelChoice,
        settings: ModelSettings,
        slots: anyio.CapacityLimiter,
    ) -> None:
        self._endpoint = endpoint
        self._choice = choice
        self._settings = settings
        self._slots = slots
        self._capabilities: EndpointCapabilities | None = None
        self._introducing = anyio.Lock()
        self._log = log.bind(model=choice.name, endpoint=choice.host)

    @property
    def capabilities(self) -> EndpointCapabilities | None:
        """How the endpoint wants to be asked; None until it was asked."""
        return self._capabilities

    async def introduce(self) -> None:
        """
        Ask the trial question, so that what is wrong with key, name or address is known at once.

        Raises BadInput, Unreachable or Unsuitable with one line that says what to set.
        """
        try:
            await self._meet(Terms(CostMeter(self._choice.prices)))
        except Fault as fault:
            raise explained(fault, self._choice.key_advice) from None

    def terms(self, meter: Meter = UNMETERED, listener: Listener | None = None) -> Terms:
        return Terms(CostMeter(self._choice.prices), meter, listener)

    async def chat(
        self, messages: Sequence[JsonValue], parameters: Mapping[str, JsonValue], terms: Terms
    ) -> Completion:
        """One call, without a form. Raises Fault or Spent."""
        if self._capabilities is None:
            await self._meet(terms)
        usual = parameters_of(self._choice, None, self._met)
        told = in_known_roles(list(messages), self._met)
        return await self._charged(told, {**usual, **parameters}, self._choice, terms)

    async def ask(
        self,
        question: Question[FormT],
        within_s: float = math.inf,
        *,
        terms: Terms | None = None,
    ) -> tuple[Content, Usage]:
        """
        The answer, and all that stands on the bill of `terms` by then.

        Raises Unanswered, or BusError where the budget cannot be asked.
        """
        terms = terms or self.terms()
        bill = terms.bill
        try:
            with anyio.fail_after(within_s):
                return await self._converse(question, terms), bill.usage
        except TimeoutError:
            detail = f"no answer within {within_s:g} s"
            raise Unanswered(FailureReason.BRAIN_ERROR, detail, bill.usage) from None
        except Fault as fault:
            raise self._gave_up(fault, bill.usage) from None
        except Unusable as problem:
            hint = f" ({SET_LENGTH})" if terms.room > 1 else ""
            detail = f"no usable answer after {bill.calls} calls: {problem}{hint}"
            raise Unanswered(FailureReason.UNUSABLE_ANSWER, detail, bill.usage) from None
        except Spent as refusal:
            reason = FailureReason.BUDGET_EXHAUSTED
            raise Unanswered(reason, str(refusal), bill.usage) from None

    def _gave_up(self, fault: Fault, usage: Usage) -> Unanswered:
        answered = fault.kind in {FaultKind.FILTERED, FaultKind.TOO_LARGE}
        reason = FailureReason.UNUSABLE_ANSWER if answered else FailureReason.BRAIN_ERROR
        asked_for = fault.retry_after_s if fault.kind in PASSING else None
        later = asked_for is not None and asked_for > self._settings.max_pause_s
        detail = f"{fault.kind.value}: {fault}"
        return Unanswered(reason, detail, usage, asked_for if later else None)

    async def _converse(self, question: Question[FormT], terms: Terms) -> Content:
        if self._capabilities is None:
            await self._meet(terms)
        talk = Talk(question.prompt, question.form)
        rest: Content | None = None
        for attempt in range(self._settings.reasks + 1):
            try:
                completion = await self._persist(talk, terms)
            except Spent:
                if rest is None:
                    raise
                return rest
            try:
                form = filled_in(question.form, completion.text, cut_off=completion.cut_off)
                return question.read(form)
            except Unusable as problem:
                self._log.debug("answer_sent_back", attempt=attempt, problem=str(problem))
                rest = problem.rest if problem.rest is not None else rest
                if attempt == self._settings.reasks:
                    if rest is None:
                        raise
                    self._log.warning("mistakes_left_out", problem=str(problem))
                    return rest
                terms.room *= 2 if completion.cut_off else 1
                talk = talk.after(completion.text, problem)
        raise AssertionError

    @property
    def _met(self) -> EndpointCapabilities:
        assert self._capabilities is not None
        return self._capabilities

    async def _meet(self, terms: Terms) -> None:
        """Down the ladder, once, until the endpoint accepts. Raises Fault."""
        async with self._introducing:
            trial = Talk(Prompt(instructions("model", "trial", FALLBACK), _TRIAL), _Ready)
            capabilities: EndpointCapabilities | None = first_tried(self._choice.known_family)
            quiet = Terms(terms.bill, terms.meter)
            while self._capabilities is None:
                assert capabilities is not None
                try:
                    await self._persist(trial, quiet, capabilities)
                except Fault as fault:
                    capabilities = _after(capabilities, fault)
                    if capabilities is None:
                        raise
                else:
                    self._capabilities = capabilities
                    self._log.info("model_met", dialect=capabilities.dialect.value)

    async def _persist(
        self, talk: Talk, terms: Terms, tried: EndpointCapabilities | None = None
    ) -> Completion:
        """Wait out what may pass; `tried` are capabilities on trial. Raises Fault or Spent."""
        attempt = 0
        while True:
            capabilities = tried or self._met
            try:
                completion = await self._call(talk, terms, capabilities)
            except Fault as fault:
                if tried is None and self._adapts(fault, capabilities, terms):
                    continue
                attempt += 1
                pause_s = self._pause(fault, attempt)
                hangs = tried is not None and fault.kind is FaultKind.TIMEOUT
                if pause_s is None or hangs or names_the_format(str(fault)):
                    raise
                self._log.debug("call_failed", kind=fault.kind.value, again_in_s=pause_s)
                await anyio.sleep(pause_s)
            else:
                if completion.filtered:
                    raise Fault(FaultKind.FILTERED, "the content filter held the answer back")
                return completion

    async def _call(
        self, talk: Talk, terms: Terms, capabilities: EndpointCapabilities
    ) -> Completion:
        messages, options = talk.messages(capabilities), self._options(terms)
        parameters = parameters_of(options, talk.form, capabilities)
        listener = terms.listener if capabilities.streams else None
        if listener is not None:
            parameters = {**parameters, **streaming_parameters(capabilities)}
        return await self._charged(messages, parameters, options, terms, listener)

    async def _charged(
        self,
        messages: Sequence[JsonValue],
        parameters: Mapping[str, JsonValue],
        options: ModelOptions,
        terms: Terms,
        listener: Listener | None = None,
    ) -> Completion:
        async with self._slots:
            wanted = expected(messages, options)
            await terms.meter.reserve(terms.bill.usage, wanted, self._settings.timeout_s)
            terms.bill.calls += 1
            try:
                with CallSpan(options, messages) as span:
                    completion = await self._complete(messages, parameters, listener)
                    span.answered(completion)
                read = completion.input_tokens
                terms.bill.add(
                    guessed_tokens(messages) if read is None else read,
                    completion.output_tokens or 0,
                )
            finally:
                await terms.meter.settle(terms.bill.usage)
        return completion

    def _options(self, terms: Terms) -> ModelOptions:
        usual = self._choice.max_output_tokens
        if terms.room == 1 or usual is None:
            return self._choice
        return self._choice.model_copy(update={"max_output_tokens": usual * terms.room})

    async def _complete(
        self,
        messages: Sequence[JsonValue],
        parameters: Mapping[str, JsonValue],
        listener: Listener | None,
    ) -> Completion:
        if listener is None:
            return await self._endpoint.complete(messages, parameters)
        return await self._endpoint.stream(messages, parameters, listener)

    def _adapts(self, fault: Fault, capabilities: EndpointCapabilities, terms: Terms) -> bool:
        """
        Whether the call is to be repeated at once, in another way.

        An endpoint can take the trial's small form and refuse a larger one. Of several who are
        refused at the same time the first finds the way, and the others follow.
        """
        other = _other_way(
            fault, capabilities, streamed=terms.listener is not None and capabilities.streams
        )
        if other is None:
            return False
        if self._capabilities is capabilities:
            self._capabilities = other
            self._log.info("model_adapted", dialect=other.dialect.value, streams=other.streams)
        return True

    def _pause(self, fault: Fault, attempt: int) -> float | None:
        """None when another attempt is not worth it."""
        if fault.kind not in PASSING or attempt > self._settings.retries:
            return None
        longest = self._settings.max_pause_s
        if fault.retry_after_s is None:
            return min(2.0**attempt, longest)
        return fault.retry_after_s if fault.retry_after_s <= longest else None


@asynccontextmanager
async def open_client(
    choice: ModelChoice, settings: ModelSettings, slots: anyio.CapacityLimiter
) -> AsyncIterator[ModelClient]:
    async with open_endpoint(
        choice, timeout_s=settings.timeout_s, max_reply_kib=settings.max_reply_kib
    ) as endpoint:
        yield ModelClient(endpoint, choice, settings, slots)


def _other_way(
    fault: Fault, capabilities: EndpointCapabilities, *, streamed: bool
) -> EndpointCapabilities | None:
    """For an endpoint that was met; None when the fault is not about how it was asked."""
    refused, complaint = fault.kind is FaultKind.REFUSED, str(fault)
    if streamed and (
        fault.kind is FaultKind.NO_STREAM or (refused and names_the_stream(complaint))
    ):
        return capabilities.after_failed_stream(complaint)
    formal = fault.kind in {FaultKind.REFUSED, FaultKind.SERVER_ERROR}
    return capabilities.after_refusal(complaint) if formal and names_the_format(complaint) else None


def _after(capabilities: EndpointCapabilities, fault: Fault) -> EndpointCapabilities | None:
    """What else to try; None when the fault is not about how the endpoint was asked."""
    if fault.kind is FaultKind.REFUSED or names_the_format(str(fault)):
        return capabilities.after_refusal(str(fault))
    if fault.kind is FaultKind.SERVER_ERROR:
        return capabilities.down()
    return None

"""
One model, asked until it answers or until it is clear that it will not.

A fault that may pass is waited out; an answer that cannot be used goes back with its mistakes; in
the end there is an answer or a reason. Whatever it comes to, every call made is counted.
"""

import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn

import anyio
import structlog
from pydantic import JsonValue

from parley.agents.brain import BrainFailure
from parley.agents.model.body import messages_of, parameters_of, sent_back
from parley.agents.model.form import filled_in
from parley.agents.model.manners import Manners, names_the_format
from parley.agents.model.question import Form, FormT, Prompt, Question, Unusable
from parley.agents.model.wire import PASSING, Completion, Fault, FaultKind, Wire, open_wire
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Content, FailureReason
from parley.bus.errors import BadInput, Unreachable, Unsuitable
from parley.configs.model import SET_ADDRESS, SET_KEY, SET_NAME, ModelChoice, ModelSettings, Prices
from parley.prompts import FALLBACK, instructions

_MILLION = 1_000_000
_TRIAL = '{"ready": true}'

log = structlog.get_logger()


class Unanswered(BrainFailure):
    """No answer came, and this is what the attempts cost."""

    def __init__(self, reason: FailureReason, detail: str, usage: Usage) -> None:
        super().__init__(reason, detail)
        self.usage = usage


@dataclass(slots=True)
class Bill:
    """What one ask has cost so far; a call that failed counts as a call."""

    prices: Prices
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, completion: Completion) -> None:
        self.input_tokens += completion.input_tokens
        self.output_tokens += completion.output_tokens

    @property
    def usage(self) -> Usage:
        cost = self.input_tokens * self.prices.input + self.output_tokens * self.prices.output
        return Usage(
            model_calls=self.calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=cost / _MILLION,
        )


class _Ready(Form):
    """The form of the trial question: any endpoint that takes it takes all others."""

    ready: bool


class ModelClient:
    """`slots` is shared by all models of a process."""

    def __init__(
        self, wire: Wire, choice: ModelChoice, settings: ModelSettings, slots: anyio.CapacityLimiter
    ) -> None:
        self._wire = wire
        self._choice = choice
        self._settings = settings
        self._slots = slots
        self._manners: Manners | None = None
        self._introducing = anyio.Lock()
        self._remembered: OrderedDict[str, Content] = OrderedDict()
        self._log = log.bind(model=choice.name, endpoint=choice.host)

    @property
    def manners(self) -> Manners | None:
        """How the endpoint wants to be asked; None until it was asked."""
        return self._manners

    async def introduce(self) -> None:
        """
        Ask the trial question, so that what is wrong with key, name or address is known at once.

        Raises BadInput or Unreachable with one line that says what to set.
        """
        try:
            await self._meet(Bill(self._choice.prices))
        except Fault as fault:
            self._explain(fault)

    async def answer(
        self, question: Question[FormT], within_s: float = math.inf
    ) -> tuple[Content, Usage]:
        """As `ask`; a question that was answered before costs nothing, if answers are kept."""
        if not self._settings.cached_answers:
            return await self.ask(question, within_s)
        key = question.prompt.digest
        if key in self._remembered:
            self._remembered.move_to_end(key)
            return self._remembered[key], Usage()
        content, usage = await self.ask(question, within_s)
        self._remembered[key] = content
        while len(self._remembered) > self._settings.cached_answers:
            self._remembered.popitem(last=False)
        return content, usage

    async def ask(
        self, question: Question[FormT], within_s: float = math.inf
    ) -> tuple[Content, Usage]:
        """Raises Unanswered."""
        bill = Bill(self._choice.prices)
        try:
            with anyio.fail_after(within_s):
                return await self._converse(question, bill), bill.usage
        except TimeoutError:
            detail = f"no answer within {within_s:g} s"
            raise Unanswered(FailureReason.BRAIN_ERROR, detail, bill.usage) from None
        except Fault as fault:
            answered = fault.kind in {FaultKind.FILTERED, FaultKind.TOO_LARGE}
            reason = FailureReason.UNUSABLE_ANSWER if answered else FailureReason.BRAIN_ERROR
            raise Unanswered(reason, f"{fault.kind.value}: {fault}", bill.usage) from None
        except Unusable as problem:
            detail = f"no usable answer after {bill.calls} calls: {problem}"
            raise Unanswered(FailureReason.UNUSABLE_ANSWER, detail, bill.usage) from None

    async def _converse(self, question: Question[FormT], bill: Bill) -> Content:
        manners = self._manners or await self._meet(bill)
        messages = messages_of(question.prompt, question.form, manners)
        rest: Content | None = None
        for attempt in range(self._settings.reasks + 1):
            completion = await self._persist(messages, question.form, manners, bill)
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
                messages = [*messages, *sent_back(completion.text, str(problem), question.form)]
        raise AssertionError

    async def _meet(self, bill: Bill) -> Manners:
        """Down the ladder, once, until the endpoint accepts. Raises Fault."""
        async with self._introducing:
            manners: Manners | None = self._manners or Manners()
            trial = Prompt(instructions("model", "trial", FALLBACK), _TRIAL)
            while self._manners is None:
                assert manners is not None
                messages = messages_of(trial, _Ready, manners)
                try:
                    await self._persist(messages, _Ready, manners, bill)
                except Fault as fault:
                    manners = _after(manners, fault)
                    if manners is None:
                        raise
                else:
                    self._manners = manners
                    self._log.info("model_met", dialect=manners.dialect.value)
            return self._manners

    async def _persist(
        self,
        messages: Sequence[JsonValue],
        form: type[Form],
        manners: Manners,
        bill: Bill,
    ) -> Completion:
        """Wait out what may pass. Raises Fault."""
        parameters = parameters_of(self._choice, form, manners)
        attempt = 0
        while True:
            bill.calls += 1
            try:
                async with self._slots:
                    completion = await self._wire.complete(messages, parameters)
            except Fault as fault:
                attempt += 1
                pause_s = self._pause(fault, attempt)
                if pause_s is None or names_the_format(str(fault)):
                    raise
                self._log.debug("call_failed", kind=fault.kind.value, again_in_s=pause_s)
                await anyio.sleep(pause_s)
            else:
                bill.add(completion)
                if completion.filtered:
                    raise Fault(FaultKind.FILTERED, "the content filter held the answer back")
                return completion

    def _pause(self, fault: Fault, attempt: int) -> float | None:
        """None when another attempt is not worth it."""
        if fault.kind not in PASSING or attempt > self._settings.retries:
            return None
        longest = self._settings.max_pause_s
        if fault.retry_after_s is None:
            return min(2.0**attempt, longest)
        return fault.retry_after_s if fault.retry_after_s <= longest else None

    def _explain(self, fault: Fault) -> NoReturn:
        match fault.kind:
            case FaultKind.KEY | FaultKind.QUOTA:
                raise BadInput(f"{fault}: {SET_KEY}") from None
            case FaultKind.MODEL:
                raise BadInput(f"{fault}: {SET_NAME}; {SET_ADDRESS} if it lacks /v1") from None
            case FaultKind.UNREACHABLE | FaultKind.TIMEOUT:
                raise Unreachable(f"{fault}: start the endpoint, or {SET_ADDRESS}") from None
            case _:
                raise Unsuitable(f"the model cannot be used: {fault}: {SET_ADDRESS}") from None


@asynccontextmanager
async def open_client(
    choice: ModelChoice, settings: ModelSettings, slots: anyio.CapacityLimiter
) -> AsyncIterator[ModelClient]:
    async with open_wire(
        choice, timeout_s=settings.timeout_s, max_reply_kib=settings.max_reply_kib
    ) as wire:
        yield ModelClient(wire, choice, settings, slots)


def _after(manners: Manners, fault: Fault) -> Manners | None:
    """What else to try; None when the fault is not about how the endpoint was asked."""
    if fault.kind is FaultKind.REFUSED or names_the_format(str(fault)):
        return manners.after_refusal(str(fault))
    if fault.kind is FaultKind.SERVER_ERROR:
        return manners.down()
    return None

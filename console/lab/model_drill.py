"""
By how much one adversary moves the outcome of real personas, on inputs of which it is known what
is true.

Every input is debated without the adversary and with each attack. A question that a persona was
asked before, word for word, is answered as it was then; the decide rules judge the same recorded
turns. So a call of a model is spent only where an attack changes what somebody reads.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio
from anyio import from_thread, to_thread

from parley.agents.brain import Answer, Brain, BrainFailure, NotNow, Task
from parley.agents.guard import asked
from parley.agents.simulated import Attack, Attacker
from parley.agents.verdicts.adversary import ORDER, answer_of
from parley.bus.contracts.base import BlobRef, Contract
from parley.bus.contracts.facts import Content, Failure, Request, Submitted
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.console.batch.items import Item
from parley.console.lab.drill import Moved, attack_blocks, compared
from parley.console.lab.kind import AS_IT_IS, compared_in
from parley.console.lab.run import Played, Step, played_of
from parley.console.reports.document import Block, Paragraph
from parley.console.reports.gold import ITEM, Gold
from parley.console.runtime.inputs import IMAGE_BLOB, Material, short_topic
from parley.console.runtime.rehearsal import play_on
from parley.console.runtime.submit import panel_for
from parley.coordinator.core.backtest import record, redecide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState

# Of a debate: one by a judge, one against a unanimous panel.
_LAST_QUESTIONS = 2


class ModelDrill(Contract):
    """`repeated` questions had been asked before and took no call; `abstained` turns by reason."""

    panel: str
    persona: str
    inputs: int
    calls: int
    repeated: int
    abstained: dict[str, int]
    rows: tuple[Moved, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One input; the panel speaks its language. `lie` is the gravest verdict that is not true."""

    panel: Panel
    about: DebateInput
    image: bytes | None
    truth: str
    lie: str


@dataclass(slots=True)
class Spent:
    calls: int = 0
    repeated: int = 0
    abstained: Counter[str] = field(default_factory=Counter)


def drillable(panel: Panel) -> VerdictPanel:
    """Raises BadInput for a protocol whose answers no adversary knows how to falsify."""
    if not isinstance(panel, VerdictPanel) or not panel.labels:
        raise BadInput(
            f"{panel.name}: only panels of verdicts are drilled with a model; without DATA the"
            " drill is with simulated personas"
        )
    return panel


def most_questions(panel: VerdictPanel, inputs: int) -> int:
    """That a drill can come to: an opening that was heard before is not asked for again."""
    many, rounds = len(panel.roster), panel.max_rounds
    everybody, others = many * rounds, (many - 1) * rounds
    by_attack = {
        Attack.LIES: others,
        Attack.COPIES: others,
        Attack.ALWAYS_SURE: everybody,
        Attack.FLOODS: others,
        # The order stands in the input: the opening is another one, too.
        Attack.OBEYS: others + many - 1,
    }
    honest = everybody + many
    return inputs * (honest + sum(by_attack.values()) + _LAST_QUESTIONS * (1 + len(Attack)))


def cases_of(panel: VerdictPanel, items: Sequence[Item], gold: Gold) -> list[Case]:
    """Raises BadInput for labels that the panel does not have."""
    found = []
    for item in items:
        material = item.read()
        suited = panel_for(panel, material.text, None)
        about = _input_of(material, item.name)
        state = apply(DebateState(), Submitted(panel=suited, input=about))
        truth = gold.of(DebateRef(panel.name, "drill"), state)
        if truth is None or truth.label is None:
            raise BadInput(f"{item.name}: has no label: a drill needs one")
        lie = next(one.name for one in panel.labels if one.name != truth.label)
        found.append(Case(suited, about, material.image, truth.label, lie))
    gold.check(lambda _unused: None)
    return found


async def drill_with(
    brain: Brain, cases: Sequence[Case], persona: str, at_once: int, step: Step
) -> ModelDrill:
    slots = anyio.CapacityLimiter(at_once)
    drilled = [_Drilled(brain, case, persona, step) for case in cases]

    async def run(one: _Drilled) -> None:
        await to_thread.run_sync(one.debate, limiter=slots)

    async with anyio.create_task_group() as group:
        for one in drilled:
            group.start_soon(run, one)
    rows = [
        compared(
            attack,
            rule,
            [one.outcomes[rule, None] for one in drilled],
            [one.outcomes[rule, attack] for one in drilled],
        )
        for rule in compared_in(cases[0].panel)
        for attack in Attack
    ]
    return ModelDrill(
        panel=cases[0].panel.name,
        persona=persona,
        inputs=len(cases),
        calls=sum(one.spent.calls for one in drilled),
        repeated=sum(one.spent.repeated for one in drilled),
        abstained=dict(sum((one.spent.abstained for one in drilled), Counter())),
        rows=tuple(rows),
    )


class _Drilled:
    """One input, in a thread: the debates are pure, and only the brain is asked on the loop."""

    def __init__(self, brain: Brain, case: Case, persona: str, step: Step) -> None:
        self._brain = brain
        self._case = case
        self._persona = persona
        self.spent = Spent()
        self._step = step
        self._heard: dict[tuple[str, str, str], Content] = {}
        # By decide rule and attack; None is the debate without an adversary.
        self.outcomes: dict[tuple[str, Attack | None], Played] = {}

    def debate(self) -> None:
        for attack in (None, *Attack):
            for rule, played in self._debate(attack):
                self.outcomes[rule, attack] = played
            from_thread.run_sync(self._step)

    def _debate(self, attack: Attack | None) -> list[tuple[str, Played]]:
        case, panels = self._case, compared_in(self._case.panel)
        about = _with_order(case) if attack is Attack.OBEYS else case.about
        attacker = Attacker(self._persona, attack) if attack is not None else None
        speak = self._speaker(panels[AS_IT_IS], about, attacker)
        recording = record(fact for fact, _ in play_on(panels[AS_IT_IS], about, speak))
        found = []
        for rule, panel in panels.items():
            decided = redecide(recording, _always(panel))
            assert decided.outcome_is_known, f"{rule} asks for more: {decided.missing}"
            found.append((rule, played_of(decided.state, case.truth)))
        return found

    def _speaker(
        self, panel: Panel, about: DebateInput, attacker: Attacker | None
    ) -> Callable[[str, Request], Content]:
        def speak(persona: str, request: Request) -> Content:
            def honest() -> Content:
                return self._answer(panel, about, persona, request)

            if attacker is None or persona != attacker.persona:
                return honest()
            return answer_of(attacker, self._case.lie, request, honest)

        return speak

    def _answer(self, panel: Panel, about: DebateInput, persona: str, request: Request) -> Content:
        key = about.text, persona, request.model_dump_json()
        if key in self._heard:
            self.spent.repeated += 1
            return self._heard[key]
        task = Task(
            DebateRef(panel.name, "drill"),
            persona,
            request.kind,
            request,
            about,
            self._fetch,
            panel.deadline_s,
        )
        content = from_thread.run(self._ask, task)
        self._heard[key] = content
        return content

    async def _ask(self, task: Task) -> Content:
        answer = await _answered(self._brain, task)
        self.spent.calls += answer.usage.model_calls
        if isinstance(answer.content, Failure):
            self.spent.abstained[answer.content.reason.value] += 1
        return answer.content

    async def _fetch(self, _ref: BlobRef) -> bytes:
        assert self._case.image is not None
        return self._case.image


async def _answered(brain: Brain, task: Task) -> Answer:
    try:
        return await asked(brain, task)
    except NotNow as later:
        return later.answer
    except BrainFailure as failure:
        return Answer(Failure(reason=failure.reason, detail=str(failure)))


def _always(panel: Panel) -> Callable[[Panel], Panel]:
    return lambda _recorded: panel


def _with_order(case: Case) -> DebateInput:
    """Nothing is written into an image: there only the adversary knows of the order."""
    if case.image is not None:
        return case.about
    text = f"{case.about.text}\n\n{ORDER.format(label=case.lie)}"
    return case.about.model_copy(update={"text": text})


def _input_of(material: Material, name: str) -> DebateInput:
    blobs = {}
    if material.image is not None:
        digest = hashlib.sha256(material.image).hexdigest()
        size = len(material.image)
        blobs[IMAGE_BLOB] = BlobRef(sha256=digest, size=size, media_type=material.media_type)
    return DebateInput(
        text=material.text, blobs=blobs, topic=material.topic, labels={ITEM: short_topic(name)}
    )


def model_drill_blocks(found: ModelDrill) -> Iterator[Block]:
    yield Paragraph(
        f"{found.persona} attacks on {found.inputs} inputs of {found.panel}; the others are the"
        " panel's personas by model. Change is in points of accuracy, moved the share of debates"
        " that ended otherwise; every rule decides the same recorded turns."
    )
    yield Paragraph(
        f"Calls of the model: {found.calls}; questions asked before, which took none:"
        f" {found.repeated}."
    )
    if found.abstained:
        why = ", ".join(f"{reason} {number}" for reason, number in found.abstained.items())
        yield Paragraph(f"Questions without an answer: {why}.")
    yield from attack_blocks(found.rows)

"""Facts become items: each told in the light of the states around it. Pure."""

from collections.abc import Iterable

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    DeadlineFired,
    Fact,
    Failure,
    Finding,
    Opened,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.console.transcript.items import Check, Declared, Item, Kind, Told
from parley.console.transcript.plain import shown, spoken
from parley.console.transcript.presentation import Presentation, presentation_of
from parley.console.transcript.text import clean, one_line
from parley.console.transcript.timestamps import iso
from parley.coordinator.core.reducer import Walked, walk
from parley.coordinator.core.state import DebateState

# Of what was said; the page has room for a whole speech.
TOPIC_WIDTH = 2000


def transcript(facts: Iterable[Fact]) -> list[Item]:
    """The facts that have a place in the debate, where only their order is known."""
    return [item_of(step) for step in walk(facts) if step.has_place]


def item_of(walked: Walked, time_ns: int | None = None) -> Item:
    fact = walked.fact
    told = _told(walked, fact)
    place: dict[str, object] = {
        "ordinal": walked.before.facts,
        "time": iso(time_ns) if time_ns is not None else "",
        "step": getattr(fact, "step", ""),
        "persona": getattr(fact, "persona", None) or "",
        "kind": "ignored" if walked.refused is not None else told.kind or _kind(walked, fact),
    }
    if isinstance(fact, TurnTaken):
        place |= {
            "brain": clean(fact.brain),
            "seconds": fact.seconds,
            "tokens": fact.usage.tokens,
            "cost": fact.usage.cost,
        }
    if isinstance(fact, Asked | Terminated) and fact.declaration and walked.refused is None:
        protocol = walked.after.running_panel.protocol
        place["declaration"] = declared_in(walked.before.facts, fact.declaration, protocol)
    words = {name: value for name, value in told._asdict().items() if name != "kind"}
    texts = {
        "part": told.part or one_line(told.headline),
        "headline": one_line(told.headline),
        "text": clean(told.text),
        "points": tuple(map(one_line, told.points)),
        "arguments": tuple(map(clean, told.arguments)),
    }
    return Item.model_validate({**words, **texts, **place})


def declared_in(ordinal: int, declaration: TerminationDeclaration, protocol: str) -> Declared:
    details, told = declaration.details, presentation_of(protocol)
    unmet = details.rule in details.unmet
    return Declared(
        ordinal=ordinal,
        iteration=details.iteration,
        status=declaration.termination_status,
        type=declaration.termination_type,
        rule=details.rule,
        rule_words=f"{spoken(details.rule)} is not met yet"
        if unmet
        else told.why(details.rule) or spoken(details.rule),
        justification=spoken(one_line(declaration.justification)),
        summary=told.declared(declaration),
        checks=_checks(declaration),
        unmet=details.unmet,
        forced_by_cap=details.forced_by_cap,
        basis=details.basis,
    )


def counts(walked: Walked, turn: TurnTaken) -> bool:
    """A turn counts if it is the one that its step waited for, or a person may still answer."""
    step = walked.before.open_step
    if walked.before.outstanding_to(turn.step, turn.persona) is not None:
        return True
    return step is not None and step.name == turn.step and step.awaits(turn.persona)


def _kind(walked: Walked, fact: Fact) -> Kind:
    if isinstance(fact, TurnTaken):
        if not counts(walked, fact):
            return "late"
        return "failed" if isinstance(fact.content, Failure) else "turn"
    if isinstance(fact, Asked) and walked.before.open_step is not None:
        return "note"
    if isinstance(fact, Finding):
        told = presentation_of(walked.after.running_panel.protocol)
        return "decided" if told.answer == fact.type else "finding"
    return _KINDS[type(fact)]


_KINDS: dict[type[Fact], Kind] = {
    Submitted: "submitted",
    Opened: "opened",
    Asked: "step",
    Abstained: "missed",
    DeadlineFired: "deadline",
    CancelRequested: "cancel",
    Terminated: "terminated",
    Closed: "closed",
}


def _told(walked: Walked, fact: Fact) -> Told:
    if walked.refused is not None:
        return Told(f"{spoken(fact.type)}: out of place, counts for nothing ({walked.refused})")
    told = presentation_of(walked.after.running_panel.protocol)
    match fact:
        case Asked():
            more = Told(f"asked too: {', '.join(fact.personas)}")
            return more if walked.before.open_step is not None else told.ask(fact, walked.after)
        case TurnTaken(content=Failure() as said):
            return Told(f"cannot answer ({spoken(said.reason.value)})", said.detail)
        case TurnTaken():
            return told.turn(walked)
        case Finding():
            return told.finding(fact, walked.after)
        case _:
            return _of_any_protocol(walked, fact, told)


def _of_any_protocol(walked: Walked, fact: Fact, told: Presentation) -> Told:  # noqa: PLR0911 - one case a fact
    match fact:
        case Submitted():
            panel = fact.panel
            who = f"panel {panel.name}, {told.setting(panel)}: {', '.join(panel.everybody)}"
            topic = fact.input.listed
            return Told(who, topic[:TOPIC_WIDTH] + ("…" if len(topic) > TOPIC_WIDTH else ""))
        case Opened():
            return Told("the debate is open")
        case Abstained():
            return Told(f"no answer ({spoken(fact.reason.value)})")
        case DeadlineFired():
            late = _late(fact, walked.before)
            return Told(f"time is up for {', '.join(late)}" if late else "")
        case CancelRequested():
            return Told(f"cancelled: {one_line(fact.why) or 'no reason given'}")
        case Terminated():
            return Told(
                ", ".join(filter(None, (f"over: {spoken(fact.reason)}", told.why(fact.reason))))
            )
        case Closed():
            reason = spoken(fact.reason) + (f": {fact.detail}" if fact.detail else "")
            return Told(f"closed: {fact.status.value} ({one_line(reason, TOPIC_WIDTH)})")
        case _:
            return Told(spoken(fact.type))


def _late(fact: DeadlineFired, before: DebateState) -> list[str]:
    """Whom the deadline is of: one person, or all agents of the step that have not spoken."""
    if fact.persona is not None:
        return [fact.persona]
    step = before.open_step
    if step is None or step.name != fact.step:
        return []
    return [one for one in step.waiting_for if one not in step.ask.people]


def _checks(declaration: TerminationDeclaration) -> tuple[Check, ...]:
    """As they were compared; of a log that does not say, its figures as they are."""
    details = declaration.details
    if details.checks:
        return tuple(
            Check(
                name=_named(one.name),
                value=shown(one.value),
                op=one.op,
                threshold=shown(one.threshold),
                held=one.held,
            )
            for one in details.checks
        )
    names = dict.fromkeys((*details.values, *details.thresholds))
    return tuple(
        Check(
            name=_named(name),
            value=shown(details.values[name]) if name in details.values else "",
            threshold=shown(details.thresholds[name]) if name in details.thresholds else "",
        )
        for name in names
    )


def _named(figure: str) -> str:
    """Calls are those of models: to whoever reads of turns the word alone says something else."""
    name = spoken(figure)
    return f"{name.removesuffix('calls')}model calls" if name.endswith("calls") else name

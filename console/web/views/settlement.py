"""What came of an aspect-sentiment debate: edits, the gate's decisions, adoption, the moderator."""

from collections.abc import Iterable, Iterator

from parley.bus.contracts.absa.debate import ProposedEdit
from parley.bus.contracts.absa.gate import AdoptOutcome, EvComponents, GateDecision
from parley.bus.contracts.absa.moderator import ModeratorOutput
from parley.bus.contracts.base import Contract
from parley.console.transcript.text import clean, one_line
from parley.coordinator.protocols.absa.history import HeardTurn

_RULES = (
    ("RuleZ", "no signal at all"),
    ("RuleB", "prefer Stage 2"),
    ("RuleM", "mix conflicting stages"),
    ("RuleC", "heed the validator"),
    ("RuleA", "average aligned spans"),
    ("RuleD", "weigh aspects against the sentence"),
    ("RuleE", "listen to the debate"),
)


class Edit(Contract):
    round: int
    persona: str
    author: str
    op: str
    aspect: str
    before: str | None
    after: str | None
    evidence: str
    confidence: float | None


class Gated(Contract):
    """A decision of the gate on one aspect, with the numbers it rests on."""

    aspect: str
    decision: str
    reason: str
    target: str | None
    current: str | None
    current_confidence: float | None
    pos_score: float
    neg_score: float
    total: float
    margin: float
    hints: int
    invalid_hints: int
    implicit: bool
    evidence: str


class Adoption(Contract):
    decision: str
    reason: str
    score: float
    components: EvComponents


class Rule(Contract):
    """A rule of the moderator in its order; `said` is empty for one that did not fire."""

    name: str
    about: str
    fired: bool
    said: str


class Moderated(Contract):
    label: str
    confidence: float
    stage: str
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


def edits_of(turns: Iterable[HeardTurn]) -> Iterator[Edit]:
    """In the order they were made."""
    for heard in turns:
        for edit in heard.turn.proposed_edits:
            yield _edit(edit, heard.round, heard.key, heard.turn.author)


def _edit(edit: ProposedEdit, number: int, key: str, author: str) -> Edit:
    return Edit(
        round=number,
        persona=key,
        author=one_line(author),
        op=one_line(edit.op),
        aspect=one_line(edit.target.key) or "(none)",
        before=clean(edit.target.polarity) if edit.target.polarity else None,
        after=clean(edit.value) if edit.value else None,
        evidence=one_line(edit.evidence or ""),
        confidence=edit.confidence,
    )


def gated(one: GateDecision) -> Gated:
    return Gated(
        aspect=one_line(one.aspect),
        decision=one.decision.value,
        reason=spoken(one.skip_reason or one.action or ""),
        target=one.target_pol,
        current=one.current_pol,
        current_confidence=one.current_conf,
        pos_score=one.pos_score,
        neg_score=one.neg_score,
        total=one.total,
        margin=one.margin,
        hints=one.valid_hint_count,
        invalid_hints=one.invalid_hint_count,
        implicit=one.is_implicit,
        evidence=spoken(one.evidence_reason or ""),
    )


def adoption(one: AdoptOutcome) -> Adoption:
    return Adoption(
        decision=spoken(one.adopt_decision),
        reason=spoken(one.adopt_reason),
        score=one.ev_score,
        components=one.ev_components,
    )


def moderated(output: ModeratorOutput) -> Moderated:
    said = _sentences(output)
    return Moderated(
        label=output.final_label,
        confidence=output.confidence,
        stage=output.selected_stage,
        rules=tuple(
            Rule(
                name=name.replace("Rule", "Rule "),
                about=about,
                fired=name in output.applied_rules,
                said=said.get(name, ""),
            )
            for name, about in _RULES
        ),
        notes=tuple(_notes(output)),
    )


def _sentences(output: ModeratorOutput) -> dict[str, str]:
    """The rationale is one sentence for each rule that fired, in order, led by the rule's name."""
    said, rest = {}, output.rationale
    for rule in reversed(output.applied_rules):
        rest, _, sentence = rest.rpartition(f"{rule}: ")
        said[rule] = clean(sentence.strip())
    return said


def _notes(output: ModeratorOutput) -> Iterator[str]:
    flags = output.arbiter_flags
    if output.span_iou is not None:
        yield f"Rule A compared spans with an overlap of {output.span_iou:.2f}"
    if flags.stage2_rejected_due_to_confidence:
        yield f"Stage 2 was rejected: its confidence dropped by {flags.confidence_margin_used:.2f}"
    if flags.rule_e_block_reason is not None:
        yield f"Rule E did not speak: {spoken(flags.rule_e_block_reason)}"


def spoken(name: str) -> str:
    return str(name).replace("_", " ")

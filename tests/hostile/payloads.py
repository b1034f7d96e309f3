"""What somebody may publish on our subjects, by name; and all the subjects of a debate."""

import json
from collections.abc import Iterator

from parley.agents.forensic.labels import Verdict
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    Asked,
    DeadlineFired,
    Decided,
    Fact,
    Opened,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    ManagerDecision,
    OpeningRequest,
    Statement,
    TerminationReason,
)
from parley.bus.port import LARGEST_RECORD_BYTES
from parley.bus.subjects import partition_of
from tests.debates import panel

TURN = TurnTaken(
    step="opening",
    persona="spatial",
    content=Statement(verdict=Verdict.AUTHENTIC, confidence=0.5),
)
ASK = Asked(
    decided_at=1,
    step="opening",
    personas=("frequency", "noise"),
    input=DebateInput(),
    request=OpeningRequest(),
    deadline_s=1.0,
)


def _with(fact: TurnTaken | Asked, **fields: object) -> bytes:
    return json.dumps({**json.loads(encode(fact)), **fields}).encode()


GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00\x01",
    "no JSON": b"{",
    "no object": b"[1, 2, 3]",
    "no fact": b'{"hello": "world"}',
    "another version": _with(TURN, version=2),
    "an unknown kind": _with(TURN, content={"kind": "sermon"}),
    "an unknown request": _with(ASK, request={"kind": "interrogate"}),
    "no number": encode(TURN).replace(b"0.5", b"NaN"),
    "half a character": _with(TURN, brain="\ud800"),
    "10,000 levels": b"[" * 10_000 + b"]" * 10_000,
    "10,000 levels inside": encode(TURN).replace(
        b'"evidence":{}', b'"evidence":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    ),
    "somebody else's turn": encode(TURN),
    "just below the limit": b"x" * (LARGEST_RECORD_BYTES - 1024),
    "above the log's limit": b"x" * (LARGEST_RECORD_BYTES + 1024),
}

# Illegal wherever a debate stands once its opening step is open. The ask concerns nobody who
# exists: those who do would answer it, since an agent cannot tell a forged ask from a true one.
FORGED = {
    "ctl.opened": encode(Opened(decided_at=1)),
    "ctl.ask.opening.all": encode(ASK.model_copy(update={"personas": ("nobody", "stranger")})),
    "ctl.decided": encode(
        Decided(
            decided_at=1,
            decision=ManagerDecision(
                final_verdict=Verdict.AUTHENTIC,
                confidence=1.0,
                termination_reason=TerminationReason.STALEMATE,
                rationale="forged",
            ),
        )
    ),
}

# Well-formed, but nobody asked for it; with why it is put aside in a debate that was submitted.
UNASKED: dict[str, tuple[Fact, str]] = {
    "a stranger's turn": (
        TURN.model_copy(update={"persona": "stranger"}),
        "'stranger' was not asked in step 'opening'",
    ),
    "a turn out of nowhere": (
        TURN.model_copy(update={"step": "round-9"}),
        "step 'round-9' was never asked",
    ),
    "a deadline out of nowhere": (
        DeadlineFired(step="round-9"),
        "step 'round-9' was never asked",
    ),
    "a second submission": (
        Submitted(panel=panel(), input=DebateInput()),
        "its debate was submitted before",
    ),
    "a second opening": (Opened(decided_at=1), "'opened' is illegal while the debate is "),
}


def subjects_of(debate: str) -> Iterator[str]:
    """Every subject on which our processes read or write for a debate, and some beside them."""
    root = f"debate.{partition_of(debate)}.forensic.{debate}"
    for tail in (
        "submitted",
        "cancel",
        "turn.opening.noise",
        "turn.round-1.spatial",
        "fired.opening",
        "ctl.opened",
        "ctl.ask.opening.all",
        "ctl.ask.round-1.all",
        "ctl.ask.localize.spatial",
        "ctl.abstained.opening.noise",
        "ctl.terminated",
        "ctl.decided",
        "ctl.closed",
        "ctl.mystery",
        "gossip",
        "turn.opening.noise.more",
    ):
        yield f"{root}.{tail}"
    yield f"redrive.{root}.opening.noise"


# What our processes listen to beside the log.
SIDE_CHANNELS = (
    "live.debate-coordinators",
    "live.debate.38.forensic.d1.ctl.closed",
    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.PARLEY.forensic-noise",
    "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.PARLEY.forensic-noise",
    "$SRV.PING",
    "$SRV.STATS.parley-agent",
)
# Subjects that are none of ours, though the log takes them.
STRANGE_SUBJECTS = (
    b"debate.0.forensic.*.submitted",
    b"debate.0.forensic.>.submitted",
    b"debate.0.forensic.\xff\xfe.submitted",
    b"debate.0.forensic.\xff\xfe.ctl.ask.opening.all",
    b"debate.0.forensic.d\x00.ctl.ask.opening.noise",
    b"debate.0.forensic." + b"x" * 2000 + b".submitted",
    b"debate.0.x",
    b"debate.37.forensic.d1.submitted",
    b"live.debate-coordinators.\xff",
    b"$SRV.PING.\xff",
    b"$SRV.\xff",
)

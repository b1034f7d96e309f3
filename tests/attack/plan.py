"""Every attempt on the bus, as a product of logins, subjects, headers and contents."""

import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.attack.rights import may
from tests.attack.values import ODD_JSON, of_type, recorded, spoiled, twice
from tests.attack.wire import INBOX, frame, raw_frame

STREAM, BUCKET, PREFIX = "PARLEY", "parley-blobs", "debate"
MARK = b"X-Attack"
HUGE = 60_000


@dataclass(frozen=True, slots=True)
class Attempt:
    group: str
    login: str
    what: str
    subject: bytes
    frame: bytes
    inbox: bytes = b""
    # The number of a subscription, for an attempt to listen.
    sid: bytes = b""


class Target(Protocol):
    """
    Debates that run while the attack does; which ones, changes all the time.

    The honest ones must end as they would without it. What a login may rightly do (speak its own
    turn, cancel) is done to the bait, which must end, one way or another.
    """

    @property
    def honest(self) -> Sequence[str]: ...
    @property
    def bait(self) -> Sequence[str]: ...


_numbers = itertools.count(1)


def attempts_of(login: str, target: Target, most: int) -> Iterator[Attempt]:
    """At most so many of each group, spread evenly over all there are."""
    for group, tried in GROUPS.items():
        yield from spread(list(tried(group, login, target)), most)


def spread(every: Sequence[Any], most: int) -> Iterator[Any]:
    step = max(1.0, len(every) / most)
    yield from (every[int(n * step)] for n in range(min(most, len(every))))


def _sent(  # noqa: PLR0913 - what a message consists of
    group: str, login: str, what: str, subject: str | bytes, data: bytes = b"", *,
    headers: Sequence[tuple[bytes, bytes]] = (), reply: bytes = b"", head: bytes = b"",
) -> Attempt:  # fmt: skip
    """Marked, so that an audit can tell it from what our processes wrote."""
    number = b"%d" % next(_numbers)
    inbox = INBOX + number
    name = subject.encode("utf-8", "surrogateescape") if isinstance(subject, str) else subject
    marked = [*headers, (MARK, number)]
    sent = (
        raw_frame(name, data, reply or inbox, head)
        if head
        else frame(name, data, reply or inbox, marked)
    )
    return Attempt(group, login, what, name, sent, inbox)


def _persona(login: str) -> tuple[str, str]:
    panel, _, persona = login.partition("-")
    return panel, persona


def root_of(panel: str, debate: str) -> str:
    """What the subjects of a debate begin with, without the last dot."""
    return f"{PREFIX}.{zlib.crc32(debate.encode()) % 64}.{panel}.{debate}"


def _own(login: str, debate: str, step: str = "never-asked") -> str:
    """A subject of the log to which the login may write without a word in any debate."""
    panel, persona = _persona(login)
    if persona:
        return f"{root_of(panel, debate)}.turn.{step}.{persona}"
    return f"{root_of('forensic', debate)}.submitted"


def _tail(fact: dict[str, Any]) -> str:
    """Where a fact stands in its debate."""
    type_, step, persona = fact["type"], fact.get("step"), fact.get("persona")
    tails = {
        "submitted": "submitted",
        "cancel": "cancel",
        "turn": f"turn.{step}.{persona}",
        "fired": f"fired.{step}",
        "asked": f"ctl.ask.{step}.all",
        "abstained": f"ctl.abstained.{step}.{persona}",
    }
    return tails.get(type_, f"ctl.{type_}")


def _tails() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each kind of fact, and everybody's turns in a debate that runs."""
    spoken = of_type("turn")[0]
    turns = [
        {**spoken, "persona": persona, "step": step}
        for persona in ("frequency", "noise", "watermark", "spatial")
        for step in ("opening", "round-1")
    ]
    yield from ((_tail(fact), fact) for fact in (*recorded(), *turns))


def _facts_of_others(group: str, login: str, target: Target) -> Iterator[Attempt]:
    for debate, (tail, fact) in itertools.product(target.honest, _tails()):
        subject = f"{root_of('forensic', debate)}.{tail}"
        if not may(login, "sends", subject.encode()):
            for what, data in (("well formed", json.dumps(fact).encode()), ("empty", b"{}")):
                yield _sent(group, login, f"{tail}, {what}", subject, data)


_VALUES = (
    b"",
    b"0",
    b"-1",
    b"x",
    b"9" * 5000,
    b"1e308",
    b"all",
    b"sub",
    b"@every 1s",
    b"1s",
    b"\xff",
)


def _header_names() -> tuple[bytes, ...]:
    """What the server reads or writes, what we do, and what nobody knows."""
    server = (
        "Subject Sequence Time-Stamp Stream Last-Sequence Num-Pending Up-To-Sequence Msg-Id"
        " Expected-Stream Expected-Last-Sequence Expected-Last-Subject-Sequence"
        " Expected-Last-Subject-Sequence-Subject Expected-Last-Msg-Id Rollup Msg-Size TTL"
        " Marker-Reason Schedule Schedule-Target Schedule-TTL Schedule-Next Schedule-Source"
        " Scheduler Incr Counter-Sources Batch-Id Batch-Sequence Batch-Commit Trace-Dest Trace-Only"
        " Trace-Hop Response-Type Required-Api-Level Pin-Id Stalled Stream-Source Consumer-Stalled"
        " Service-Error Service-Error-Code Request-Info"
    )
    ours = ("Parley-Write", "ce-id", "ce-type", "ce-source", "ce-specversion", "traceparent")
    odd = ("Status", "Description", "KV-Operation", "nats-subject", "NATS-SEQUENCE", "Content-Type")
    return tuple(f"Nats-{name}".encode() for name in server.split()) + tuple(
        name.encode() for name in (*ours, *odd)
    )


def _headers(group: str, login: str, target: Target) -> Iterator[Attempt]:
    turn = json.dumps({**of_type("turn")[0], "persona": "frequency", "step": "opening"}).encode()
    honest = root_of("forensic", target.honest[0])
    subjects = [
        f"{honest}.{tail}".encode() for tail in ("turn.opening.frequency", "ctl.closed", "cancel")
    ]
    ids = [f"forensic.{target.honest[0]}.{tail}".encode() for tail in ("ctl.opened", "ctl.closed")]
    for name in _header_names():
        for value in (*subjects, *ids, *_VALUES, b"x" * HUGE):
            what = f"{name.decode()}: {value[:40].decode('latin-1')}"
            own = _own(login, target.honest[0])
            yield _sent(group, login, what, own, turn, headers=[(name, value)])
            yield _sent(
                group, login, f"{what}, twice", own, turn, headers=[(name, b"1"), (name, value)]
            )


def _broken_headers(group: str, login: str, target: Target) -> Iterator[Attempt]:
    heads = {
        "no version": b"\r\n\r\n",
        "another version": b"NATS/9.9\r\nA: b\r\n\r\n",
        "a status": b"NATS/1.0 503\r\n\r\n",
        "a status in words": b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
        "no colon": b"NATS/1.0\r\nNats-Subject\r\n\r\n",
        "no name": b"NATS/1.0\r\n: x\r\n\r\n",
        "no end": b"NATS/1.0\r\nA: b\r\n",
        "a folded line": b"NATS/1.0\r\nA: b\r\n c\r\n\r\n",
        "bare newlines": b"NATS/1.0\nNats-Sequence: 1\n\n",
        "NUL": b"NATS/1.0\r\nNats-Sequence: \x00\r\n\r\n",
        "not UTF-8": b"NATS/1.0\r\nNats-Subject: \xff\xfe\r\n\r\n",
        "a name of odd bytes": b"NATS/1.0\r\n\xff\xfe: x\r\n\r\n",
        "two heads": b"NATS/1.0\r\nA: b\r\n\r\nNATS/1.0\r\nNats-Sequence: 1\r\n\r\n",
        "2,000 lines": b"NATS/1.0\r\n" + b"A: b\r\n" * 2000 + b"\r\n",
    }
    for (what, head), debate in itertools.product(heads.items(), target.honest):
        yield _sent(group, login, what, _own(login, debate), b"{}", head=head)


def _replies(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """Whatever the server answers would be stored, where a reply could leave its account."""
    panel, persona = _persona(login)
    asked = [_own(login, target.honest[0]), "$JS.API.INFO", f"$JS.API.STREAM.INFO.{STREAM}"]
    asked.append(f"$JS.API.CONSUMER.INFO.{STREAM}.{panel}-{persona}")
    for (tail, _), subject in itertools.product(_tails(), asked):
        reply = f"{root_of('forensic', target.honest[0])}.{tail}"
        yield _sent(group, login, f"{subject} -> {tail}", subject, b"{}", reply=reply.encode())


def _moved(subject: bytes, partition: bytes) -> bytes:
    """To another partition than the id's: the same turn in two places."""
    prefix, _, rest = subject.split(b".", 2)
    return b".".join((prefix, partition, rest))


def _odd_subjects(group: str, login: str, target: Target) -> Iterator[Attempt]:
    own = _own(login, target.honest[0]).encode()
    last = own.rpartition(b".")[2]
    start = f"{PREFIX}.0.forensic".encode()
    odd = [
        own + b".more", own.replace(b".turn.", b"..turn."), b"." + own, own + b".", own.upper(),
        own[: -len(last)] + b"*", own[: -len(last)] + b">", own[: -len(last)] + b"\xff\xfe",
        start + b".*.submitted", start + b".>", b">", b"*", b"debate.*.*.*.turn.*.*", b"debate",
        start + b".d\x00.ctl.closed", start + b"." + b"x" * 3000 + b".submitted",
        start + b".%2e%2e.submitted", b"debate.x", start + b".a.ctl.closed.more",
        own + b"." * 200, b"a." * 1500 + b"a", b"x" * 6000,
        start + ".한글.submitted".encode(), start + b".\xe2\x80\xae.turn.opening.noise",
        *(_moved(own, number) for number in (b"0", b"1", b"63", b"64", b"00", b"-1", b"x", b"*", b"")),
        own.replace(b"." + own.split(b".")[1] + b".", b".", 1), b"redrive." + own, b"live." + own, b"dead.debate.1", b"dead.debate.\xff",
        *(own.replace(b"never-asked", step) for step in (b"*", b">", b"\xff", b"all", b"x" * 65)),
        *(own.replace(target.honest[0].encode(), one) for one in (b"*", b"\xff", b"x" * 65, b"a b")),
    ]  # fmt: skip
    for subject, data in itertools.product(odd, (b"{}", ODD_JSON["10,000 levels"])):
        yield _sent(group, login, subject[:60].decode("latin-1"), subject, data)


def _api(group: str, login: str, target: Target) -> Iterator[Attempt]:
    streams = (
        STREAM, f"OBJ_{BUCKET}", *(f"{STREAM}-{one}" for one in ("ARCHIVE", "PURSE", "ANSWERS", "DEAD")),
    )  # fmt: skip
    mine = {"name": "mine", "durable_name": "mine", "ack_policy": "explicit"}
    bodies: dict[str, object] = {
        "STREAM.INFO.{s}": {"subjects_filter": ">"}, "STREAM.PURGE.{s}": {}, "STREAM.DELETE.{s}": None,
        "STREAM.UPDATE.{s}": {"name": "{s}", "subjects": ["stolen.>"]},
        "STREAM.MSG.GET.{s}": {"seq": 1}, "STREAM.MSG.DELETE.{s}": {"seq": 1},
        "DIRECT.GET.{s}": {"seq": 1}, "STREAM.SNAPSHOT.{s}": {"deliver_subject": "_INBOX.attack.s"},
        "STREAM.RESTORE.{s}": {"config": {"name": "{s}"}, "state": {}},
        "STREAM.LEADER.STEPDOWN.{s}": None, "STREAM.PEER.REMOVE.{s}": {"peer": "x"},
        "CONSUMER.NAMES.{s}": None, "CONSUMER.LIST.{s}": None,
        "CONSUMER.CREATE.{s}": {"stream_name": "{s}", "config": mine},
        "CONSUMER.CREATE.{s}.mine": {"stream_name": "{s}", "config": mine},
        "CONSUMER.CREATE.{s}.mine.debate.>": {"stream_name": "{s}", "config": mine},
        "CONSUMER.DURABLE.CREATE.{s}.mine": {"stream_name": "{s}", "config": mine},
    }  # fmt: skip
    for (call, body), stream in itertools.product(bodies.items(), streams):
        data = json.dumps(body).replace("{s}", stream).encode() if body is not None else b""
        yield _sent(group, login, call, f"$JS.API.{call.replace('{s}', stream)}", data)
    queues = [q for q in ("forensic-frequency", "forensic-spatial", "absa-judge") if q != login]
    for queue in queues:
        for call, body in {
            "INFO": None, "DELETE": None, "MSG.NEXT": {"batch": 100, "expires": 10**9},
            "PAUSE": {"pause_until": "2099-01-01T00:00:00Z"}, "RESET": {"seq": 1},
            "UNPIN": {"group": "x"}, "LEADER.STEPDOWN": None,
        }.items():  # fmt: skip
            data = json.dumps(body).encode() if body is not None else b""
            yield _sent(group, login, call, f"$JS.API.CONSUMER.{call}.{STREAM}.{queue}", data)
    for subject in (
        "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.ACCOUNT.PURGE.CORE",
        "$JS.API.STREAM.CREATE.MINE", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.SERVER.REMOVE",
        "$JS.API.>", "$JS.API.*", "$JS.API.\udcff", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
        "$SYS.ACCOUNT.CORE.CONNECT", "$SYS.REQ.ACCOUNT.CORE.JSZ", "$SYS.REQ.SERVER.RELOAD",
        f"$JS.API.DIRECT.GET.{STREAM}.{root_of('forensic', target.honest[0])}.submitted",
    ):  # fmt: skip
        yield _sent(group, login, subject, subject, b'{"name":"MINE","subjects":["mine"]}')
    # Of its own queue, which others share: nothing that would be handed out.
    for what, data in (
        *((what, data) for what, data in ODD_JSON.items() if data),
        *((f"a batch of {n}", b'{"batch":%d,"no_wait":true}' % n) for n in (-1, -(2**63))),
        ("for ever", b'{"batch":-1,"expires":-1}'),
    ):
        yield _sent(group, login, what, f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{login}", data)
    # What a login may ask, asked badly.
    for subject, (what, data) in itertools.product(
        (f"$JS.API.DIRECT.GET.OBJ_{BUCKET}", f"$JS.API.STREAM.MSG.GET.OBJ_{BUCKET}"),
        (
            *ODD_JSON.items(),
            ("all at once", b'{"seq":1,"next_by_subj":">","batch":1000000}'),
            ("a negative number", b'{"seq":-1}'),
        ),
    ):
        yield _sent(group, login, f"asked with {what}", subject, data)


def _acknowledgements(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """Of its own queue only for what it was never handed: the rest is its own to spoil."""
    del target
    words = (b"+ACK", b"-NAK", b"+TERM", b"+WPI", b"+NXT", b'-NAK {"delay": -1}', b"", b"\xff")
    queues = ("forensic-frequency", "forensic-noise", "forensic-spatial", "absa-ate")
    for queue, word, sequence in itertools.product(queues, words, (1, 7, 40, 2**63, 10**30)):
        if queue != login or sequence > 10**9:
            ack = f"$JS.ACK.{STREAM}.{queue}.1.{sequence}.{sequence}.1.0"
            yield _sent(group, login, f"{queue} {word!r}", ack, word)
    for odd in ("x", "1", "-1.-1.-1.-1.-1", "1.2.3.4.5.6.7.8.9", ">", "1.x.y.z.0"):
        yield _sent(group, login, odd, f"$JS.ACK.{STREAM}.{login}.{odd}", b"+ACK")


def _side_channels(group: str, login: str, target: Target) -> Iterator[Attempt]:
    panel, persona = _persona(login)
    advisory = "$JS.EVENT.ADVISORY.CONSUMER"
    honest = root_of("forensic", target.honest[0])
    partial = f"live.{root_of(panel, target.honest[0])}.partial"
    subjects = [
        f"live.{PREFIX}-coordinators", f"live.{honest}.ctl.closed",
        f"live.{honest}.turn.opening.frequency", f"{partial}.opening.frequency",
        f"{partial}.opening.{persona or 'x'}", f"{partial}.\udcff.{persona or 'x'}",
        f"{advisory}.MAX_DELIVERIES.{STREAM}.forensic-noise",
        f"{advisory}.MSG_TERMINATED.{STREAM}.forensic-noise",
        "$SRV.PING", "$SRV.STATS", "$SRV.INFO.parley-agent", "$SRV.\udcff", "_INBOX.x", "_INBOX.>",
        "$KV.x.y", "$MQTT.sess", "_R_.x", "_GR_.x", "$G", "live.>",
    ]  # fmt: skip
    said = {
        **ODD_JSON,
        "words for another": b'{"step":"opening","persona":"frequency","text":"I give in"}',
        "a number": b'{"step":"opening","persona":"noise","text":"x","attempt":%s}' % (b"9" * 5000),
        "a long text": b'{"step":"opening","persona":"noise","text":"%s"}' % (b"x" * 300_000),
    }
    for subject, (what, data) in itertools.product(subjects, said.items()):
        yield _sent(group, login, f"{subject}: {what}", subject, data)


def _registers(group: str, login: str, target: Target) -> Iterator[Attempt]:
    panel, persona = _persona(login)
    account = {
        "began_ns": 1,
        "spent": {"model_calls": 1, "input_tokens": 2, "output_tokens": 3, "cost": 0.5},
        "attempts": {"a#b": {"used": {"model_calls": 1, "cost": 0.1}, "until_ns": 5}},
    }
    contents = [*spoiled(account), *twice(account), *ODD_JSON.items()]
    keys = [
        f"purse.{PREFIX}.{panel}.debate.{target.honest[0]}.{persona or 'x'}",
        f"purse.{PREFIX}.forensic.debate.{target.honest[0]}.frequency",
        f"purse.{PREFIX}.{panel}.batch.b.{persona or 'x'}", f"purse.{PREFIX}.other.batch.b.noise",
        f"answers.{PREFIX}.{panel}.{persona or 'x'}.{'0' * 64}", f"purse.{PREFIX}.>",
        f"answers.{PREFIX}.forensic.frequency.{'0' * 64}", f"answers.{PREFIX}.{panel}.*.x",
    ]  # fmt: skip
    for (what, data), key in itertools.product(contents, keys):
        yield _sent(group, login, f"{key}: {what}", key, data)


def _blobs(group: str, login: str, target: Target) -> Iterator[Attempt]:
    del target
    meta = {
        "name": "x", "bucket": BUCKET, "nuid": "abc", "size": 10, "chunks": 1,
        "mtime": "2026-01-01T00:00:00Z", "digest": "SHA-256=x", "options": {"max_chunk_size": 1},
    }  # fmt: skip
    contents = [*spoiled(meta), *twice(meta), *ODD_JSON.items()]
    names = ["none", "YmFpdA==", "\udcff", "*", ">", "x" * 3000]
    for (what, data), name in itertools.product(contents, names):
        yield _sent(group, login, f"description: {what}", f"$O.{BUCKET}.M.{name}", data)
        yield _sent(group, login, f"chunk: {what}", f"$O.{BUCKET}.C.{name}", data)


def _spoiled_facts(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """Of the kind that the login may write: every field at its extremes."""
    panel, persona = _persona(login)
    fresh = itertools.count(1)
    for recorded_fact in of_type("turn") if persona else of_type("submitted", "cancel"):
        for step in ("opening", "round-1") if persona else ("",):
            fact = {**recorded_fact, "persona": persona, "step": step} if persona else recorded_fact
            for what, data in (*spoiled(fact), *twice(fact), *ODD_JSON.items()):
                number = next(fresh)
                bait = target.bait[number % len(target.bait)]
                if persona:
                    subject = f"{root_of(panel, bait)}.turn.{step}.{persona}"
                elif fact["type"] == "cancel":
                    subject = f"{root_of('forensic', bait)}.cancel"
                else:
                    name = fact["panel"]["name"]
                    subject = f"{root_of(name, f'spoiled-{login}-{number}')}.submitted"
                yield _sent(group, login, f"{fact['type']}: {what}", subject, data)


def _rightful_kinds(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """What no debate may believe, though the login may write there: nobody asked, or it is no fact."""
    panel, persona = _persona(login)
    for debate, fact in itertools.product((*target.honest, "unknown"), recorded()):
        data = json.dumps(fact).encode()
        if persona:
            for step in ("never-asked", "round-9", "all"):
                yield _sent(group, login, fact["type"], _own(login, debate, step), data)
        else:
            yield _sent(group, login, fact["type"], _own(login, debate), data)
    for debate, (what, data) in itertools.product(target.honest, ODD_JSON.items()):
        tail = f"turn.never-asked.{persona}" if persona else "cancel"
        subject = f"{root_of(panel if persona else 'forensic', debate)}.{tail}"
        yield _sent(group, login, f"{tail}: {what}", subject, data)


# The most that contracts allow a number to be.
_ALL = 10**12
_SPENT = {"model_calls": _ALL, "input_tokens": _ALL, "output_tokens": _ALL, "cost": _ALL}


def _false_claims(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """That the budget of the bait is used up: by a turn, by a refusal, by an account."""
    _, persona = _persona(login)
    who = persona or "noise"
    turn = {**of_type("turn")[0], "persona": who}
    refused = {"kind": "failure", "reason": "budget_exhausted"}
    for bait, step in itertools.product(target.bait, ("opening", "round-1", "round-2")):
        claims: dict[str, dict[str, Any]] = {
            "usage": {**turn, "step": step, "usage": _SPENT},
            "a refusal": {**turn, "step": step, "content": refused},
            "seconds": {**turn, "step": step, "seconds": 10**9},
        }
        for what, claim in claims.items():
            subject = f"{root_of('forensic', bait)}.turn.{step}.{who}"
            yield _sent(group, login, what, subject, json.dumps(claim).encode())
        ask = f"{bait}.{step}#x"
        accounts: dict[str, dict[str, Any]] = {
            "spent": {"began_ns": 0, "spent": _SPENT},
            "held for ever": {
                "began_ns": 0,
                "attempts": {ask: {"held": _SPENT, "until_ns": 2**62}},
            },
        }
        for what, account in accounts.items():
            key = f"purse.{PREFIX}.forensic.debate.{bait}.{who}"
            yield _sent(group, login, what, key, json.dumps(account).encode())


def _archive(group: str, login: str, target: Target) -> Iterator[Attempt]:
    """Records of debates that run, or never did; and their facts taken out of the log."""
    ended = {"version": 1, "protocol": "verdicts", "status": "completed", "answer": "authentic"}
    summary = {**ended, "stream": STREAM, "through": 10**9, "facts": 9, "closed_ns": 1}
    headers = [("well formed", json.dumps(summary).encode()), ("none", b"{}")]
    headers += [(what, data) for what, data in spoiled(summary) if len(data) < HUGE]
    empty = {"version": 1, "panel": "forensic", "records": []}
    for debate, (what, header) in itertools.product((*target.honest, "never"), headers):
        root = root_of("forensic", debate)
        body = zlib.compress(json.dumps({**empty, "debate_id": debate}).encode())
        places = [f"archive.{root}"]
        if what == "well formed":
            moved = _moved(root.encode(), b"64").decode()
            places += [
                f"archive.{moved}",
                f"{places[0]}.more",
                "archive.debate.>",
                f"live.{places[0]}",
            ]
        for place in places:
            if b"\n" not in header and b"\r" not in header:
                sent = [(b"Parley-Summary", header)]
                yield _sent(group, login, f"{place}: {what}", place, body, headers=sent)
        own = _own(login, debate)
        yield _sent(group, login, f"reply to {places[0]}", own, b"{}", reply=places[0].encode())
        wanted = {"filter": f"{root}.>"}
        for stream in (STREAM, f"{STREAM}-ARCHIVE"):
            purge = f"$JS.API.STREAM.PURGE.{stream}"
            yield _sent(group, login, f"purge {root}", purge, json.dumps(wanted).encode())
            direct = f"$JS.API.DIRECT.GET.{stream}.{places[0]}"
            yield _sent(group, login, "read", direct, b"")


def _listening(group: str, login: str, target: Target) -> Iterator[Attempt]:
    subjects = [
        ">", "*", "debate.>", "debate.*.*.*.turn.>", "live.>", "live.debate.>", "$JS.>", "$JS.API.>",
        "$JS.ACK.>", "$JS.EVENT.>", "$O.>", "$SRV.>", "$SYS.>", "_INBOX.>", "_R_.>", "purse.>",
        "answers.>", "dead.>", "redrive.>", f"{root_of('forensic', target.honest[0])}.>", "$KV.>",
    ]  # fmt: skip
    for subject in subjects:
        sid = b"%d" % (1000 + next(_numbers))
        name = subject.encode()
        yield Attempt(group, login, subject, name, b"SUB %s %s\r\n" % (name, sid), sid=sid)
        queue = b"SUB %s workers %s9\r\n" % (name, sid)
        yield Attempt(group, login, f"{subject} as one of many", name, queue, sid=sid + b"9")


GROUPS: dict[str, Callable[[str, str, Target], Iterator[Attempt]]] = {
    "facts of other writers": _facts_of_others,
    "headers of the server": _headers,
    "broken headers": _broken_headers,
    "replies that name the log": _replies,
    "odd subjects": _odd_subjects,
    "JetStream's API": _api,
    "forged acknowledgements": _acknowledgements,
    "signals and services": _side_channels,
    "registers": _registers,
    "blobs": _blobs,
    "own facts, every field spoiled": _spoiled_facts,
    "own facts in the wrong place": _rightful_kinds,
    "false claims": _false_claims,
    "the archive": _archive,
    "listening": _listening,
}

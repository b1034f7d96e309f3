"""
Debates of the pipeline whose personas were all stolen.

Each answers what it is really asked with what was once said there, one field of it spoiled: odd
values that are valid reach the rules this way, deep in a debate.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from tests.attack.outsider import MARK
from tests.attack.plan import STREAM, root_of
from tests.attack.values import FITS, RECORDED, of_type, spoiled

PANEL = "absa"
DEADLINE_S = 3.0
PULL_S = 2.0
# Every other answer is as it was recorded, so that debates get somewhere.
SPOIL_EVERY = 2


async def puppets(url: str, home: Path, logins: Sequence[str], begun: list[str]) -> None:
    """Until it is cancelled; `begun` takes the debates."""
    async with anyio.create_task_group() as tasks:
        for login in logins:
            if login.startswith(f"{PANEL}-"):
                tasks.start_soon(_puppet, url, home / f"{login}.nk", login)
        tasks.start_soon(_submit, url, home / "submitter.nk", begun)


async def _submit(url: str, seed: Path, begun: list[str]) -> None:
    client = await _connected(url, seed)
    samples = [fact for fact in of_type("submitted") if fact["panel"]["name"] == PANEL]
    samples += [_first(path) for path in sorted((RECORDED / PANEL).glob("*.jsonl"))]
    for number, fact in enumerate(itertools.cycle(samples)):
        id_ = f"puppet-{number}"
        hasty = {**fact, "panel": {**fact["panel"], "deadline_s": DEADLINE_S}}
        subject = f"{root_of(PANEL, id_)}.submitted"
        await client.publish(subject, json.dumps(hasty).encode(), headers={MARK.decode(): "p"})
        begun.append(id_)
        await anyio.sleep(1.5)


def _first(path: Path) -> dict[str, Any]:
    fact: dict[str, Any] = json.loads(path.read_text().partition("\n")[0])["fact"]
    return fact


async def _puppet(url: str, seed: Path, login: str) -> None:
    client = await _connected(url, seed)
    persona = login.partition("-")[2]
    words = {step: _spoken(facts) for step, facts in _turns(persona).items()}
    request = json.dumps({"batch": 1, "expires": int(PULL_S * 1e9)}).encode()
    while True:
        # An ask arrives under the subject where it stands, not under the inbox.
        inbox = client.new_inbox()
        waiting = await client.subscribe(inbox, max_msgs=1)
        try:
            await client.publish(
                f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{login}", request, reply=inbox
            )
            await _answer(client, await waiting.next_msg(2 * PULL_S), persona, words)
        except NatsError:
            await anyio.sleep(0.1)


async def _answer(
    client: Client, ask: Msg, persona: str, words: dict[str, Iterator[dict[str, Any] | bytes]]
) -> None:
    tokens = ask.subject.split(".")
    if "ask" not in tokens or not words:
        return
    step = tokens[tokens.index("ask") + 1]
    said = next(words.get(step) or next(iter(words.values())))
    data = said if isinstance(said, bytes) else json.dumps({**said, "step": step}).encode()
    subject = f"{'.'.join(tokens[:4])}.turn.{step}.{persona}"
    await client.publish(subject, data, headers={MARK.decode(): "p"})
    await client.publish(ask.reply, b"+ACK")


def _turns(persona: str) -> dict[str, list[dict[str, Any]]]:
    """What was recorded of a persona, by step."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((RECORDED / PANEL).glob("*.jsonl")):
        for line in path.read_text().splitlines():
            fact = json.loads(line).get("fact") or {}
            if fact.get("type") == "turn" and fact["persona"] == persona:
                found.setdefault(fact["step"], []).append(fact)
    return found


def _spoken(facts: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any] | bytes]:
    spoils = itertools.cycle(
        [data for fact in facts for _, data in spoiled(fact) if len(data) < FITS]
    )
    for number, fact in enumerate(itertools.cycle(facts)):
        yield next(spoils) if number % SPOIL_EVERY else fact


async def _connected(url: str, seed: Path) -> Client:
    async def ignore(error: Exception) -> None:
        del error

    return await nats.connect(url, nkeys_seed=str(seed), error_cb=ignore)

"""Debates that are left to agents elsewhere: models are given time, whichever command asks them."""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from parley.agents.auto import AutoBrain
from parley.configs.panels import resolve
from parley.configs.settings import load
from parley.console.system import open_journal, staffed
from tests.bus.worlds import NatsServer
from tests.unit.console.calling import Call

TEXT = "The soup was cold, but the waiter was friendly."


class Impostor(AutoBrain):
    """Thinks by rule, and says that it is a model."""

    name = "model"


@contextmanager
def at_work(url: str, brain: AutoBrain) -> Iterator[None]:
    """A coordinator and agents in a thread of their own, beside the commands."""
    up, down = threading.Event(), threading.Event()
    settings = load(flags={"nats.url": url})
    names = ("absa", "forensic")
    seats = [(name, persona) for name in names for persona in resolve(name).panel.roster]

    async def work() -> None:
        async with (
            open_journal(settings, create=True) as journal,
            staffed(journal, settings, seats, brain),
        ):
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    up.wait(20)
    try:
        yield
    finally:
        down.set()
        thread.join()


def photo(home: Path) -> Path:
    data = io.BytesIO()
    Image.effect_noise((300, 300), 60).save(data, "PNG")
    (home / "photo.png").write_bytes(data.getvalue())
    return home / "photo.png"


@pytest.mark.parametrize(
    ("brain", "more", "deadline_s"),
    [
        (Impostor(), (), 180.0),
        (Impostor(), ("--set", "deadline_s=20"), 20.0),
        (AutoBrain(), (), 30.0),
    ],
    ids=["models", "told", "rules"],
)
def test_models_elsewhere_are_given_time(  # noqa: PLR0913, PLR0917
    server: NatsServer, parley: Call, tmp_path: Path, brain, more, deadline_s
):
    samples = tmp_path / "s.jsonl"
    samples.write_text(json.dumps({"text": TEXT}))
    there = ("--nats", server.url, *more)
    with at_work(server.url, brain):
        for command in (
            ("submit", "absa", TEXT, "--id", "submitted"),
            ("submit", "forensic", photo(tmp_path), "--id", "sent-photo"),
            ("run", "absa", TEXT, "--id", "ran"),
            ("run", "forensic", photo(tmp_path), "--id", "shown-photo"),
            ("batch", "absa", samples, "-o", tmp_path / "out"),
        ):
            called = parley(*command, *there)
            assert called.code == 0, (command, called.err)
        exported = [
            parley("export", name, "--nats", server.url).out
            for name in ("submitted", "sent-photo", "ran", "shown-photo")
        ]
    exported.append((tmp_path / "out" / "debates.jsonl").read_text())
    given = [json.loads(one.splitlines()[0])["fact"]["panel"]["deadline_s"] for one in exported]
    assert given == [deadline_s] * 5

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

from parley.agents.registry import AutoBrain
from parley.configs.panels import resolve
from parley.configs.settings import load
from parley.connection import open_journal
from parley.staff import staffed
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
    names = ("absa", "forensic", "deliberation")
    models = brain.name == "model"
    seats = [
        (name, persona)
        for name in names
        for persona in resolve(name, models=models).panel.everybody
    ]

    async def work() -> None:
        async with (
            open_journal(settings, create=True) as journal,
            staffed(journal, settings, [(*seat, brain) for seat in seats]),
        ):
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    up.wait(60)
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


REFUSED = {
    "free-question": ("deliberation", "Should we lease or buy?", "needs a model"),
    "image-to-read": ("absa", "photo.png", "reads a text"),
    "image-to-weigh": ("deliberation", "photo.png", "reads a text"),
}


@pytest.mark.parametrize(("panel", "given", "why"), REFUSED.values(), ids=REFUSED)
def test_what_rule_agents_cannot_think_about_is_refused_at_every_door(  # noqa: PLR0913, PLR0917
    server: NatsServer, parley: Call, tmp_path: Path, monkeypatch, panel, given, why
):
    monkeypatch.chdir(tmp_path)
    photo(tmp_path)
    with at_work(server.url, AutoBrain()):
        for command in ("submit", "run"):
            called = parley(command, panel, given, "--nats", server.url)
            assert (called.code, why in called.err) == (2, True), (command, called)
        assert parley("list", "--nats", server.url, "--json").out == ""


def test_a_submission_seats_the_manager_of_models_and_keeps_the_files_name(
    server: NatsServer, parley: Call, tmp_path: Path
):
    there = ("--nats", server.url)
    with at_work(server.url, Impostor()):
        for command, name in (("submit", "sent"), ("run", "shown")):
            called = parley(command, "forensic", photo(tmp_path), "--id", name, *there)
            assert called.code in {0, 1}, called.err
        said = parley("submit", "deliberation", "Should we lease or buy?", *there)
        assert said.code == 0, said.err
        exported = [parley("export", name, *there).out for name in ("sent", "shown")]
    first = [next(one for one in text.splitlines() if one.startswith("{")) for text in exported]
    submitted = [json.loads(one)["fact"] for one in first]
    assert [one["panel"]["manager"] for one in submitted] == ["manager", "manager"]
    assert [one["input"]["text"] for one in submitted] == ["photo.png", "photo.png"]

"""What goes wrong in a brain costs its own turn, with a reason, and nothing else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import pytest
from structlog.testing import capture_logs
from typing_extensions import override

import parley
from parley import until
from parley.agents.loop_watch import LoopWatch
from parley.brains import brain_of, check_brain, load_brain, opened
from parley.bus.contracts.facts import Abstained, Failure, FailureReason, Status
from parley.client import Client
from parley.testing import SILENT, Scripted, world


def panel_with(brain: object, name: str = "odd") -> parley.Panel:
    """Three of four agree, whatever the odd one does."""
    panel = parley.Panel(name, labels=["no", "yes"], stop=until.rounds(1))
    panel.seat("odd", brain)
    for one in ("ann", "ben", "cem"):
        panel.seat(one, Scripted(("yes", 0.9)))
    return panel


def raises(ask: parley.Ask) -> parley.Turn:
    raise RuntimeError("no idea")


async def leaves(ask: parley.Ask) -> parley.Turn:
    raise SystemExit(3)


def low_level(task: parley.Task) -> parley.Answer:
    return "yes"  # type: ignore[return-value]


FAILING: list[tuple[Callable[..., object], FailureReason, str]] = [
    (raises, FailureReason.BRAIN_ERROR, "RuntimeError: no idea"),
    (leaves, FailureReason.BRAIN_ERROR, "SystemExit: 3"),
    (lambda ask: None, FailureReason.UNUSABLE_ANSWER, "should return a parley.Turn, not nothing"),
    (lambda ask: "yes", FailureReason.UNUSABLE_ANSWER, "not a str"),
    (lambda ask: parley.Turn("perhaps", 0.5), FailureReason.UNUSABLE_ANSWER,
     "odd answered 'perhaps', which is none of no, yes, unsure"),
    (lambda ask: parley.Turn("yes", 7.0), FailureReason.UNUSABLE_ANSWER, "confidence"),
    (lambda ask: parley.Turn("yes", 0.5, arguments=3), FailureReason.UNUSABLE_ANSWER, "type"),  # type: ignore[arg-type]
    (low_level, FailureReason.UNUSABLE_ANSWER, "should answer with an Answer, not with a str"),
]  # fmt: skip


@pytest.mark.parametrize(("brain", "reason", "detail"), FAILING)
def test_a_failed_turn_says_why(
    brain: Callable[..., object], reason: FailureReason, detail: str
) -> None:
    with capture_logs() as logs:
        played = world(panel_with(brain)).debate("Is it so?")
    turn = played.turns("odd")[0]
    assert isinstance(turn.content, Failure)
    assert turn.content.reason is reason
    assert detail in turn.content.detail
    assert played.result.verdict == "yes"
    assert detail in played.text
    crashed = [one for one in logs if one["event"] == "brain_crashed"]
    assert bool(crashed) == (reason is FailureReason.BRAIN_ERROR)
    assert all(one["exc_info"] for one in crashed)


def test_who_never_answers_abstains_and_the_debate_beside_it_goes_on() -> None:
    async def main(client: Client) -> tuple[Status, Status]:
        other = panel_with(Scripted("yes"), "other")
        async with client.serve(other, coordinator=False):
            one = await client.submit(panel, "one")
            two = await client.submit(other, "two")
            beside = await two.result(timeout=5)
            result = await one.result(timeout=600)
            assert any(isinstance(fact, Abstained) for fact in await one.facts())
            return result.status, beside.status

    panel = panel_with(Scripted(SILENT))
    assert world(panel).run(main) == (Status.COMPLETED, Status.COMPLETED)


async def test_a_brain_that_blocks_the_loop_is_noticed_while_it_does() -> None:
    with capture_logs() as logs:

        async def blocks() -> str:
            deadline = time.monotonic() + 60
            while not logs and time.monotonic() < deadline:
                time.sleep(0.2)  # noqa: ASYNC251 - the mistake in question
            return "done"

        assert await LoopWatch(after_s=0.1).watch("merge/1 security", blocks()) == "done"
    (told,) = [one for one in logs if one["event"] == "brain_blocks_the_loop"]
    assert told["who"] == "merge/1 security"
    assert "time.sleep(0.2)" in told["where"]


async def test_waiting_is_no_blocking_and_cancelling_goes_through() -> None:
    cancelled = False

    async def waits() -> None:
        nonlocal cancelled
        try:
            await anyio.sleep(30)
        except BaseException:
            cancelled = True
            raise

    with capture_logs() as logs, anyio.move_on_after(0.5):
        await LoopWatch(after_s=0.1).watch("somebody", waits())
    assert cancelled
    assert logs == []


async def test_a_plain_function_may_block() -> None:
    def slow(ask: parley.Ask) -> parley.Turn:
        time.sleep(0.3)
        return parley.Turn("yes", 0.9)

    async with world(panel_with(slow)).open() as client:
        debate = await client.submit(panel_with(slow), "Is it so?")
        ticks = 0
        async with anyio.create_task_group() as tasks:

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await anyio.sleep(0.01)
                    ticks += 1

            tasks.start_soon(tick)
            assert (await debate.result(timeout=60)).verdict == "yes"
            tasks.cancel_scope.cancel()
        assert ticks > 10


class Opened:
    """Depends on something that has to be opened."""

    log: list[str] = []  # noqa: RUF012

    async def __aenter__(self) -> Self:
        self.log.append("opened")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.log.append("closed")

    async def speak(self, ask: parley.Ask) -> parley.Turn:
        self.log.append("spoke")
        return parley.Turn("yes", 0.9)


def test_what_a_brain_depends_on_is_opened_and_closed_with_it() -> None:
    Opened.log.clear()
    world(panel_with(Opened)).debate()
    assert (Opened.log[0], Opened.log[1], Opened.log[-1]) == ("opened", "spoke", "closed")


def test_a_dependency_that_cannot_be_opened_is_said_before_anything_is_asked() -> None:
    class Broken(Opened):
        @override
        async def __aenter__(self) -> Self:
            raise ConnectionError("no database at 10.0.0.1")

    with pytest.raises(ConnectionError, match="no database"):
        world(panel_with(Broken)).debate()


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (7, "a brain should be a function"),
        (lambda: None, "should take one argument"),
        (object, "a class should have `speak`"),
    ],
)
def test_what_can_never_speak_is_refused_at_once(what: object, problem: str) -> None:
    with pytest.raises(parley.BadInput, match=problem):
        check_brain(what)
    with pytest.raises(parley.BadInput, match=problem):
        world(panel_with(what)).debate()


async def test_a_class_that_cannot_be_made() -> None:
    class Needs:
        def __init__(self, database: str) -> None:
            self.database = database

        async def speak(self, ask: parley.Ask) -> parley.Turn:
            return parley.Turn("yes", 0.9)

    with pytest.raises(parley.BadInput, match="cannot be made without arguments"):
        async with opened(Needs):
            pass
    assert brain_of(Needs("here")).name.endswith("Needs")


@contextmanager
def module(folder: Path, text: str) -> Iterator[str]:
    name = f"own_{abs(hash(text))}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    yield name


def test_brains_by_name(tmp_path: Path) -> None:
    with module(tmp_path, "class A:\n    def speak(self, ask): ...\n") as name:
        assert getattr(load_brain(f"{name}:A", tmp_path), "__name__") == "A"  # noqa: B009
        with pytest.raises(parley.BadInput, match="has no attribute 'B'"):
            load_brain(f"{name}:B", tmp_path)
    with (
        module(tmp_path, "raise RuntimeError('at import')") as name,
        pytest.raises(parley.BadInput, match="raised RuntimeError: at import"),
    ):
        load_brain(f"{name}:A", tmp_path)
    with pytest.raises(parley.BadInput, match="no module 'nobody_has_this'"):
        load_brain("nobody_has_this:A")
    with pytest.raises(parley.BadInput, match="should be module:Name"):
        load_brain("just_a_word")


def test_mistakes_of_a_panel_are_raised_before_anything_is_published() -> None:
    twice = panel_with(Scripted("yes"))
    with pytest.raises(parley.BadInput, match="'odd' is seated twice"):
        twice.seat("odd", Scripted("no"))
    endless = parley.Panel("endless", labels=["no", "yes"], stop=until.stalemate(2))
    endless.seat("one", Scripted("no"))
    labels = parley.Panel("labels", labels=["no", "no", "yes"])
    labels.seat("one", Scripted("no"))
    silent = parley.Panel(
        "silent", labels=["no", "yes"], decide={"any": {"rule": "judge", "persona": "nobody"}}
    )
    silent.seat("one", Scripted("no"))

    async def main(client: Client) -> list[str]:
        told = []
        for one in (endless, labels, silent):
            with pytest.raises(parley.BadInput) as raised:
                await client.submit(one, "Is it so?")
            told.append(str(raised.value))
        assert await client.debates() == []
        return told

    without_end, doubled, unknown = world(twice).run(main)
    assert "rounds" in without_end
    assert "no" in doubled
    assert "nobody" in unknown


def test_a_persona_without_a_brain(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\nprotocol: verdicts\nlabels: [{name: no_way}, {name: yes_please}]\n"
        "personas: [{name: ann}, {name: ben}]\nstop: [{rounds: {at: 1}}]\n",
        encoding="utf-8",
    )
    panel = parley.Panel.from_file(tmp_path / "mine.yaml")
    panel.seat("ann", Scripted("yes_please"))
    with pytest.raises(parley.BadInput, match="nobody thinks for ben: seat a brain"):
        world(panel).debate()
    with pytest.raises(parley.BadInput, match=r"unknown persona 'bem': did you mean 'ben'"):
        panel.seat("bem", Scripted("yes_please"))
    with pytest.raises(parley.BadInput, match="stands in the panel's file"):
        panel.seat("ben", Scripted("yes_please"), role="Another")
    panel.seat("ben", Scripted("yes_please"))
    assert world(panel).debate().result.verdict == "yes_please"


async def test_addresses_that_lead_nowhere() -> None:
    with pytest.raises(parley.Unreachable, match=r"127\.0\.0\.1:1"):
        async with parley.connect("nats://127.0.0.1:1"):
            pass
    with pytest.raises(parley.BadInput, match="should look like nats://"):
        async with parley.connect("example.org"):
            pass
    with pytest.raises(parley.BadInput, match="not both"):
        async with parley.connect("nats://127.0.0.1:1", store="here"):
            pass

"""A person on the panel: through the library, `parley sit`, and kill -9 of everything."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import parley
from parley import until
from parley.agents.forensic.labels import Verdict
from parley.agents.verdicts.script import VerdictScript
from parley.bus.contracts.facts import Status, TurnTaken
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import BadInput
from parley.seat import Answered, TooLate
from tests.debates import ROSTER, panel
from tests.processes import deployment, open_journal, outcome, submit, until_recorded

PARLEY = [sys.executable, "-m", "parley"]


def review(**person: object) -> parley.Panel:
    made = parley.Panel("merge-review", labels=["reject", "approve"], stop=until.rounds(1))

    @made.persona("security")
    async def security(ask: parley.Ask) -> parley.Turn:  # noqa: ARG001
        return parley.Turn("reject", 0.8, "The query is built from user input.")

    made.human("author", role="The author", **person)  # type: ignore[arg-type]
    return made


@asynccontextmanager
async def asked(
    made: parley.Panel,
) -> AsyncIterator[tuple[parley.Client, parley.Debate, parley.OpenAsk]]:
    async with parley.connect() as client, client.serve(made):
        debate = await client.submit(made, "diff --git a/db.py")
        yield client, debate, await waiting(client, made, debate)


async def waiting(
    client: parley.Client, made: parley.Panel, debate: parley.Debate
) -> parley.OpenAsk:
    with anyio.fail_after(90):
        while True:
            for ask in await client.asks(made, "author"):
                if ask.debate == debate.id:
                    return ask
            await anyio.sleep(0.05)


async def test_a_person_answers_through_the_library() -> None:
    made = review(deadline_s=3600)
    async with asked(made) as (client, debate, ask):
        assert (ask.step, ask.waits, ask.ask.round) == ("opening", True, 0)
        assert (ask.deadline - ask.asked_at).total_seconds() == 3600
        with pytest.raises(BadInput, match="'perhaps', which is none of reject, approve"):
            await ask.answer(parley.Turn("perhaps", 0.5))
        await ask.answer(parley.Turn("approve", 0.9, "It is escaped."), by="Ada")
        with pytest.raises(Answered, match="answered by Ada at"):
            await ask.answer(parley.Turn("reject", 0.9))
        again = await waiting(client, made, debate)
        assert again.step == "round-1"
        assert [one.agent for one in again.ask.standing] == ["security", "author"]
        await again.answer(parley.Turn("approve", 0.9, "Still so."))
        result = await debate.result(timeout=30)
        assert result.status is Status.COMPLETED
        assert (await debate.verify()).holds
        turns = [one for one in await debate.facts() if isinstance(one, TurnTaken)]
        mine = next(one for one in turns if one.persona == "author")
        assert (mine.brain, mine.by, mine.seconds) == ("human", "Ada", 0)
        assert await client.asks() == []


def test_the_example_of_the_document_runs(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "people.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(f"{code}\nanyio.run(main)\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] in {"reject", "approve"}
    assert "round-1 diff --git a/db.py … ['approve', 'reject']" in ran.stdout


async def test_of_two_at_once_one_is_heard_and_the_other_is_told() -> None:
    told: list[object] = []
    async with asked(review()) as (_, debate, ask):

        async def answer(verdict: str, by: str) -> None:
            try:
                await ask.answer(parley.Turn(verdict, 0.9), by=by)
                told.append(by)
            except Answered as error:
                told.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer, "approve", "Ada")
            tasks.start_soon(answer, "reject", "Bob")
        (winner,) = [one for one in told if isinstance(one, str)]
        (loser,) = [one for one in told if isinstance(one, Answered)]
        assert loser.by == winner
        turns = [
            one
            for one in await debate.facts()
            if isinstance(one, TurnTaken) and one.persona == "author"
        ]
        assert [one.by for one in turns] == [winner]


async def test_who_comes_too_late_is_told() -> None:
    async with asked(review(deadline_s=1)) as (client, debate, ask):
        with anyio.fail_after(90):
            while any(one.step == "opening" for one in await client.asks()):  # noqa: ASYNC110
                await anyio.sleep(0.1)
        with pytest.raises(TooLate, match="nobody waits for the answer any more"):
            await ask.answer(parley.Turn("approve", 0.9))
        await debate.cancel()
        await debate.result(timeout=30)


async def test_the_others_go_on_and_the_turn_counts_when_it_comes() -> None:
    made = parley.Panel("merge-review", labels=["reject", "approve"], stop=until.rounds(2))
    go_on = anyio.Event()

    @made.persona("security")
    async def security(ask: parley.Ask) -> parley.Turn:
        if ask.round == 1:
            await go_on.wait()
        return parley.Turn("reject", 0.6, "Unsafe.")

    made.persona("maintainer")(lambda _ask: parley.Turn("reject", 0.6, "Hard to read."))
    made.human("author", waits=False)
    async with asked(made) as (_, debate, ask):
        async for event in debate.events():
            if getattr(event.fact, "step", "") == "round-1":
                break
        await ask.answer(parley.Turn("approve", 0.9, "It is escaped."))
        go_on.set()
        async for event in debate.events():
            if event.fact.type == "closed":
                break
        result = await debate.result(timeout=30)
        assert "author" in str(result.detail)
        assert (await debate.verify()).holds


def seated_person() -> VerdictPanel:
    whole = panel(deadline_s=60)
    people = [
        one.model_copy(update={"human": True, "deadline_s": 3 * 86_400.0})
        if one.name == "noise"
        else one
        for one in whole.personas
    ]
    return VerdictPanel.model_validate({**whole.model_dump(), "personas": people})


OPENING = VerdictScript.model_validate(
    {
        "rounds": [
            {
                name: ["ai_generated", 0.9]
                for name in ROSTER
                if name != "noise"
            }
        ]
    }
)  # fmt: skip


async def sit(url: str, *more: str) -> subprocess.CompletedProcess[bytes]:
    command = [*PARLEY, "sit", "forensic/noise", "--nats", url, *more]
    return await anyio.run_process(command, check=False)


def leave_the_seat(url: str) -> None:
    """Ctrl-C while the first field is asked for."""
    command, piped = [*PARLEY, "sit", "forensic/noise", "--nats", url], subprocess.PIPE
    with subprocess.Popen(command, stdin=piped, stdout=piped, stderr=piped) as sitting:
        assert sitting.stdout is not None
        assert sitting.stderr is not None
        asked = b""
        while not asked.endswith(b"verdict: "):
            asked += sitting.stdout.read(1)
        sitting.send_signal(signal.SIGINT)
        assert sitting.wait(60) == 130
        assert sitting.stderr.read().endswith(b"parley: interrupted\n")


@pytest.mark.own_server
async def test_a_persons_debate_survives_kill_9_of_everything(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        coordinator = deployed.coordinator()
        others = deployed.agents([name for name in ROSTER if name != "noise"])
        async with open_journal(deployed.nats.url) as journal:
            ref = await submit(journal, "d1", seated_person(), OPENING)
            for name in ROSTER:
                if name != "noise":
                    await until_recorded(journal, ref, f"turn.opening.{name}", within_s=120)
        for process in (coordinator, *others):
            process.kill()
        deployed.nats.kill()
        deployed.nats.start()
        listed = await sit(deployed.nats.url, "--list", "--json")
        shown = json.loads(listed.stdout)
        assert (shown["debate"], shown["step"], shown["waits"]) == ("d1", "opening", True)
        elsewhere = await sit(deployed.nats.url, "--list", "--debate", "forensic/d1")
        assert b"d1  forensic/noise  opening" in elsewhere.stdout
        await anyio.to_thread.run_sync(leave_the_seat, deployed.nats.url)
        done = await sit(deployed.nats.url, "--verdict", "ai_generated", "--confidence", "0.9",
                         "--because", "Sensor noise is missing.", "--as", "Ada")  # fmt: skip
        assert done.returncode == 0, done.stderr
        launched = [process.launch() for process in (coordinator, *others)]
        for process in launched:
            process.await_ready()
        async with open_journal(deployed.nats.url) as journal:
            result = await outcome(journal, ref, within_s=120)
        assert result.status is Status.COMPLETED
        assert result.final_verdict == Verdict.AI_GENERATED
        assert result.errors == ()
        assert [one.agent for one in result.opening_statements] == list(ROSTER)

"""infra, dlq, doctor and the probes, against a server."""

import json
import shutil
import stat
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from nats.js.api import StreamConfig

from parley.bus.codec import encode
from parley.bus.contracts.facts import Asked, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.port import Delivery, Presence
from parley.bus.subjects import DebateRef
from parley.configs.settings import load
from parley.connection import open_journal
from parley.coordinator.service.coordinator import Coordinator
from tests.bus.worlds import NatsServer, entry
from tests.debates import panel
from tests.unit.console.calling import Call, Called

PARLEY = [sys.executable, "-m", "parley"]
PERSONAS = ("frequency", "noise", "watermark", "spatial", "fatformer", "manager")
REF = DebateRef("forensic", "d1")


@pytest.fixture
def ask(parley: Call, server: NatsServer) -> Call:
    def run(*arguments: object) -> Called:
        return parley(*arguments, "--nats", server.url)

    return run


def monitor_of(server: NatsServer) -> str:
    ports = json.loads(next(server.home.glob("*.ports")).read_text())
    return str(ports["monitoring"][0])


def test_a_plan_is_made_applied_and_then_empty(ask: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = ask("infra", "plan", "--panel", "forensic")
    assert planned.code == 1
    assert planned.out.splitlines() == [
        "stream PARLEY: create",
        "stream PARLEY-ARCHIVE: create",
        "bucket OBJ_parley-blobs: create",
        "stream PARLEY-DEAD: create",
        "register PARLEY-PURSE: create",
        "register PARLEY-ANSWERS: create",
        *(f"queue forensic-{persona}: create" for persona in PERSONAS),
    ]
    applied = ask("infra", "apply", "--panel", "forensic")
    assert (applied.code, applied.out) == (0, planned.out)
    for command, code in (("plan", 0), ("apply", 0)):
        again = ask("infra", command, "--panel", "forensic")
        assert (again.code, again.out, again.err) == (code, "nothing to do\n", "")
    monkeypatch.setenv("PARLEY_RETENTION__LOG_DAYS", "7")
    monkeypatch.setenv("PARLEY_RETENTION__LOG_MIB", "10")
    assert ask("infra", "plan", "--panel", "forensic").out.splitlines() == [
        "stream PARLEY: max_age 90 days -> 7 days  (deletes what is beyond it)",
        "stream PARLEY: max_bytes no limit -> 10 MiB",
    ]
    refused = ask("infra", "apply")
    assert refused.code == 2
    assert "--allow-loss" in refused.err
    assert ask("infra", "apply", "--allow-loss").code == 0
    assert ask("infra", "plan").code == 0


def test_a_log_that_forgets_open_debates_is_refused(
    ask: Call, parley: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forensic panel has six steps of half a minute at most, the others have more."""
    monkeypatch.setenv("PARLEY_RETENTION__LOG_DAYS", "0.002")
    for called in (ask("infra", "plan"), ask("infra", "apply"), parley("config", "check")):
        assert called.code == 2
        assert "retention.log_days: 0.002 days (172.8 s) are less than a debate" in called.err
        assert "forensic may last (180 s)" in called.err
    monkeypatch.setenv("PARLEY_RETENTION__LOG_DAYS", "0.003")
    assert ask("infra", "plan", "--panel", "forensic").code == 1
    assert ask("infra", "plan").code == 2


def test_a_debate_that_may_outlive_its_facts_is_not_submitted(
    parley: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six steps of a day each; it is said before a server is looked for."""
    monkeypatch.setenv("PARLEY_RETENTION__LOG_DAYS", "5")
    called = parley(
        "submit", "forensic", "--brain", "model", "--set", "deadline_s=86400", "a photo"
    )
    assert called.code == 2
    assert "retention.log_days: 5 days" in called.err
    assert "forensic may last (518400 s)" in called.err


@pytest.mark.parametrize(
    "command",
    [("infra", "apply"), ("coordinator",), ("agent", "forensic/noise"), ("list",)],
    ids=lambda command: command[0],
)
def test_nobody_works_on_a_stream_of_somebody_else(
    ask: Call, server: NatsServer, command: tuple[str, ...]
) -> None:
    async def take_the_name() -> None:
        async with open_bus(Server((server.url,))) as bus:
            foreign = StreamConfig(name="PARLEY", subjects=["orders.>"])
            await bus._connection.client.jetstream().add_stream(foreign)

    anyio.run(take_the_name)
    called = ask(*command)
    assert called.code == 2, called
    assert "set another nats.stream" in called.err


def test_unknown_panels_are_named(ask: Call, tmp_path: Path, parley: Call) -> None:
    called = ask("infra", "plan", "--panel", "forensics")
    assert called.code == 2
    assert "forensic" in called.err
    assert parley("infra", "accounts", "--panel", "nix", "-o", tmp_path / "s").code == 2
    assert not (tmp_path / "s").exists()


def test_a_panel_made_in_python_gets_its_logins_and_its_people_the_pages(
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("vetting_panels.py").write_text(
        "import parley\n"
        "vet = parley.Panel('vet', labels=['no', 'yes'], stop=parley.until.rounds(1))\n"
        "vet.human('author')\n"
        "vet.seat('security', lambda ask: parley.Turn('no', 0.5))\n"
        "other = 7\n"
    )
    made = parley("infra", "accounts", "--panel", "vetting_panels:vet", "-o", "s")
    assert made.code == 0, made.err
    told = Path("s/accounts.conf").read_text()
    assert "vet.*.turn.*.author" in told
    assert Path("s/vet-security.nk").exists()
    assert not Path("s/vet-author.nk").exists()
    wrong = parley("infra", "accounts", "--panel", "vetting_panels:other", "-o", "t")
    assert (wrong.code, "is no parley.Panel" in wrong.err) == (2, True)


def test_accounts_are_written_and_kept(parley: Call, tmp_path: Path) -> None:
    where = tmp_path / "secrets"
    first = parley("infra", "accounts", "--panel", "forensic", "-o", where)
    assert first.code == 0
    written = [Path(line).name for line in first.out.splitlines()]
    assert written == [
        "accounts.conf",
        *(
            f"{name}.nk"
            for name in (
                *("coordinator", "viewer", "submitter", "web"),
                *(f"forensic-{p}" for p in PERSONAS),
            )
        ),
    ]
    seed = where / "forensic-noise.nk"
    assert stat.S_IMODE(seed.stat().st_mode) == 0o600
    before = {path: path.read_text() for path in where.iterdir()}
    assert parley("infra", "accounts", "--panel", "forensic", "-o", where).out == first.out
    assert {path: path.read_text() for path in where.iterdir()} == before
    assert seed.read_text() not in first.out
    assert "service.debate" not in before[where / "accounts.conf"]
    asked = parley("infra", "accounts", "--panel", "forensic", "--nats-service", "-o", where)
    assert asked.out == first.out
    assert '"service.debate.*"' in (where / "accounts.conf").read_text()


def test_a_panel_added_later_shuts_nobody_out(parley: Call, tmp_path: Path) -> None:
    where = tmp_path / "secrets"
    parley("infra", "accounts", "-o", where)
    everybody = set((where / "accounts.conf").read_text().splitlines())
    assert parley("infra", "accounts", "--panel", "absa", "-o", where).code == 0
    lines = {line.strip() for line in (where / "accounts.conf").read_text().splitlines()}
    assert {line.strip() for line in everybody if "nkey" in line} <= lines
    (where / "absa-epm.nk").unlink()
    assert parley("infra", "accounts", "--panel", "forensic", "-o", where).code == 0
    assert '"absa-epm"' not in (where / "accounts.conf").read_text()
    assert '"absa-tan"' in (where / "accounts.conf").read_text()


def test_logins_that_no_panel_knows_are_not_dropped_silently(parley: Call, tmp_path: Path) -> None:
    where = tmp_path / "secrets"
    parley("infra", "accounts", "--panel", "absa", "-o", where)
    shutil.copy(where / "absa-epm.nk", where / "mine-own.nk")
    before = (where / "accounts.conf").read_text()
    refused = parley("infra", "accounts", "-o", where)
    assert refused.code == 2
    assert "mine-own" in refused.err
    assert (where / "accounts.conf").read_text() == before


def findings(called: Called) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in json.loads(called.out)["findings"]:
        found.setdefault(one["what"], set()).add(one["state"])
    return found


def test_the_doctor_finds_an_empty_server(ask: Call) -> None:
    called = ask("doctor", "--json")
    assert called.code == 1
    found = findings(called)
    assert found["server"] == {"ok"}
    assert found["durability"] == {"unknown"}
    assert found["layout"] == {"WRONG", "note"}
    assert found["clock"] == {"unknown"}
    assert found["coordinators"] == {"WRONG"}


@pytest.mark.own_server
def test_the_doctor_explains_what_is_wrong(
    ask: Call, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("infra", "apply")
    monkeypatch.setenv("PARLEY_NATS__MONITOR", monitor_of(server))
    anyio.run(_asks_nobody_answers, server.url)
    called = ask("doctor")
    assert called.code == 1
    lines = called.out.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    assert [line.split()[1] for line in wrong] == ["coordinators", "agents", "dead"]
    assert "forensic-noise: 0 alive, 2 asks waiting, 0 in flight" in wrong[1]
    assert any(line.startswith("note") and "flushed every 120 s" in line for line in lines)
    assert any(line.startswith("ok") and "kept up to 90 days" in line for line in lines)
    monkeypatch.setenv("PARLEY_RETENTION__LOG_DAYS", "none")
    changed = ask("doctor", "--json")
    assert findings(changed)["layout"] == {"WRONG"}
    ask("infra", "apply")
    assert "note" in findings(ask("doctor", "--json"))["storage"]
    monkeypatch.setenv("PARLEY_NATS__MONITOR", "http://127.0.0.1:9")
    assert findings(ask("doctor", "--json"))["durability"] == {"WRONG"}


async def _asks_nobody_answers(url: str) -> None:
    async with open_journal(load(flags={"nats.url": url}), create=False) as journal:
        for step in ("one", "two"):
            subject = journal.subjects.at(REF, f"ctl.ask.{step}.noise")
            await journal.bus.append(entry(subject, subject))
        await journal.bus.bury(1, "for the doctor")


@pytest.mark.own_server
def test_the_doctor_finds_a_full_server(
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reserved in ("DEAD_MIB", "PURSE_MIB", "ANSWER_MIB"):
        monkeypatch.setenv(f"PARLEY_RETENTION__{reserved}", "none")
    home = tmp_path / "small"
    home.mkdir()
    config = 'http: "127.0.0.1:-1"\njetstream { max_file_store: 1MB }'
    small = NatsServer(home, arguments=(), config=config).start()
    monkeypatch.setenv("PARLEY_NATS__MONITOR", monitor_of(small))

    async def fill() -> None:
        async with open_journal(load(flags={"nats.url": small.url}), create=True) as journal:
            with anyio.move_on_after(2):
                for n in range(12):
                    subject = journal.subjects.at(REF, f"x{n}")
                    await journal.bus.append(entry(subject, subject, b"x" * 100_000))

    try:
        anyio.run(fill)
        examined = parley("doctor", "--nats", small.url)
    finally:
        small.stop()
    assert examined.code == 1
    assert "nothing more is taken: insufficient resources" in examined.out
    full = next(line for line in examined.out.splitlines() if "the server holds" in line)
    assert full.startswith("note")


def test_the_doctor_writes_to_the_log_itself_and_believes_no_presence(
    ask: Call, server: NatsServer
) -> None:
    """The probe leaves nothing behind, and whoever only says so is no coordinator."""
    ask("infra", "apply", "--panel", "forensic")
    told: list[Called] = []

    async def pose() -> None:
        async with (
            open_journal(load(flags={"nats.url": server.url}), create=False) as journal,
            anyio.create_task_group() as tasks,
        ):
            fake = Presence("parley-coordinator", "fake", "1", {"role": "coordinator"}, {})
            tasks.start_soon(journal.bus.announce, lambda: fake)
            (before,) = (await journal.bus.position()).reached
            told.append(await anyio.to_thread.run_sync(ask, "doctor", "--json"))
            assert await journal.bus.read(journal.subjects.redrives()) == []
            assert (await journal.bus.position()).reached == (before + 1,)
            tasks.cancel_scope.cancel()

    anyio.run(pose)
    (examined,) = told
    assert findings(examined)["coordinators"] == {"WRONG"}


def test_the_doctor_finds_asks_that_wait_in_vain(ask: Call, server: NatsServer) -> None:
    ask("infra", "apply", "--panel", "forensic")

    async def wait(deadline_s: float, step: str) -> None:
        async with open_journal(load(flags={"nats.url": server.url}), create=False) as journal:
            asked = Asked(
                decided_at=2,
                step=step,
                personas=("noise",),
                input=DebateInput(),
                request=OpeningRequest(),
                deadline_s=deadline_s,
            )
            subject = journal.subjects.of(REF, asked)
            await journal.bus.append(entry(subject, subject, encode(asked)))

    anyio.run(wait, 0.1, "opening")
    told = ask("doctor").out
    assert "1 asks waiting, 0 in flight, 0 handed out again; the oldest waits for" in told
    assert "and had 0.1 s: debates go on without this persona" in told


@pytest.mark.own_server
def test_the_doctor_knows_a_server_that_flushes_every_write(
    parley: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "careful"
    home.mkdir()
    config = 'http: "127.0.0.1:-1"\njetstream { sync_interval: always }'
    careful = NatsServer(home, arguments=(), config=config).start()
    try:
        monkeypatch.setenv("PARLEY_NATS__MONITOR", monitor_of(careful))
        examined = parley("doctor", "--json", "--nats", careful.url)
        assert findings(examined)["durability"] == {"ok"}
    finally:
        careful.stop()


async def _a_dead_ask(url: str) -> None:
    """The step waits for `noise`, whose ask was terminated; nobody coordinates any more."""
    async with open_journal(load(flags={"nats.url": url}), create=False) as journal:
        coordinator = Coordinator(journal, "c0")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(coordinator.run)
            await coordinator.ready.wait()
            given = DebateInput(text="a photograph")
            await journal.submit(REF, Submitted(panel=panel(("frequency", "noise")), input=given))
            await _until(journal, "ctl.ask.opening.all")
            tasks.cancel_scope.cancel()

        async def give_up(delivery: Delivery) -> None:
            await delivery.term("it looks \x1b[31mwrong")
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.bus.work, "forensic-noise", 1, give_up)
        while not await journal.bus.dead_letters():  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def _until(journal: Journal, tail: str) -> None:
    with anyio.fail_after(60):
        while not await journal.bus.read(journal.subjects.at(REF, tail)):  # noqa: ASYNC110
            await anyio.sleep(0.02)


def test_dead_letters_are_listed_shown_redriven_and_dropped(ask: Call, server: NatsServer) -> None:
    ask("infra", "apply")
    assert ask("dlq", "list") == Called(0, "", "")
    anyio.run(_a_dead_ask, server.url)
    listed = ask("dlq", "list").out
    assert "forensic/d1  ask opening to noise" in listed
    assert listed.endswith("handed out 1x: it looks wrong\n")
    [one] = [json.loads(line) for line in ask("dlq", "list", "--json").out.splitlines()]
    assert (one["debate_id"], one["persona"], one["step"]) == ("d1", "noise", "opening")
    in_words = ask("dlq", "show", one["number"]).out
    assert "redriving: possible" in in_words
    assert '"step":"opening"' in in_words
    shown = json.loads(ask("dlq", "show", one["number"], "--json").out)
    assert (shown["redriving"], shown["fate"]) == ("redriven", "redriven")
    assert ask("dlq", "redrive", one["number"]).out == f"{one['number']}: redriven\n"
    again = ask("dlq", "redrive", one["number"])
    assert again.code == 2
    assert f"no dead letter {one['number']}" in again.err
    assert ask("dlq", "redrive", "--all") == Called(0, "", "")
    assert ask("dlq", "redrive").code == 2
    anyio.run(_asks_nobody_answers, server.url)
    buried = ask("dlq", "redrive", "--all")
    assert buried.code == 1
    assert "not an ask" in buried.out
    told = [json.loads(line) for line in ask("dlq", "redrive", "--all", "--json").out.splitlines()]
    assert [one["fate"] for one in told] == ["no_ask"]
    assert ask("dlq", "drop", "--all").out.endswith(": dropped\n")
    assert ask("dlq", "list").out == ""


def test_the_schema_is_json(parley: Call) -> None:
    assert "$defs" in json.loads(parley("schema").out)
    document = json.loads(parley("schema", "--asyncapi").out)
    assert document["asyncapi"] == "3.1.0"

"""Submitting, cancelling, redriving; and whatever else people send."""

import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import yaml
from PIL import Image

from parley.agents.forensic.image import ImageLimits
from parley.agents.registry import AutoBrain
from parley.agents.script import ScriptedBrain
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Keep, Layout
from parley.bus.journal import Journal
from parley.bus.port import Entry, Queue
from parley.bus.subjects import DebateRef, Subjects
from parley.configs.settings import Settings
from parley.console.web import limits as gate
from parley.console.web import request_parsing as asking
from parley.console.web import submit_api as submission
from parley.staff import staffed
from tests.debates import STALEMATE, panel, play
from tests.web.client import Answer, Client
from tests.web.site import OpenLog, site, write

ONE = DebateRef("forensic", "one")
FACTS, _ = play(panel(), STALEMATE)
LIBRARY = Path(__file__).parents[2] / "configs" / "questions" / "library.yaml"
ABSA = ("ate", "atsa", "validator", "epm", "tan", "cj", "judge")


@asynccontextmanager
async def at_work(journal: Journal) -> AsyncIterator[Client]:
    seats = [("absa", persona) for persona in ABSA]
    async with (
        staffed(journal, Settings(), [(*seat, AutoBrain()) for seat in seats]),
        site(journal) as client,
    ):
        yield client


async def form(client: Client, fields: Mapping[str, str], image: bytes | None = None) -> Answer:
    boundary = "a-boundary-of-ours"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if image is not None:
        disposition = 'form-data; name="image"; filename="holiday \x1b[31m.png"'
        head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode()
        parts.append(head + image + b"\r\n")
    body = b"".join([*parts, f"--{boundary}--\r\n".encode()])
    kind = f"multipart/form-data; boundary={boundary}"
    return await client.ask("POST", "/debates", body, {"Content-Type": kind})


def png(side: int = 300) -> bytes:
    data = io.BytesIO()
    Image.effect_noise((side, side), 60).save(data, "PNG")
    return data.getvalue()


async def test_a_debate_submitted_followed_and_closed(log: OpenLog):
    async with log() as journal, at_work(journal) as client:
        text = "The soup was cold, but the waiter was friendly."
        called = {"topic": "Review 7", "labels": {"team": "core"}}
        wanted = {"panel": "absa", "text": text, "id": "mine"}
        submitted = await client.post("/debates", {**wanted, **called})
        assert submitted.status == 201
        assert submitted.headers["location"] == "/debates/mine"
        row = submitted.json
        assert (row["id"], row["topic"], row["protocol"]) == (
            "mine", f"Review 7 · team=core · {text}", "absa",
        )  # fmt: skip
        with anyio.fail_after(90):
            events = await client.collect("/debates/mine/events")
        assert events[-1].name == "end"
        shown = (await client.get("/debates/mine")).json
        assert shown["row"]["status"] == "completed"
        assert shown["row"]["facts"] == len(events) - 1
        assert shown["result"]["meta"]["text_id"] == "mine"
        again = await client.post("/debates", wanted)
        assert (again.status, again.json["error"]) == (422, "the id 'mine' is taken")
        roll = (await client.get("/agents")).json
        assert {one["persona"] for one in roll["agents"] if one["panel"] == "absa"} == set(ABSA)
        assert [one["role"] for one in roll["agents"]].count("coordinator") == 1
        assert {one["name"] for one in roll["queues"]} == {f"absa-{one}" for one in ABSA}
        assert roll["dead"] == []


async def test_a_debate_that_may_outlive_its_facts_is_refused(nats_url: str) -> None:
    """Each step of it a day, in a log that keeps its records for five."""
    layout = Layout(
        stream="SHORT", prefix="short", bucket="shortblobs", keep_log=Keep(age_s=5 * 86_400)
    )
    async with open_bus(Server((nats_url,)), layout) as bus:
        await bus.apply()
        async with site(Journal(bus, Subjects(layout.prefix))) as client:
            wanted = {"panel": "absa", "text": "The soup was cold.", "set": ["deadline_s=86400"]}
            refused = await client.post("/debates", wanted)
            assert refused.status == 422
            assert "retention.log_days: 5 days" in refused.json["error"]
            assert await bus.subjects("short.>") == []


class Impostor(ScriptedBrain):
    """Plays a script, and says that it is a model."""

    name = "model:m"


@pytest.mark.parametrize("there", [True, False])
async def test_a_manager_sits_where_a_model_speaks_for_it(log: OpenLog, there: bool):
    seats = [("forensic", name) for name in (*panel().roster, *(["manager"] if there else []))]
    async with (
        log() as journal,
        staffed(journal, Settings(), [(*seat, Impostor(STALEMATE)) for seat in seats]),
        site(journal) as client,
    ):
        wanted = {"panel": "forensic", "text": "a photograph", "id": "mine"}
        assert (await client.post("/debates", wanted)).status == 201
        with anyio.fail_after(90):
            await client.collect("/debates/mine/events")
        shown = (await client.get("/debates/mine")).json
        assert ("manager_report" in shown["result"]) == there
        assert bool(shown["view"]["outcome"]["report"]) == there


@pytest.mark.parametrize(
    ("brain", "sets", "deadline_s"),
    [
        (Impostor(STALEMATE), [], 180.0),
        (Impostor(STALEMATE), ["deadline_s=20"], 20.0),
        (ScriptedBrain(STALEMATE), [], 30.0),
    ],
    ids=["models", "told", "scripts"],
)
async def test_models_are_given_time(log: OpenLog, brain, sets, deadline_s):
    seats = [("forensic", name) for name in panel().roster]
    async with (
        log() as journal,
        staffed(journal, Settings(), [(*seat, brain) for seat in seats]),
        site(journal) as client,
    ):
        fields = {"panel": "forensic", "id": "mine", **({"set": sets[0]} if sets else {})}
        assert (await form(client, fields, png())).status == 201
        facts = (await client.get("/debates/mine/facts")).json["facts"]
        assert facts[0]["fact"]["panel"]["deadline_s"] == deadline_s


async def test_an_image_travels_to_the_log_and_back(log: OpenLog):
    image = png()
    async with log() as journal, site(journal) as client:
        fields = {"panel": "forensic", "preset": "fast", "set": "max_rounds=2", "text": ""}
        submitted = await form(client, fields, image)
        assert submitted.status == 201, submitted.body
        row = submitted.json
        assert row["topic"] == "holiday .png"
        facts = (await client.get(f"/debates/{row['id']}/facts")).json["facts"]
        given = facts[0]["fact"]
        assert given["panel"]["params"]["max_rounds"] == 2
        sha256 = given["input"]["blobs"]["image"]["sha256"]
        back = await client.get(f"/debates/{row['id']}/blobs/{sha256}")
        assert (back.body, back.headers["content-type"]) == (image, "image/png")
        maps = (await client.get(f"/debates/{row['id']}/maps")).json["maps"]
        assert [one["name"] for one in maps] == ["regions", "noise", "error-level", "spectrum"]
        drawn = await client.get(f"/debates/{row['id']}/maps/noise.png")
        assert drawn.headers["content-type"] == "image/png"
        assert drawn.body[:8] == b"\x89PNG\r\n\x1a\n"
        assert (await client.get(f"/debates/{row['id']}/maps/../x.png")).status == 404


@pytest.mark.parametrize("shape", ["object", "yaml"])
async def test_a_question_with_options(log: OpenLog, shape: str):
    text = LIBRARY.read_text()
    question = yaml.safe_load(text) if shape == "object" else text
    async with log() as journal, site(journal) as client:
        asked = {"panel": "deliberation", "question": question, "regime": "L2"}
        row = (await client.post("/debates", asked)).json
        facts = (await client.get(f"/debates/{row['id']}/facts")).json["facts"]
        assert facts[0]["fact"]["panel"]["params"]["theta"] == "L2"
        assert row["topic"] == yaml.safe_load(text)["question"]


async def test_cancelling_once(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:4])
        await write(journal, DebateRef("forensic", "over"), FACTS)
        async with site(journal) as client:
            done = await client.post("/debates/one/cancel", {"why": "wrong photo"})
            assert done.status == 202
            told = (await client.get("/debates/one/facts?after=3")).json["facts"]
            assert told[0]["fact"] == {"version": 1, "type": "cancel", "why": "wrong photo"}
            again = await client.post("/debates/one/cancel", {})
            assert (again.status, again.json["error"]) == (409, "one was cancelled before")
            over = await client.post("/debates/over/cancel", {})
            assert (over.status, "closed already" in over.json["error"]) == (409, True)
            assert (await client.post("/debates/none/cancel", {})).status == 404


async def test_a_dead_letter_is_listed_and_redriven(log: OpenLog):
    async with log() as journal:
        asks = journal.subjects.asks("forensic", "noise")
        queue = Queue("forensic-noise", asks, ack_wait_s=1, max_deliver=1)
        await journal.bus.ensure_queue(queue)
        await write(journal, ONE, FACTS[:3])
        async with anyio.create_task_group() as tasks:

            async def refuse(delivery: object) -> None:
                await delivery.term("no use")  # type: ignore[attr-defined]

            tasks.start_soon(journal.bus.work, "forensic-noise", 1, refuse)
            with anyio.fail_after(90):
                while not await journal.bus.dead_letters():  # noqa: ASYNC110 - nobody tells
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        async with site(journal) as client:
            (dead,) = (await client.get("/agents")).json["dead"]
            assert (dead["queue"], dead["persona"]) == ("forensic-noise", "noise")
            assert (dead["debate_id"], dead["step"]) == ("one", "opening")
            assert "no use" in dead["reason"]
            done = await client.post(f"/dead-letters/{dead['number']}/redrive")
            assert done.json == {"result": "redriven"}
            assert (await client.get("/agents")).json["dead"] == []
            assert len(await journal.bus.read(journal.subjects.redrives())) == 1
            assert (await client.post(f"/dead-letters/{dead['number']}/redrive")).status == 404


BAD = {
    "not JSON": (b"{", 400, "the request cannot be used"),
    "not an object": (b"[]", 422, "the request cannot be used"),
    "not UTF-8": (b'{"panel":"\xff"}', 400, "the request cannot be used"),
    "no panel": (b"{}", 422, "the request cannot be used"),
    "unknown key": (b'{"panel":"absa","text":"x","shell":"rm"}', 422, "cannot be used"),
    "unknown panel": (b'{"panel":"absurd","text":"x"}', 422, "unknown panel 'absurd'"),
    "no text": (b'{"panel":"absa","text":"  "}', 422, "text: is empty"),
    "no image": (b'{"panel":"forensic","text":"x"}', 422, "looks at an image"),
    "free question": (b'{"panel":"deliberation","text":"x?"}', 422, "needs a model"),
    "bad question": (b'{"panel":"deliberation","question":{"question":"x"}}', 422, "mistakes"),
    "question of no YAML": (b'{"panel":"deliberation","question":"[1"}', 422, "question"),
    "unknown preset": (b'{"panel":"absa","text":"x","preset":"hasty"}', 422, "hasty"),
    "unknown setting": (b'{"panel":"absa","text":"x","set":["color=red"]}', 422, "color"),
    "unknown language": (b'{"panel":"absa","text":"x","lang":"tlh"}', 422, "tlh"),
    "bad id": (b'{"panel":"absa","text":"x","id":"../x"}', 422, "cannot be used"),
    "panel as a path": (b'{"panel":"../../etc/passwd","text":"x"}', 422, "cannot be used"),
    "too long": (b'{"panel":"absa","text":"' + b"x" * 200_001 + b'"}', 422, "cannot be used"),
    "deep": (b'{"panel":"absa","question":' + b"[" * 9000 + b"]" * 9000 + b"}", 400, "cannot"),
}


async def test_what_cannot_be_submitted_is_refused_and_leaves_nothing(log: OpenLog):
    async with log() as journal, site(journal) as client:
        for name, (body, status, said) in BAD.items():
            answer = await client.post("/debates", body)
            assert answer.status == status, (name, answer.body)
            assert said in json.dumps(answer.json), name
        assert (await journal.bus.position()).reached == (0,)


async def test_the_name_of_a_file_is_only_a_text(log: OpenLog):
    async with log() as journal, site(journal) as client:
        row = (await client.post("/debates", {"panel": "absa", "text": "/etc/passwd"})).json
        assert row["topic"] == "/etc/passwd"


async def test_only_json_and_forms_are_read(log: OpenLog):
    async with log() as journal, site(journal) as client:
        for kind in ("", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"):
            headers = {"Content-Type": kind} if kind else {}
            answer = await client.ask("POST", "/debates", b"panel=absa&text=x", headers)
            assert answer.status == 415, kind
            assert (await client.ask("POST", "/debates/x/cancel", b"{}", headers)).status == 415


def bad_images() -> dict[str, tuple[bytes, str]]:
    return {
        "no image": (b"GIF89a" + b"x" * 500, "JPEG, PNG or WEBP"),
        "markup": (b"<svg onload=alert(1)>", "JPEG, PNG or WEBP"),
        "empty": (b"", "JPEG, PNG or WEBP"),
        "cut off": (png()[:900], "image: "),
        "too small": (png(100), "256"),
    }


async def test_images_that_cannot_be_debated(log: OpenLog):
    async with log() as journal, site(journal) as client:
        for name, (data, said) in bad_images().items():
            answer = await form(client, {"panel": "forensic"}, data)
            assert answer.status == 422, (name, answer.body)
            assert said in json.dumps(answer.json), name
        assert (await journal.bus.position()).reached == (0,)


async def test_an_image_for_those_who_read(log: OpenLog):
    async with log() as journal, site(journal) as client:
        answer = await form(client, {"panel": "absa", "text": "x"}, png())
        assert (answer.status, "reads a text" in answer.json["error"]) == (422, True)


async def test_a_broken_form(log: OpenLog):
    async with log() as journal, site(journal) as client:
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        assert (await client.ask("POST", "/debates", b"--x", headers)).status == 400
        headers = {"Content-Type": "multipart/form-data"}
        assert (await client.ask("POST", "/debates", b"--x", headers)).status == 400


@pytest.mark.parametrize("announced", [True, False])
async def test_what_is_too_large_is_told_so(log: OpenLog, announced: bool):
    async with log() as journal, site(journal) as client:
        part = b'--b\r\nContent-Disposition: form-data; name="image"; filename="x"\r\n\r\n'
        body = part + b"x" * (gate.LARGEST_UPLOAD_BYTES + 1)
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        if not announced:
            headers["Transfer-Encoding"] = "chunked"
            body = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        answer = await client.ask("POST", "/debates", body, headers)
        assert (answer.status, answer.json["error"]) == (413, "too large: at most 20.3 MB")
        assert (await journal.bus.position()).reached == (0,)


async def test_what_is_far_too_large_is_not_read_at_all(log: OpenLog):
    async with log() as journal, site(journal) as client:
        kind = {"Content-Type": "application/json"}
        for path, length in (("/debates", 10**15), ("/session", 10**9)):
            with anyio.fail_after(90):
                answer = await client.ask(
                    "POST", path, b"x", {**kind, "Content-Length": str(length)}
                )
            assert answer.status == 413
        small = gate.LARGEST_BODY_BYTES + 1
        assert (await client.post("/session", b"x" * small)).status == 413


def test_an_image_as_large_as_the_agents_take_fits_through_the_gate():
    room = gate.LARGEST_UPLOAD_BYTES - ImageLimits().max_bytes
    assert 0 < room < 1_000_000


async def test_too_many_submissions_at_once_have_to_come_again(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submission, "AT_ONCE", 1)
    async with log() as journal, site(journal) as client, anyio.create_task_group() as tasks:
        statuses: list[int] = []

        async def one() -> None:
            answer = await client.post("/debates", {"panel": "absa", "text": "The soup was cold."})
            statuses.append(answer.status)

        for _ in range(6):
            tasks.start_soon(one)
        while len(statuses) < 6:  # noqa: ASYNC110 - the tasks know no event
            await anyio.sleep(0.01)
        assert set(statuses) == {201, 429}


QUERIES = {
    "/debates?limit=0": 400,
    "/debates?limit=501": 400,
    "/debates?limit=ten": 400,
    "/debates?before=x": 400,
    "/debates?before=-1": 400,
    "/debates?before=" + "9" * 30: 400,
    "/debates?state=lost": 400,
    "/debates?panel=a.b": 400,
    "/debates?panel=*": 400,
    "/debates?color=red": 400,
    "/debates?text=" + "x" * 201: 400,
    "/debates?text=%ff": 200,
    "/debates?state=&panel=&limit=": 200,
    "/debates/one?at=x": 400,
    "/debates/one?at=-1": 400,
    "/debates/one?at=99": 400,
    "/debates/one/facts?after=x": 400,
    "/debates/one/events?after=x": 400,
    "/debates/one/events?after=-5": 400,
    "/debates/one/events?after=" + "9" * 30: 400,
    "/events?after=1.5": 400,
    "/debates/none": 404,
    "/debates/none/events": 404,
    "/debates/none/facts": 404,
    "/debates/none/export": 404,
    "/debates/*": 404,
    "/debates/%3E": 404,
    "/debates/" + "x" * 65: 404,
    "/debates/one/blobs/..%2f..%2fx": 404,
    "/debates/one/blobs/" + "0" * 64: 404,
    "/debates/one/maps/noise.png": 404,
    "/static/../app.py": 404,
    "/static/..%2fapp.py": 404,
    "/static/%2e%2e/app.py": 404,
    "/static//etc/passwd": 404,
    "/static/": 404,
    "/nowhere": 404,
}


async def test_every_malformed_question_gets_a_clear_answer(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS)
        async with site(journal) as client:
            for path, status in QUERIES.items():
                answer = await client.get(path)
                assert answer.status == status, (path, answer.body)
                if status != 200:
                    assert answer.json["error"], path
            for given in ("x", "-1", "1 2", "1.0", "٣", "9" * 30, "0x1"):
                async with client.connected():
                    answer = await client.get(
                        "/debates/one/events", **{"Last-Event-ID": given.encode().decode("latin-1")}
                    )
                assert (answer.status, "Last-Event-ID" in answer.json["error"]) == (400, True)
            for method in ("PUT", "PATCH", "DELETE", "TRACE"):
                assert (await client.ask(method, "/debates")).status == 405
            assert (await client.get("/debates")).status == 200


async def test_what_trickles_in_does_not_hold_a_place_for_ever(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(asking, "READ_WITHIN_S", 0.1)
    async with log() as journal, site(journal) as client:
        for kind in ("application/json", "multipart/form-data; boundary=b"):
            headers = {"Content-Type": kind, "Content-Length": "1000"}
            answer = await client.ask("POST", "/debates", b"--b\r\n", headers)
            assert answer.status == 408, kind
        assert (await client.post("/debates", {"panel": "absa", "text": "Cold."})).status == 201


async def test_of_many_dead_letters_the_newest_are_shown_and_the_rest_in_pages(log: OpenLog):
    most = 3000
    async with log() as journal, site(journal) as client:
        bus = journal.bus
        assert isinstance(bus, JetStreamBus)
        sequence = await write(journal, DebateRef("absa", "x"), FACTS[:1])
        letter = json.dumps({"stream_seq": sequence, "reason": "not a fact"}).encode()
        for start in range(0, most, 500):
            graves = [bus.layout.grave(number) for number in range(start, start + 500)]
            await bus.append(*(Entry(grave, letter, grave) for grave in graves))
        # Gaps as wide as several pages.
        for number in range(2801, 2991):
            await bus.forget_dead(number)
        shown = (await client.get("/agents")).json
        numbers = [one["number"] for one in shown["dead"]]
        assert len(numbers) == 100
        assert numbers == sorted(numbers)
        total, seen = shown["dead_total"], set(numbers)
        while numbers:
            page = (await client.get(f"/agents?limit=500&before={numbers[0]}")).json["dead"]
            numbers = [one["number"] for one in page]
            assert not seen.intersection(numbers)
            seen.update(numbers)
        assert {one.number for one in await bus.dead_letters()} == seen
        assert len(seen) == most - 190
        assert total >= len(seen)

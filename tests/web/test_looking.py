"""The list, a debate at any moment, its facts, its files."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.codec import encode
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.console.web.openapi import Operation, document
from parley.console.web.transcript_api import FactEvent
from parley.console.web.views import view_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.files.reader import read_archive
from tests.debates import STALEMATE, panel, play
from tests.web.site import OpenLog, recorded, site, write

ONE = DebateRef("forensic", "one")
TWO = DebateRef("absa", "two")


@pytest.fixture(params=["in the log", "archived"], autouse=True)
def where(request: pytest.FixtureRequest) -> str:
    """What the page shows of a closed debate is the same wherever it stands."""
    return str(request.param)


async def test_the_list_shows_what_the_log_holds(log: OpenLog):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        await write(journal, ONE, facts)
        await write(journal, TWO, recorded("absa/flip.jsonl"))
        async with site(journal) as client:
            listed = (await client.get("/debates")).json
            assert [row["id"] for row in listed["debates"]] == ["two", "one"]
            assert (listed["total"], listed["next"]) == (2, None)
            assert listed["debates"][1]["verdict"] == "manipulated"
            paged = (await client.get("/debates?limit=1")).json
            assert [row["id"] for row in paged["debates"]] == ["two"]
            rest = (await client.get(f"/debates?limit=1&before={paged['next']}")).json
            assert [row["id"] for row in rest["debates"]] == ["one"]
            assert rest["next"] is None
            health = (await client.get("/healthz")).json
            assert (health["status"], health["debates"]) == ("ok", 2)
            assert health["rebuilt_in_s"] < 5


@pytest.mark.parametrize("name", ["stalemate-a-02.jsonl", "absa/flip.jsonl"])
async def test_a_debate_at_every_moment(log: OpenLog, name: str):
    facts = recorded(name)
    ref = DebateRef("forensic" if "absa" not in name else "absa", "one")
    async with log() as journal:
        await write(journal, ref, facts)
        logged, _ = await journal.read(ref)
        async with site(journal) as client:
            for at in (1, 2, len(facts) // 2, len(facts)):
                shown = (await client.get(f"/debates/one?at={at}")).json
                assert (shown["facts"], shown["at"]) == (len(facts), at)
                expected = view_of(ref, logged, at)
                assert shown["view"] == json.loads(expected.model_dump_json())
            whole = (await client.get("/debates/one")).json
            assert whole["result"] == json.loads(result_of(ref, fold(facts)).model_dump_json())
            assert (await client.get("/debates/one?at=2")).json["result"] is None


async def test_facts_behind_an_ordinal_in_words(log: OpenLog):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        await write(journal, ONE, facts)
        async with site(journal) as client:
            told = (await client.get("/debates/one/facts?after=3")).json["facts"]
            assert [one["ordinal"] for one in told] == list(range(4, len(facts)))
            assert told[-1]["lines"] == ["closed: completed (stalemate)"]
            assert told[-1]["fact"]["type"] == "closed"
            everything = (await client.get("/debates/one/facts")).json["facts"]
            assert everything[0]["fact"]["type"] == "submitted"


async def test_an_id_that_stands_in_two_panels_has_to_be_said_with_its_panel(log: OpenLog):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        await write(journal, ONE, facts)
        await write(journal, DebateRef("other", "one"), facts)
        async with site(journal) as client:
            assert (await client.get("/debates/one")).status == 400
            shown = (await client.get("/debates/one?panel=other")).json
            assert shown["row"]["panel"] == "other"


async def test_an_export_can_be_read_again_with_its_blobs(log: OpenLog, tmp_path: Path):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        blob = await journal.bus.put_blob(b"rounds: []", "application/yaml")
        given = DebateInput(text="a photograph", blobs={"script": blob})
        await write(journal, ONE, [Submitted(panel=panel(), input=given), *facts[1:]])
        async with site(journal) as client:
            exported = await client.get("/debates/one/export")
            named = await client.get(f"/debates/one/blobs/{blob.sha256}")
            stranger = hashlib.sha256(b"else").hexdigest()
            await journal.bus.put_blob(b"else")
            assert (await client.get(f"/debates/one/blobs/{stranger}")).status == 404
    path = tmp_path / "one.jsonl"
    path.write_bytes(exported.body)
    archive = read_archive(path)
    assert archive.debates[0].ref == ONE
    assert archive.debates[0].broken == ()
    assert archive.debates[0].facts[1:] == tuple(facts[1:])
    assert archive.blobs == ((blob, b"rounds: []"),)
    assert named.body == b"rounds: []"
    assert named.headers["content-type"].startswith("text/plain")
    assert named.headers["content-disposition"] == "attachment"


async def test_pictures_of_evidence_need_an_image(log: OpenLog):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        await write(journal, ONE, facts)
        async with site(journal) as client:
            answer = await client.get("/debates/one/maps/noise.png")
            assert answer.status == 404
            assert "not about an image" in answer.json["error"]


async def test_the_interface_describes_itself_and_answers_as_it_says(log: OpenLog):
    facts, _ = play(panel(), STALEMATE)
    async with log() as journal:
        await write(journal, ONE, facts)
        await write(journal, TWO, recorded("absa/flip.jsonl"))
        async with site(journal) as client:
            described = (await client.get("/openapi.json")).json
            assert described["openapi"].startswith("3.1")
            for path in ("/debates", "/debates/one", "/debates/two", "/debates/one/facts",
                         "/panels", "/agents", "/session", "/healthz"):  # fmt: skip
                template = (
                    "/debates/{id}" if path == "/debates/two" else path.replace("one", "{id}")
                )
                answered = described["paths"][template]["get"]["responses"]["200"]
                check(described, answered, (await client.get(path)).json)
            problem = described["paths"]["/debates/{id}"]["get"]["responses"]["404"]
            check(described, problem, (await client.get("/debates/nothing")).json)
            event = (await client.collect("/debates/one/events"))[3].data
            stream = described["paths"]["/debates/{id}/events"]["get"]["responses"]["200"]
            schema = stream["content"]["text/event-stream"]["x-events"]["fact"]
            validator(described, schema).validate(event)


def test_every_recorded_fact_is_valid_as_the_interface_describes_it() -> None:
    async def events(_request: Request) -> Response:
        return Response()

    described = document([Operation("GET", "/events", events, "Events", FactEvent)])
    of_fact = described["components"]["schemas"]["FactEvent"]["properties"]["fact"]
    told = validator(described, of_fact)
    seen = Counter[str]()
    for name in ("stalemate-a-02.jsonl", "missed_turns.jsonl", "absa/flip.jsonl"):
        for fact in recorded(name):
            told.validate(json.loads(encode(fact)))
            seen[fact.type] += 1
    assert seen["turn"] > 10
    wrong = {"type": "turn", "step": "s", "persona": "p", "content": {"kind": "statement"}}
    assert not told.is_valid(wrong)


async def test_what_is_said_on_the_bus_is_served_too(log: OpenLog):
    async with log() as journal, site(journal) as client:
        facts = (await client.get("/api/schema/facts")).json
        asyncapi = (await client.get("/api/schema/asyncapi")).json
    jsonschema.Draft202012Validator.check_schema(facts)
    assert {"Submitted", "TurnTaken", "Asked"} <= set(facts["$defs"])
    assert asyncapi["asyncapi"] == "3.1.0"
    address = asyncapi["channels"]["TurnTaken"]["address"]
    assert (
        address
        == f"{journal.subjects.prefix}.{{partition}}.{{panel}}.{{id}}.turn.{{step}}.{{persona}}"
    )


async def test_every_reference_and_schema_of_the_description_holds(log: OpenLog):
    async with log() as journal, site(journal) as client:
        described = (await client.get("/openapi.json")).json
    known = described["components"]["schemas"]
    for name in (
        "Row",
        "DebateList",
        "Submission",
        "PresenceReport",
        "PanelList",
        "Problem",
        "Shown",
    ):
        jsonschema.Draft202012Validator.check_schema(known[name])
    references = [one for one in _references(described) if not one.endswith("}")]
    assert len(references) > 100
    assert {one.removeprefix("#/components/schemas/") for one in references} <= set(known)
    operations = [one for path in described["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(set(ids)) == len(operations) > 20
    for path, methods in described["paths"].items():
        for one in methods.values():
            said = {each["name"] for each in one["parameters"] if each["in"] == "path"}
            assert said == {part[1:].partition("}")[0] for part in path.split("/") if "{" in part}


def check(described: dict[str, object], answered: dict[str, object], value: object) -> None:
    content = answered["content"]
    assert isinstance(content, dict)
    validator(described, content["application/json"]["schema"]).validate(value)


def validator(described: dict[str, object], schema: object) -> jsonschema.Draft202012Validator:
    assert isinstance(schema, dict)
    return jsonschema.Draft202012Validator({**schema, "components": described["components"]})


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [ref for value in node.values() for ref in _references(value)]
    if isinstance(node, list):
        return [ref for value in node for ref in _references(value)]
    return []

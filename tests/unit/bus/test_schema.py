import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from parley.bus.codec import decode, encode
from parley.bus.contracts.facts import CORE_FACTS
from parley.bus.contracts.registry import finding_types
from parley.bus.schema import asyncapi, every_fact, json_schema
from parley.bus.subjects import DebateRef, Subjects, tail_of
from tests.debates import DEADLOCK, panel, play

SUBJECTS = Subjects("talk")
REF = DebateRef("forensic", "d1")


def test_every_fact_of_a_debate_follows_its_schema() -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    facts, _ = play(panel(), DEADLOCK)
    for fact in facts:
        validator.validate(json.loads(encode(fact)))
    wrong = {**json.loads(encode(facts[0])), "more": 1}
    assert not validator.is_valid(wrong)


def test_every_fact_has_a_channel_with_its_subject() -> None:
    document: Any = asyncapi("talk")
    assert len(every_fact()) == len(CORE_FACTS) + len(finding_types())
    facts, _ = play(panel(), DEADLOCK)
    for fact in facts:
        address = document["channels"][type(fact).__name__]["address"]
        pattern = re.sub(r"\\\{\w+\\\}", "[^.]+", re.escape(address))
        assert re.fullmatch(pattern, SUBJECTS.of(REF, fact)), address
        assert decode(tail_of(fact), encode(fact)) == fact
    addresses = [channel["address"] for channel in document["channels"].values()]
    assert len(addresses) == len(set(addresses)) == len(every_fact()) + 2
    assert "redrive.talk.{partition}.{panel}.{id}.{step}.{persona}" in addresses
    assert "live.talk.{partition}.{panel}.{id}.>" in addresses


def test_every_reference_leads_somewhere_and_every_parameter_is_explained() -> None:
    document: Any = asyncapi()
    assert document["asyncapi"] == "3.1.0"
    assert '"discriminator"' not in json.dumps(document)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        at = document
        for part in reference.split("/"):
            at = at[part]
    for channel in document["channels"].values():
        named = set(re.findall(r"\{(\w+)\}", channel["address"]))
        assert named == set(channel["parameters"])
        assert all(parameter["description"] for parameter in channel["parameters"].values())
    for operation in document["operations"].values():
        assert operation["action"] in {"send", "receive"}


@pytest.mark.parametrize("prefix", ["debate", "talk"])
def test_subjects_follow_the_prefix(prefix: str) -> None:
    document: Any = asyncapi(prefix)
    for name, channel in document["channels"].items():
        head = {"Redrive": "redrive.", "Live": "live."}.get(name, "")
        assert channel["address"].startswith(f"{head}{prefix}.{{partition}}.{{panel}}.{{id}}.")

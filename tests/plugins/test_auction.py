"""
A protocol that Parley does not know: found by its entry points, it debates on a real nats-server.

No line of Parley names it; everything that people do with a debate works on it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from parley.bus.contracts.facts import Status
from parley.coordinator.core.accounting import declarations_of
from parley.coordinator.core.endings import ending_of
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley_auction.contracts import Sold
from parley_auction.protocol import AuctionResult
from tests.bus.worlds import NatsServer
from tests.plugins.bidders import PANEL, Bids, bidding, hold
from tests.processes import deployment, open_journal
from tests.unit.console.calling import Call
from tests.web.site import site

LOTS: Mapping[str, Bids] = {
    "a clock": {"amber": [40], "birch": [25], "cedar": [30]},
    "a vase": {"amber": [30, 31], "birch": [30, 35], "cedar": [12]},
    "a chair": {"amber": [20, 20, 20], "birch": [20, 20, 20], "cedar": [11]},
    "a spoon": {"amber": [1], "birch": [2], "cedar": [3]},
    "a shoe": {},
}


@dataclass(frozen=True)
class House:
    """Where all of it was auctioned; `parley` is told by `--nats`."""

    url: str
    states: Mapping[str, DebateState]
    results: Mapping[str, AuctionResult]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with deployment(tmp_path_factory.mktemp("house")) as deployed:
        deployed.coordinator()
        yield anyio.run(_auction_all, deployed.nats.url)


async def _auction_all(url: str) -> House:
    states, results = {}, {}
    async with open_journal(url) as journal, bidding(journal, LOTS):
        for lot in LOTS:
            name = lot.removeprefix("a ")
            ref, states[name] = await hold(journal, name, lot)
            result = result_of(ref, states[name])
            assert isinstance(result, AuctionResult)
            results[name] = result
    return House(url, states, results)


def test_the_highest_bid_wins_for_the_second_price(house: House) -> None:
    result = house.results["clock"]
    assert (result.winner, result.price, result.termination_reason) == ("amber", 30, "sold")
    assert result.status is Status.COMPLETED
    assert result.bids == {"amber": 40, "birch": 25, "cedar": 30}
    assert house.states["clock"].found(Sold).winner == "amber"


def test_a_tie_is_bid_for_again_by_those_who_tie(house: House) -> None:
    state, result = house.states["vase"], house.results["vase"]
    assert [step.ask.personas for step in state.steps] == [PANEL.roster, ("amber", "birch")]
    assert (result.winner, result.price) == ("birch", 31)
    statuses = [one.termination_status.value for one in declarations_of(state)]
    assert statuses == ["continue", "terminate"]
    ending = ending_of(state)
    assert ending.answer is not None
    assert ending.before is not None
    assert (ending.before.label, ending.answer.label, ending.rounds) == ("amber", "birch", 2)


@pytest.mark.parametrize(
    ("lot", "reason", "winner", "status"),
    [
        ("chair", "drawn", "amber", Status.COMPLETED),
        ("spoon", "unsold", None, Status.COMPLETED),
        ("shoe", "quorum_lost", None, Status.FAILED),
    ],
)
def test_auctions_without_a_single_winner(
    house: House, lot: str, reason: str, winner: str | None, status: Status
) -> None:
    result = house.results[lot]
    assert (result.termination_reason, result.winner, result.status) == (reason, winner, status)


def test_verify_recomputes_it(house: House, parley: Call) -> None:
    called = parley("verify", "vase", "--nats", house.url)
    assert called.code == 0, called.err


def test_show_and_replay_give_its_own_result(house: House, parley: Call) -> None:
    for command in ("show", "replay"):
        called = parley(command, "vase", "--nats", house.url, "--json")
        assert called.code == 0, called.err
        assert AuctionResult.model_validate_json(called.out) == house.results["vase"]


def test_show_and_replay_tell_it_in_a_plain_form(house: House, parley: Call) -> None:
    for command in ("show", "replay"):
        called = parley(command, "vase", "--nats", house.url)
        assert called.code == 0, called.err
        assert "birch" in called.out


def test_everybody_is_told_the_same_in_words(house: House, parley: Call) -> None:
    called = parley("replay", "vase", "--nats", house.url)
    assert "amber, birch, cedar asked: call for bids" in called.out
    assert "amount: 35" in called.out
    assert "winner: birch" in called.out


def test_it_runs_by_its_own_rules_from_the_command_line(parley: Call, panels: Path) -> None:
    called = parley("run", "estate", "a clock", "--panels", panels, "--set", "reserve=5", "--json")
    assert called.code == 0, called.err
    result = AuctionResult.model_validate_json(called.out)
    assert (result.lot, result.status) == ("a clock", Status.COMPLETED)
    assert set(result.brains.values()) == {"rule: bidder"}
    assert result.winner == max(result.bids, key=lambda name: result.bids[name])


def test_an_image_is_no_lot(parley: Call, panels: Path, tmp_path: Path) -> None:
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"\x89PNG")
    called = parley("run", "estate", photo, "--panels", panels)
    assert (called.code, called.err) == (2, "parley: image: the panel estate reads a text\n")


def test_list_names_it(house: House, parley: Call) -> None:
    called = parley("list", "--nats", house.url)
    assert called.code == 0, called.err
    assert "vase" in called.out


def test_export_and_import_carry_it_to_another_server(
    house: House, parley: Call, server: NatsServer, tmp_path: Path
) -> None:
    file = tmp_path / "auctions.jsonl"
    exported = parley("export", "vase", "-o", file, "--nats", house.url)
    assert exported.code == 0, exported.err
    assert parley("verify", file).code == 0
    imported = parley("import", file, "--nats", server.url)
    assert imported.code == 0, imported.err
    again = parley("show", "vase", "--nats", server.url, "--json")
    assert AuctionResult.model_validate_json(again.out) == house.results["vase"]


def test_backtest_decides_it_anew_or_says_that_it_cannot(
    house: House, parley: Call, tmp_path: Path
) -> None:
    file = tmp_path / "auctions.jsonl"
    parley("export", "clock", "-o", file, "--nats", house.url)
    called = parley("backtest", file)
    if called.code != 0:
        (line,) = called.err.splitlines()
        assert called.code == 2
        assert "estate: its protocol 'auction'" in line


def test_a_panel_file_of_it_is_read_like_any_other(parley: Call, panels: Path) -> None:
    listed = parley("panels", "--panels", panels)
    assert "Who gets the estate?" in listed.out
    shown = parley("panels", "estate", "--panels", panels)
    assert "amber" in shown.out
    assert "reserve" in shown.out
    checked = parley("config", "check", "--panels", panels)
    assert f"{panels / 'estate.yaml'}: good" in checked.out


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("reserve: -1", "reserve: should be greater than or equal to 0 (got -1)"),
        ("reserv: 5", "unknown key 'reserv': did you mean 'reserve'?"),
        ("rounds: many", "rounds: should be a valid integer"),
    ],
)
def test_a_mistake_in_its_panel_file_is_one_clear_line(
    parley: Call, panels: Path, mistake: str, said: str
) -> None:
    file = panels / "estate.yaml"
    file.write_text(f"{file.read_text()}\n{mistake}\n")
    called = parley("config", "check", "--panels", panels)
    assert called.code == 2
    (line,) = called.err.splitlines()
    assert str(file) in line
    assert said in line


def test_schema_holds_its_facts(parley: Call) -> None:
    document = json.loads(parley("schema").out)
    assert {"AuctionPanel", "Bid", "BidRequest", "Sold"} <= document["$defs"].keys()
    channels = json.loads(parley("schema", "--asyncapi").out)["channels"]
    assert channels["Sold"]["address"] == "debate.{partition}.{panel}.{id}.ctl.sold"


async def test_the_page_shows_it_in_a_plain_form(house: House) -> None:
    async with open_journal(house.url) as journal, site(journal) as client:
        rows = {row["id"]: row for row in (await client.get("/debates")).json["debates"]}
        shown = (await client.get("/debates/vase")).json
        told = (await client.get("/debates/vase/facts")).json["facts"]
        pictures = (await client.get("/debates/vase/report")).status
    assert rows["vase"]["protocol"] == "auction"
    assert AuctionResult.model_validate(shown["result"]) == house.results["vase"]
    assert shown["view"]["outcome"]["label"] == "birch"
    assert [one["name"] for one in shown["view"]["personas"]] == list(PANEL.roster)
    assert any("winner: birch" in line for one in told for line in one["lines"])
    assert pictures < 500

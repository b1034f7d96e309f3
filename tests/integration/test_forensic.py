"""The forensic panel with real eyes: each agent a process, images as blobs on a real nats-server."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parley.agents.forensic.argue import overlap
from parley.agents.forensic.brain import IMAGE_BLOB
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.specimen import Made, spliced, untouched
from parley.bus.contracts.facts import Status, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Region, TerminationReason
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.protocols.verdicts.result import VerdictResult
from parley.files.reader import read_archive
from tests.bad_images import BAD, saved, textured
from tests.debates import ROSTER, panel
from tests.processes import Deployment, deployment, open_journal, outcome

ACCUSATION_LIMIT = 0.7


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("forensic")) as running:
        running.coordinator()
        running.agents(ROSTER)
        yield running


async def debated(deployed: Deployment, debate: str, image: bytes) -> VerdictResult:
    """Submitted without any check, as a client of another make might."""
    async with open_journal(deployed.nats.url) as journal:
        ref = DebateRef("forensic", debate)
        blob = await journal.bus.put_blob(image, "image/jpeg")
        given = DebateInput(blobs={IMAGE_BLOB: blob})
        await journal.submit(ref, Submitted(panel=panel(), input=given))
        return await outcome(journal, ref)


def box_of(made: Made) -> Region:
    rows, columns = np.nonzero(made.mask)
    left, top = int(columns.min()), int(rows.min())
    return Region(
        x=left, y=top, width=int(np.ptp(columns)) + 1, height=int(np.ptp(rows)) + 1, score=1.0
    )


def suspects(result: VerdictResult) -> list[Region]:
    said = next(one for one in result.opening_statements if one.agent == "spatial")
    boxes = said.evidence["regions"]
    assert isinstance(boxes, list)
    return [Region.model_validate(box) for box in boxes]


async def test_a_spliced_photograph_is_manipulated_where_it_was_and_always_the_same(deployed):
    made = spliced()
    first = await debated(deployed, "spliced", made.data)
    assert first.status is Status.COMPLETED
    assert first.final_verdict == Verdict.MANIPULATED
    assert first.errors == ()
    assert overlap(suspects(first), [box_of(made)]) > 0.5
    second = await debated(deployed, "spliced-again", made.data)
    assert second.model_copy(update={"debate_id": first.debate_id}) == same_order(first, second)


def same_order(one: VerdictResult, like: VerdictResult) -> VerdictResult:
    """Who speaks first in a round is up to the processes, and changes nothing else."""
    turns = {(turn.round, turn.agent): turn for turn in one.turns}
    declarations = tuple(
        mine.model_copy(
            update={"details": mine.details.model_copy(update={"basis": theirs.details.basis})}
        )
        for mine, theirs in zip(one.declarations, like.declarations, strict=True)
    )
    ordered = tuple(turns[turn.round, turn.agent] for turn in like.turns)
    return one.model_copy(update={"turns": ordered, "declarations": declarations})


async def test_an_untouched_photograph_is_not_accused(deployed):
    result = await debated(deployed, "untouched", untouched().data)
    assert result.status is Status.COMPLETED
    accused = result.final_verdict in {Verdict.MANIPULATED, Verdict.AI_GENERATED}
    assert not (accused and (result.confidence or 0) > ACCUSATION_LIMIT)


async def test_a_bad_image_ends_its_own_debate_with_the_reason_and_nothing_else(deployed):
    result = await debated(deployed, "bad", b"%PDF-1.7 hello")
    assert (result.status, result.termination_reason) == (
        Status.FAILED,
        TerminationReason.QUORUM_LOST,
    )
    assert {error.agent for error in result.errors} == set(ROSTER)
    assert all("not a JPEG, PNG or WEBP" in error.detail for error in result.errors)
    assert all(role.process.poll() is None for role in deployed.roles)
    after = await debated(deployed, "after", spliced().data)
    assert after.status is Status.COMPLETED


def test_bad_files_are_named_and_the_others_are_debated(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, (make, _) in BAD.items():
        (folder / f"{name}.png").write_bytes(make())
    (folder / "good.png").write_bytes(saved(textured(), "PNG"))
    (folder / "notes.txt").write_text("no image by its name")
    (folder / "broken.jpg").symlink_to(folder / "nowhere.jpg")
    (folder / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic")
    gone = tmp_path / "gone.jpg"
    out = tmp_path / "out"
    command = ["run", "forensic", folder, gone, "--json", "--out", out]
    done = subprocess.run(
        [sys.executable, "-m", "parley", *map(str, command)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    refused = {Path(line["image"]).stem: line["error"] for line in lines if "error" in line}
    assert refused.keys() == {*BAD, "broken", "gone", "phone"}
    for name, (_, sentence) in BAD.items():
        assert re.search(sentence, refused[name]), name
        assert f"parley: {folder / name}.png: {refused[name]}\n" in done.stderr
    assert "cannot be read" in refused["gone"]
    assert "cannot be read" in refused["broken"]
    assert "not a JPEG, PNG or WEBP" in refused["phone"]
    (debated,) = [line for line in lines if "error" not in line]
    assert (debated["image"], debated["status"]) == (str(folder / "good.png"), "completed")
    assert debated["report"] == str(out / "good.html")
    assert {path.name for path in out.iterdir()} == {
        "good.html", "good-regions.png", "good-noise.png", "good-error-level.png",
        "good-spectrum.png", "debates.jsonl",
    }  # fmt: skip
    [recorded] = read_archive(out / "debates.jsonl").debates
    assert recorded.ref.id == debated["debate_id"]
    assert audit(recorded.facts).holds

"""The rule brain: one decoding an image, one answer an ask, and a sentence where it cannot answer."""

import hashlib
import subprocess
import sys

import pytest

from parley.agents.brain import BrainFailure, Task
from parley.agents.forensic.brain import ForensicBrain, Recent
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.specimen import flat_field, photograph_by, spliced
from parley.agents.registry import AutoBrain
from parley.agents.script import SCRIPT_BLOB
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    OpeningRequest,
    Reply,
    RoundRequest,
    Standing,
    Statement,
    TerminationReason,
)
from parley.bus.subjects import DebateRef


class Store:
    """Blobs by their hash; counts how often each is fetched."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.fetched: list[str] = []

    def put(self, data: bytes) -> BlobRef:
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        self.blobs[ref.sha256] = data
        return ref

    async def fetch(self, ref: BlobRef) -> bytes:
        self.fetched.append(ref.sha256)
        return self.blobs[ref.sha256]

    def task(self, persona: str, request: Request, **blobs: bytes) -> Task:
        given = DebateInput(
            blobs={name.replace("_", "-"): self.put(data) for name, data in blobs.items()}
        )
        return Task(DebateRef("forensic", "d1"), persona, "opening", request, given, self.fetch)


@pytest.fixture(scope="module")
def brain() -> ForensicBrain:
    return ForensicBrain()


@pytest.fixture(scope="module")
def forged() -> bytes:
    return spliced().data


async def test_an_image_is_fetched_once_by_each_of_two_agents(forged: bytes) -> None:
    store = Store()
    for brain, persona in ((ForensicBrain(), "noise"), (ForensicBrain(), "watermark")):
        opening = await brain.speak(store.task(persona, OpeningRequest(), image=forged))
        again = await brain.speak(store.task(persona, OpeningRequest(), image=forged))
        assert opening == again
        assert isinstance(opening.content, Statement)
        own = Standing(agent=persona, **opening.content.model_dump(exclude={"kind"}))
        request = RoundRequest(round=1, standing=(own,), challenges=())
        reply = (await brain.speak(store.task(persona, request, image=forged))).content
        assert isinstance(reply, Reply)
    assert len(store.fetched) == 2


async def test_all_personas_of_one_process_share_one_decoding(
    brain: ForensicBrain, forged: bytes
) -> None:
    store = Store()
    for persona in ("frequency", "noise", "spatial", "watermark", "fatformer"):
        await brain.speak(store.task(persona, OpeningRequest(), image=forged))
    assert len(store.fetched) == 1


async def test_spatial_names_the_region_after_a_deadlock(
    brain: ForensicBrain, forged: bytes
) -> None:
    reason = TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    request = LocalizeRequest(reason=reason, standing=())
    found = (await brain.speak(Store().task("spatial", request, image=forged))).content
    assert isinstance(found, Localization)
    assert found.regions
    assert found.mask is None


async def test_who_missed_the_opening_joins_in_a_round(brain: ForensicBrain, forged: bytes) -> None:
    request = RoundRequest(round=1, standing=(), challenges=())
    said = (await brain.speak(Store().task("spatial", request, image=forged))).content
    assert isinstance(said, Reply)
    assert said.new_verdict == Verdict.MANIPULATED


async def test_references_identify_the_camera_and_unfit_ones_are_a_limitation(
    brain: ForensicBrain, forged: bytes
) -> None:
    shots = {f"ref_{shot}": flat_field(camera=1, shot=shot) for shot in range(1, 5)}
    task = Store().task("noise", OpeningRequest(), image=photograph_by(1), **shots)
    said = (await brain.speak(task)).content
    assert isinstance(said, Statement)
    assert "sensor fingerprint" in str(said.evidence["measurements"])
    unfit = Store().task("noise", OpeningRequest(), image=forged, ref_1=b"no image")
    said = (await brain.speak(unfit)).content
    assert isinstance(said, Statement)
    assert "reference photographs could not be used" in str(said.evidence["limitations"])


@pytest.mark.parametrize(
    ("persona", "blobs", "sentence"),
    [
        ("noise", {"image": b"%PDF-1.7"}, "not a JPEG, PNG or WEBP"),
        ("noise", {"image": b""}, "empty"),
        ("noise", {"image": b"\xff\xd8\xff" + bytes(20_000_000)}, "larger than 20 MB"),
        ("noise", {}, "carries no image"),
        ("stranger", {}, "stranger measures nothing"),
    ],
    ids=["pdf", "empty", "large", "none", "stranger"],
)
async def test_what_cannot_be_answered_is_said_and_not_tried_again(
    brain: ForensicBrain, persona: str, blobs: dict[str, bytes], sentence: str
) -> None:
    with pytest.raises(BrainFailure, match=sentence) as caught:
        await brain.speak(Store().task(persona, OpeningRequest(), **blobs))
    assert not caught.value.retry


async def test_a_debate_that_brings_its_script_is_played_and_any_other_is_measured(
    forged: bytes,
) -> None:
    brain = AutoBrain()
    script = b"rounds: [{noise: [authentic, .9]}]"
    task = Store().task("noise", OpeningRequest(), image=forged, **{SCRIPT_BLOB: script})
    played = await brain.speak(task)
    measured = await brain.speak(Store().task("noise", OpeningRequest(), image=forged))
    assert isinstance(played.content, Statement)
    assert isinstance(measured.content, Statement)
    assert (played.brain, played.content.confidence) == ("script", 0.9)
    assert (measured.brain, measured.content.verdict) == ("rule", Verdict.MANIPULATED)


def test_recent_things_stay_and_the_longest_unused_goes() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_processes_that_look_at_no_image_load_nothing_heavy() -> None:
    done = python(
        "import sys, parley.console.cli.commands.coordinator, parley.console.cli.commands.agent;"
        "import parley.console.cli.commands.run, parley.console.cli.commands.up;"
        "print({'numpy', 'cv2', 'PIL', 'c2pa'} & set(sys.modules))"
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.parametrize("missing", ["cv2", "PIL"])
def test_without_the_extra_there_is_one_clear_line(missing: str) -> None:
    done = python(
        f"import sys; sys.modules[{missing!r}] = None; from parley.console.cli.main import call;"
        "sys.exit(call(['run', 'forensic', 'photo.jpg']))"
    )
    needed = f"needs {missing}: pip install 'parley-debate[forensic]'"
    line = f"parley: looking at images {needed}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)

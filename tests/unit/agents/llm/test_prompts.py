"""What is sent: the parts that stay first, the parts that change last, the image if it can be seen."""

import base64
import json

import anyio.to_thread
import pytest

from parley.agents.llm import images as pictures
from parley.agents.llm.question import Abilities
from parley.agents.llm.verdicts.forms import Given, Quote
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.verdicts.content import LocalizeRequest
from parley.bus.errors import NotFound
from parley.configs.panels import panel_path, read_panel
from parley.console.runtime.inputs import Material
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.stand_ins import asks
from parley.prompts import instructions
from tests.model_server import model_server
from tests.unit.agents.llm.asking import BRIEF, OPENING, PNG, ROUND, brain, task
from tests.unit.console.calling import Call

LOCALIZE = LocalizeRequest(brief=BRIEF, reason="high_confidence_deadlock", standing=ROUND.standing)
FORENSIC = read_panel(panel_path("forensic"))[0].everybody


async def asked(request=OPENING, language="en", **options):
    abilities = Abilities(vision=options.pop("vision", False), language=language)
    return (await VerdictQuestions().ask(task(request, **options), abilities)).prompt


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("persona", FORENSIC)
def test_every_persona_of_the_forensic_panel_has_its_prompt(persona, language):
    text = instructions("forensic", persona, language)
    assert len(text) > 100
    assert any("가" <= letter <= "힣" for letter in text) == (language == "ko")


async def test_a_persona_without_a_prompt_is_a_generalist():
    stranger = task(persona="oracle")
    asked = (await VerdictQuestions().ask(stranger, Abilities())).prompt
    assert "You speak as `oracle`." in asked.system
    assert "no speciality" in asked.system


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_what_stays_the_same_comes_first(language):
    opening, round_ = await asked(language=language), await asked(ROUND, language)
    localize = await asked(LOCALIZE, language)
    assert opening.system == round_.system == localize.system
    material = opening.user.partition("[TASK]")[0]
    assert round_.user.startswith(material)
    assert localize.user.startswith(material)
    assert round_.user.index("[TASK]") < round_.user.index("a hard edge")
    called = {
        "en": "Challenged by: spatial. Round 1.",
        "ko": "이의를 제기한 사람: spatial. 1라운드.",
    }
    assert round_.user.rstrip().endswith(called[language])


async def test_a_model_with_eyes_is_shown_the_image():
    seen = await asked(image=PNG, vision=True)
    (uri,) = seen.images
    kind, _, data = uri.partition(";base64,")
    assert kind == "data:image/png"
    assert base64.b64decode(data) == PNG
    assert "cannot see" not in seen.user
    assert instructions("forensic", "seen", "en") in seen.user


async def test_a_model_without_eyes_reads_what_the_file_says():
    blind = await asked(image=PNG)
    assert blind.images == ()
    assert "dimensions: 640 x 480 pixels" in blind.user
    assert "You cannot see the image itself" in blind.user


async def test_an_image_that_is_none_is_not_sent():
    assert (await asked(image=b"MZ\x90 not an image", vision=True)).images == ()
    abilities = Abilities(vision=True, max_image_kib=1)
    large = (await VerdictQuestions().ask(task(image=PNG + bytes(2000)), abilities)).prompt
    assert large.images == ()


async def test_measurements_are_part_of_the_material():
    async def measure(given, language):
        assert language == "en"
        return f"{given.persona} measured {given.input.blobs['image'].size} bytes"

    questions = VerdictQuestions(measure)
    told = await questions.ask(task(image=PNG), Abilities())
    assert f"noise measured {len(PNG)} bytes" in told.prompt.user


async def test_a_debate_about_nothing_is_not_asked():
    with pytest.raises(NotFound, match="neither an image nor a text"):
        await asked(text=" ")


def test_a_file_is_described_by_its_own_words():
    jpeg = (
        b"\xff\xd8\xff\xe1\x00\x08Exif\x00\x00"
        b"\xff\xc0\x00\x11\x08\x01\xe0\x02\x80\x03" + b"\x00" * 12 + b"Adobe Photoshop 25.1 c2pa"
    )
    lines = pictures.described(jpeg).splitlines()
    assert "dimensions: 640 x 480 pixels" in lines
    assert "contains: EXIF metadata" in lines
    assert "contains: a C2PA provenance manifest" in lines
    assert any(line.startswith("names software: Adobe Photoshop 25.1") for line in lines)


@pytest.mark.parametrize("data", [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF1234WEBP"])
def test_a_broken_file_is_described_as_far_as_it_goes(data):
    assert f"file size: {len(data)} bytes" in pictures.described(data)


async def test_what_is_shown_is_what_is_sent(parley: Call, tmp_path, monkeypatch):
    """Word for word the body of the call."""
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    photo = tmp_path / "photo.png"
    photo.write_bytes(PNG)
    given = Material(text="photo.png", image=PNG)
    step, request = next(asks(wished_panel("forensic", Wishes()).panel, "noise", given, None))
    async with model_server() as server, brain(server.url) as opened:
        await opened.speak(task(request, step=step, text="photo.png", image=PNG))
    arguments = ("prompts", "show", "forensic/noise", "--input", photo, "--json")
    shown = await anyio.to_thread.run_sync(lambda: parley(*arguments))
    assert shown.code == 0
    assert json.loads(shown.out.splitlines()[-1]) == server.calls[-1]


def test_a_step_of_a_scripted_debate_is_shown(parley: Call, tmp_path):
    script = tmp_path / "debate.yaml"
    script.write_text(
        "rounds: [{frequency: [authentic, .9, 'a clean spectrum'], noise: [manipulated, .5],"
        " watermark: [uncertain, .2], spatial: [uncertain, .2]}]"
    )
    call = ("prompts", "show", "forensic/noise", "--input", "a photo", "--script", script)
    shown = parley(*call, "--step", "round-1")
    assert shown.code == 0
    assert "a clean spectrum" in shown.out
    assert "Challenged by: frequency. Round 1." in shown.out
    unknown = parley(*call, "--step", "round-9")
    assert (unknown.code, unknown.out) == (2, "")
    assert "unknown step 'round-9'" in unknown.err


@pytest.mark.parametrize(
    ("who", "complaint"),
    [("forensic/nosie", "did you mean 'noise'"), ("forensik/noise", "did you mean 'forensic'")],
)
def test_nobody_of_that_name(parley: Call, who, complaint):
    shown = parley("prompts", "show", who, "--input", "a photo")
    assert shown.code == 2
    assert complaint in shown.err


def test_a_source_that_is_quoted_twice_keeps_both_quotes():
    given = Given("The bill counts three crates. The note counts two.", saw_image=False)
    mistakes: list[str] = []
    kept = given.checked(
        [
            Quote(source="the bill", quote="three crates"),
            Quote(source="the bill", quote="counts two"),
        ],
        mistakes,
    )
    assert (kept, mistakes) == ({"the bill": "three crates", "the bill (2)": "counts two"}, [])

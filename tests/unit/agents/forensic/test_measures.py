"""What the skills measure reaches a model as text, and nothing else of them does."""

import io
import re
from importlib.resources import files

import numpy as np
import pytest
import yaml
from PIL import Image

from parley.agents.forensic.measures import SkillMeasures
from parley.agents.llm.question import Abilities, Unusable
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.bus.contracts.verdicts.content import Statement
from tests.unit.agents.llm.asking import PNG, ROUND, task


def photo():
    """Grain over a gradient, with a patch that has none."""
    chance = np.random.default_rng(7)
    ground = np.linspace(60, 190, 256)[None, :, None] + chance.normal(0, 6, (256, 256, 3))
    ground[90:150, 90:150] = 120
    data = io.BytesIO()
    Image.fromarray(ground.clip(0, 255).astype(np.uint8)).save(data, "PNG")
    return data.getvalue()


async def test_each_persona_reads_its_own_measurements():
    image = photo()
    questions = VerdictQuestions(SkillMeasures())
    told = {}
    for persona in ("noise", "spatial"):
        asked = await questions.ask(task(image=image, persona=persona), Abilities())
        told[persona] = asked.prompt.user
        assert '<untrusted from="your measurements"' in told[persona]
        assert "kind of file: lossless" in told[persona]
        assert "calibrated on labelled images" in told[persona]
    assert "suspect area" in told["spatial"]
    assert "suspect area" not in told["noise"]
    later = await questions.ask(task(ROUND, image=image), Abilities())
    material = told["noise"].partition("[TASK]")[0]
    assert later.prompt.user.startswith(material)


async def test_a_measurement_can_be_quoted():
    questions = VerdictQuestions(SkillMeasures())
    asked = await questions.ask(task(image=photo()), Abilities())
    quote = next(line for line in asked.prompt.user.splitlines() if line.startswith("kind of"))
    form = asked.form.model_validate(
        {
            "reasoning": "The grain is missing in one place.",
            "evidence": [
                {"source": "your measurements", "quote": quote},
                {"source": "your measurements", "quote": "noise floor: 99 percent"},
            ],
            "arguments": [],
            "verdict": "manipulated",
            "confidence": 0.7,
        }
    )
    with pytest.raises(Unusable, match="99 percent") as refused:
        asked.read(form)
    assert isinstance(refused.value.rest, Statement)
    assert refused.value.rest.evidence == {"your measurements": quote}


async def test_who_measures_nothing_is_told_nothing():
    measure = SkillMeasures()
    assert await measure(task(image=photo(), persona="oracle"), "en") == ""
    assert await measure(task(image=PNG), "en") == ""


@pytest.mark.parametrize("persona", ["frequency", "noise", "spatial", "watermark"])
async def test_a_korean_prompt_has_korean_measurements(persona):
    asked = await VerdictQuestions(SkillMeasures()).ask(
        task(image=photo(), persona=persona), Abilities(language="ko")
    )
    _, _, told = asked.prompt.user.partition('<untrusted from="당신의 측정값"')
    measured = told.partition("</untrusted")[0].splitlines()[1:]
    assert len(measured) > 3
    for line in measured:
        assert re.search("[가-힣]", line), line
        assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", line), line


def test_every_phrase_of_the_skills_has_a_korean_one():
    """Whatever a skill may say, not only what it says of one image."""
    korean = yaml.safe_load(files("parley.agents.forensic").joinpath("korean.yaml").read_text())
    keys = [re.escape(key).replace(re.escape("{}"), ".+") for key in korean]
    for skill in ("frequency", "noise", "spatial", "watermark"):
        source = files("parley.agents.forensic").joinpath(f"{skill}.py").read_text()
        for name in re.findall(r'(?:name|unit|meaning)=f?"([^"{]+)"', source):
            assert any(re.fullmatch(key, name) for key in keys), name

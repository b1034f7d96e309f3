"""What the skills measure reaches a model as text, and nothing else of them does."""

import io

import numpy as np
import pytest
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
    assert await measure(task(image=photo(), persona="oracle")) == ""
    assert await measure(task(image=PNG)) == ""

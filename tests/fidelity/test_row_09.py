"""Row 9: the prompt files are `debate_speaker.md` and `debate_judge.md` (001 §2.2, §2.3, §7; 002 §3)."""

import pytest

from parley.agents.llm.absa.prompts import base_instructions
from parley.bus.contracts.absa.debate import DebatePersona, SharedContext
from parley.bus.contracts.absa.requests import DebateTurnRequest, JudgeRequest
from parley.prompts import LANGUAGES, SHIPPED

EPM = DebatePersona(name="EPM", role="mapper", goal="evidence")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("protocol", ["v1", "v2"])
def test_the_files_carry_the_names_and_are_what_models_are_told(
    language: str, protocol: str
) -> None:
    folder = SHIPPED / "absa" / language / protocol
    shared = {"language_code": language, "protocol": protocol, "context": SharedContext(text="x")}
    turn = DebateTurnRequest.model_validate({**shared, "round": 1, "key": "epm", "persona": EPM})
    judge = JudgeRequest.model_validate(shared)
    for name, request, persona in (("speaker", turn, "epm"), ("judge", judge, "judge")):
        told = (folder / f"debate_{name}.md").read_text(encoding="utf-8").strip()
        assert base_instructions(request, persona).startswith(told)

"""
What the forensic skills measure in an image, as text that a model may quote.

The image is decoded and measured as for the rule brain (in a subprocess, once for each image), and
nothing here is a verdict: what the measurements are worth is for the persona to say.
"""

import structlog
from pydantic import ValidationError

from parley.agents.brain import Brain, BrainFailure, Task
from parley.agents.forensic.korean import Phrase, phrases_in
from parley.agents.forensic.offline import forensic_brain
from parley.bus.contracts.verdicts.content import OpeningRequest, Region, Statement
from parley.bus.errors import BadInput

log = structlog.get_logger()


class SkillMeasures:
    """Empty for a persona without a skill, an image that cannot be read, a missing extra."""

    def __init__(self) -> None:
        self._brain: Brain | None = None

    async def __call__(self, task: Task, language: str) -> str:
        try:
            if self._brain is None:
                self._brain = forensic_brain()
            opening = await self._brain.speak(task._replace(request=OpeningRequest()))
        except (BadInput, BrainFailure) as failure:
            log.info("nothing_measured", persona=task.persona, detail=str(failure))
            return ""
        assert isinstance(opening.content, Statement)
        return report(opening.content, phrases_in(language))


def report(opening: Statement, told: Phrase = str) -> str:
    """One finding on each line; empty if the statement rests on no measurement."""
    # The skills load numpy, and whoever gets here has loaded them.
    from parley.agents.forensic.argue import Case  # noqa: PLC0415
    from parley.agents.forensic.suited import MEANING  # noqa: PLC0415

    try:
        case = Case.model_validate(opening.evidence)
    except ValidationError:
        return ""
    lines = [told(f"kind of file: {case.state.value}")]
    if case.unsuited is not None:
        lines.append(told(f"not suited: {MEANING[case.unsuited]}"))
    for one in case.measurements:
        unit = f" {told(one.unit)}" if one.unit else ""
        where = f" {told(_place(one.where))}" if one.where is not None else ""
        lines.append(f"{told(one.name)}: {one.value:.4g}{unit}{where} ({told(one.meaning)})")
    if case.declared is not None:
        lines.append(told(f"the file declares: {case.declared} ({case.declared_because})"))
    if case.regions:
        lines.append(told(f"share of the area inside suspect regions: {case.suspect_share:.3f}"))
    lines += [
        told(
            f"suspect region: x={one.x} y={one.y} {one.width}x{one.height} pixels,"
            f" score {one.score:.2f}"
        )
        for one in case.regions
    ]
    belief = case.belief
    lines.append(
        told(
            "calibrated on labelled images, these measurements alone give: "
            f"authentic {belief.authentic:.2f}, manipulated {belief.manipulated:.2f}, "
            f"ai_generated {belief.ai_generated:.2f}; this skill was right in {case.trust:.2f} "
            "of the cases in such files"
        )
    )
    lines += [told(f"limitation: {one}") for one in case.limitations]
    return "\n".join(lines)


def _place(at: Region) -> str:
    return f"at x={at.x} y={at.y} {at.width}x{at.height} pixels"

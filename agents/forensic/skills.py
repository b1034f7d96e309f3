"""The four skills side by side."""

from collections.abc import Callable
from dataclasses import dataclass

from parley.agents.forensic.evidence import Findings, Skill
from parley.agents.forensic.frequency import analyse_frequency
from parley.agents.forensic.image import Picture
from parley.agents.forensic.noise import analyse_noise
from parley.agents.forensic.spatial import SpatialMaps, analyse_spatial
from parley.agents.forensic.watermark import analyse_watermark


def _spatial(picture: Picture) -> Findings:
    return analyse_spatial(picture).findings


ANALYSES: dict[Skill, Callable[[Picture], Findings]] = {
    Skill.FREQUENCY: analyse_frequency,
    Skill.NOISE: analyse_noise,
    Skill.WATERMARK: analyse_watermark,
    Skill.SPATIAL: _spatial,
}


@dataclass(frozen=True, slots=True)
class Analysis:
    findings: tuple[Findings, ...]
    maps: SpatialMaps


def analyse_all(picture: Picture) -> Analysis:
    """All four findings in roster order, and Spatial's maps for the pictures."""
    spatial = analyse_spatial(picture)
    return Analysis(
        (
            analyse_frequency(picture),
            analyse_noise(picture),
            analyse_watermark(picture),
            spatial.findings,
        ),
        spatial.maps,
    )

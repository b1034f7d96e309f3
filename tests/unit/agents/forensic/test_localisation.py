"""The project's own forgeries: found where they are, and the untouched photograph left in peace."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from parley.agents.forensic.argue import localize
from parley.agents.forensic.calibration import assess, shipped
from parley.agents.forensic.debate import debate_positions
from parley.agents.forensic.image import Decoder, ImageLimits, decoding
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.noise import analyse_noise, match_camera
from parley.agents.forensic.pictures import (
    error_level_png,
    noise_png,
    overlay_png,
    spectrum_png,
)
from parley.agents.forensic.regions import TILE
from parley.agents.forensic.signal import block_mean
from parley.agents.forensic.skills import analyse_all
from parley.agents.forensic.spatial import analyse_spatial
from parley.agents.forensic.specimen import (
    Made,
    copy_moved,
    flat_field,
    inpainted,
    photograph_by,
    spliced,
    untouched,
)

OVERLAP_FLOOR = 0.6
ACCUSATION_LIMIT = 0.7


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    with decoding(ImageLimits()) as running:
        yield running


def overlap_with_truth(made: Made, decoder: Decoder) -> float:
    found = analyse_spatial(decoder.decode(made.data)).maps.mask
    truth = block_mean(made.mask.astype(np.float32), TILE) > 0.5
    return float((truth & found).sum() / (truth | found).sum())


@pytest.mark.parametrize("make", [spliced, copy_moved, inpainted], ids=lambda f: f.__name__)
def test_forgeries_are_found_where_they_are(
    make: Callable[[], Made], decoder: Decoder, record_property: Callable[[str, object], None]
) -> None:
    made = make()
    overlap = overlap_with_truth(made, decoder)
    record_property(f"overlap_{made.name}", round(overlap, 3))
    assert overlap > OVERLAP_FLOOR


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_an_untouched_photograph_is_not_accused(seed: int, decoder: Decoder) -> None:
    analysis = analyse_all(decoder.decode(untouched(seed).data))
    panel = tuple(assess(findings, shipped()) for findings in analysis.findings)
    rounds = debate_positions(panel, shipped())
    for positions in (next(rounds), next(rounds), next(rounds)):
        accusations = [
            p.confidence
            for p in positions
            if p.verdict in {Verdict.MANIPULATED, Verdict.AI_GENERATED}
        ]
        assert max(accusations, default=0.0) <= ACCUSATION_LIMIT
    assert analysis.maps.mask.mean() < 0.02


def test_the_follow_up_names_the_place(decoder: Decoder) -> None:
    findings = analyse_spatial(decoder.decode(spliced().data)).findings
    answer = localize(assess(findings, shipped()))
    rows, columns = np.nonzero(spliced().mask)
    box = answer.regions[0]
    assert box.x <= columns.mean() <= box.x + box.width
    assert box.y <= rows.mean() <= box.y + box.height
    assert f"at ({box.x}, {box.y})" in answer.summary
    calm = analyse_spatial(decoder.decode(untouched().data)).findings
    assert localize(assess(calm, shipped())).regions == ()


def test_the_evidence_is_drawn(decoder: Decoder) -> None:
    picture = decoder.decode(spliced().data)
    result = analyse_spatial(picture)
    drawn = (
        spectrum_png(picture),
        noise_png(picture),
        error_level_png(picture),
        overlay_png(picture, result.maps, result.findings.regions),
    )
    sizes = [decoder.decode(png).rgb.shape for png in drawn]
    assert sizes == [(512, 512, 3), (540, 720, 3), (540, 720, 3), (540, 720, 3)]


def test_a_camera_is_known_by_its_fingerprint_and_no_other(decoder: Decoder) -> None:
    references = [decoder.decode(flat_field(camera=1, shot=shot)) for shot in range(8)]
    same, other = (decoder.decode(photograph_by(camera)) for camera in (1, 2))
    matched = match_camera(analyse_noise(same), same, references)
    missed = match_camera(analyse_noise(other), other, references)
    assert matched.rules_out == (Verdict.AI_GENERATED,)
    assert missed.rules_out == ()
    assert assess(matched, shipped()).belief.ai_generated < 0.2
    assert not any("reference" in text for text in matched.limitations)

"""The evaluation ends a debate and decides it as the coordinator would."""

import sys
from pathlib import Path

import pytest

from parley.agents.forensic.debate import Position
from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.console.batch.eval_forensic import RulesOf, main
from parley.console.runtime.plan import Wishes, wished_panel

AUTHENTIC, AI, UNCERTAIN = Verdict.AUTHENTIC, Verdict.AI_GENERATED, Verdict.UNCERTAIN
NAMES = ("frequency", "noise", "watermark", "spatial")


def row(*held: tuple[Verdict, float]) -> tuple[Position, ...]:
    return tuple(Position(name, *one) for name, one in zip(NAMES, held, strict=True))


def forensic(*sets: str) -> VerdictPanel:
    panel = wished_panel("forensic", Wishes(sets=sets)).panel
    assert isinstance(panel, VerdictPanel)
    return panel


def test_debates_end_by_the_panels_rules_and_trust() -> None:
    split = row((AI, 0.5), (AUTHENTIC, 0.52), (UNCERTAIN, 0.33), (UNCERTAIN, 0.4))
    rules = RulesOf(forensic())
    assert rules([split], {}) is None
    assert rules([split, split], {}) is None
    assert rules([split] * 3, {}) == (UNCERTAIN, 0.6)
    agreed = row(*[(AI, 0.8)] * 4)
    settled = rules([split, agreed], {})
    assert settled is not None
    assert settled[0] == AI
    assert settled[1] == pytest.approx(0.8)
    assert rules.reasons == {"stalemate": 1, "consensus_reached": 1}
    sets = ["trust.watermark=0", "trust.spatial=0"]
    assert RulesOf(forensic(*sets))([split] * 3, {}) == (AI, 0.6)


def test_without_images_there_is_nothing_to_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["eval_forensic", "--data", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "skipped, no labelled images" in capsys.readouterr().out

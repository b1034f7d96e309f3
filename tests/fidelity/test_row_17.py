"""Row 17: the experiment and conditions YAML of documents 001 §8, 002 §1, §2 and 004 §2, as they are."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.configs.experiments import read_experiment
from parley.configs.panels import parse_sets, resolve
from tests.unit.console.calling import parley
from tests.unit.console.test_on_a_server import Up

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"

# As the documents show them.
FILES = Path(__file__).with_name("experiments")
NO_DEBATE = (FILES / "001_abl_no_debate.yaml").read_text(encoding="utf-8")
NO_OVERRIDE = (FILES / "001_abl_no_debate_override.yaml").read_text(encoding="utf-8")
FIRST = (FILES / "001_first_generation.yaml").read_text(encoding="utf-8")
CONDITIONS = (FILES / "002_conditions_memory.yaml").read_text(encoding="utf-8")
PERSONAS = (FILES / "002_personas.yaml").read_text(encoding="utf-8")
OVERRIDE = (FILES / "004_debate_override.yaml").read_text(encoding="utf-8")


def panel_of(content: str, folder: Path, *sets: str, preset: str = "default") -> AbsaPanel:
    file = folder / "experiment.yaml"
    file.write_text(content, encoding="utf-8")
    found = read_experiment(file, "absa")
    panel = resolve("absa", preset, parse_sets(sets), experiment=found).panel
    assert isinstance(panel, AbsaPanel)
    return panel


def test_ablations(tmp_path: Path) -> None:
    without = panel_of(NO_DEBATE, tmp_path).params
    assert (without.debates, without.enable_debate_override) == (False, False)
    without = panel_of(NO_OVERRIDE, tmp_path).params
    assert (without.debates, without.enable_debate_override) == (True, False)


def test_the_speakers_of_the_first_document_say_which_protocol_it_is(tmp_path: Path) -> None:
    panel = panel_of(FIRST, tmp_path)
    assert panel.params.debate.protocol == "v1"
    assert (panel.params.rounds, panel.params.order) == (2, ("analyst", "critic", "empath"))
    assert panel.override.source == "yaml_override"


def test_max_rounds_of_a_conditions_file_is_metadata(tmp_path: Path) -> None:
    panel = panel_of(CONDITIONS, tmp_path)
    assert panel.params.rounds == 1
    assert panel.params.debate.injection.trigger == "deadlock_obs2of4"
    found = read_experiment(tmp_path / "experiment.yaml", "absa")
    assert "pipeline.debate.max_rounds" in found.warnings[0]


def test_a_conditions_file_may_hold_its_pipeline_under_global(tmp_path: Path) -> None:
    below = "global:\n" + "".join(f"  {line}\n" for line in CONDITIONS.strip().splitlines())
    memory = "episodic_memory:\n  condition: C2\n"
    panel = panel_of(below + memory, tmp_path)
    assert panel.params.memory_condition == "C2"
    assert panel.params.debate.enabled


def test_personas_and_thresholds_are_used_as_they_are(tmp_path: Path) -> None:
    assert panel_of(PERSONAS, tmp_path).debaters["tan"].role.endswith("Aspect Normalizer")
    override = panel_of(OVERRIDE, tmp_path).override
    assert (override.min_total, override.l3_conservative) == (1.6, False)
    assert override.source == "yaml_override"


def test_a_preset_and_a_flag_come_before_the_file(tmp_path: Path) -> None:
    panel = panel_of(FIRST, tmp_path, "debate.rounds=3", preset="abl_no_debate")
    assert not panel.params.debates
    assert panel.params.rounds == 3


def test_what_is_not_known_is_named_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "run_id: a\npipeline:\n  temperature: 0\n  enable_debat: true\n"
        "  debate: {ruonds: 2, rounds: many, max_rounds: 3}\n  debate_override: {min_totl: 1}\n"
    )
    done = parley("run", "absa", TEXT, "--experiment", "bad.yaml", cwd=tmp_path)
    assert done.code == 2
    warning, *mistakes = done.err.splitlines()
    assert all(one in warning for one in ("run_id", "pipeline.temperature", "max_rounds"))
    assert [line.split("unknown key ")[1].split(":")[0] for line in mistakes[:3]] == [
        "'enable_debat'",
        "'ruonds'",
        "'min_totl'",
    ]
    assert "debate.rounds: should be a valid integer" in mistakes[3]


def test_a_panel_of_another_protocol_knows_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CONDITIONS)
    done = parley("run", "forensic", "a.jpg", "--experiment", "e.yaml", cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "rounds", "speakers"),
    [
        pytest.param(NO_DEBATE, 0, 0, id="001-no-debate"),
        pytest.param(FIRST, 2, 3, id="001-first-generation"),
        pytest.param(CONDITIONS, 1, 3, id="002-conditions"),
        pytest.param(PERSONAS, 1, 3, id="002-personas"),
        pytest.param(OVERRIDE, 1, 3, id="004-override"),
    ],
)
def test_the_files_run_over_a_real_server(
    tmp_path: Path, content: str, rounds: int, speakers: int
) -> None:
    (tmp_path / "e.yaml").write_text(content, encoding="utf-8")
    done = parley("run", "absa", TEXT, "--experiment", "e.yaml", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    record = json.loads(done.out)
    played = (record.get("debate") or {}).get("rounds", [])
    assert len(played) == rounds
    assert all(len(one["turns"]) == speakers for one in played)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    system = Up(tmp_path_factory.mktemp("up"))
    yield system
    system.stop(signal.SIGTERM)


def test_submit_sends_the_panel_of_the_file(up: Up, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(OVERRIDE, encoding="utf-8")
    server = ("--nats", up.url)
    sent = parley("submit", "absa", TEXT, "--experiment", "e.yaml", *server, cwd=tmp_path)
    assert sent.code == 0, sent.err
    debate = sent.out.strip()
    assert parley("watch", debate, *server, cwd=tmp_path).code == 0
    assert parley("export", debate, "-o", "log.jsonl", *server, cwd=tmp_path).code == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    submitted = next(one["fact"] for one in lines if one.get("kind") == "fact")
    assert submitted["panel"]["override"]["l3_conservative"] is False


def test_a_batch_of_ablations_of_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(FIRST, encoding="utf-8")
    (tmp_path / "data.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    arguments = ("data.jsonl", "-o", "out", "--experiment", "e.yaml")
    done = parley("batch", "absa", *arguments, "--ablations", "abl_no_debate", cwd=tmp_path)
    assert done.code == 0, done.err
    rounds = {
        name: len((json.loads(line).get("debate") or {}).get("rounds", []))
        for name in ("default", "abl_no_debate")
        for line in (tmp_path / "out" / name / "outputs.jsonl").read_text().splitlines()
    }
    assert rounds == {"default": 2, "abl_no_debate": 0}

"""Fit the shipped weights: `python -m parley.agents.forensic.training.train --data DIR`."""

import argparse
import json
from importlib.resources import files
from pathlib import Path

from parley.agents.forensic.calibration import Calibration
from parley.agents.forensic.training.data import load_samples
from parley.agents.forensic.training.recipe import fit_calibration


def write_weights(calibration: Calibration, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for skill, model in calibration.skills.items():
        (folder / f"{skill.value}.json").write_text(model.model_dump_json() + "\n")
    rest = calibration.model_dump(mode="json", include={"marks", "prior", "weighing"})
    (folder / "debate.json").write_text(json.dumps(rest, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, nargs="+", help="folders with manifest.csv"
    )
    parser.add_argument("--cache", type=Path, help="file that keeps the features between runs")
    options = parser.parse_args()
    samples = load_samples(options.data, options.cache)
    write_weights(fit_calibration(samples), Path(str(files("parley.agents.forensic") / "weights")))


if __name__ == "__main__":
    main()

"""
Experiment and conditions files as the brief's own system writes them (`--experiment FILE`).

What such a file says is laid over the panel file and beneath the preset, so that an ablation of an
experiment stays one. What is not known is metadata and named in one warning; what is nearly a known
key is a mistake.
"""

from pathlib import Path

from parley.bus.errors import BadInput
from parley.configs.files import read_mapping
from parley.configs.panel_files import Experiment, panel_files_of
from parley.configs.panels import panel_path, read_panel


def read_experiment(path: Path, panel: str, panels_dir: Path | None = None) -> Experiment:
    """Raises BadInput for a file that is no YAML mapping, and for a panel that knows none."""
    protocol = read_panel(panel_path(panel, panels_dir))[0].protocol
    read = panel_files_of(protocol).experiment
    if read is None:
        raise BadInput(f"--experiment {path}: the panel {panel} ({protocol}) knows no such files")
    return read(read_mapping(path), str(path))

"""
Thresholds of the aspect-sentiment pipeline: from the parameters, a file, or the code, in this order.

A folder of a user's own may hold either file or both; what is not there is read from those shipped.
"""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from parley.bus.contracts.absa.params import (
    AbsaParams,
    OverrideEffective,
    OverrideThresholds,
    ThresholdProfiles,
    WarningThresholds,
)
from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput
from parley.configs.mistakes import explain

OVERRIDE_FILE = "debate_override_thresholds.json"
WARNING_FILE = "debate_thresholds.json"
ContractT = TypeVar("ContractT", bound=Contract)


def holding(name: str, folder: Path | None) -> Path | None:
    """The user's folder if it holds this file; None where the shipped one is read."""
    return folder if folder is not None and (folder / name).is_file() else None


def check_folder(folder: Path, origin: str) -> Path:
    """Raises BadInput for a folder that holds neither file."""
    if not any(holding(name, folder) for name in (OVERRIDE_FILE, WARNING_FILE)):
        raise BadInput(f"{origin}: {folder} holds neither {OVERRIDE_FILE} nor {WARNING_FILE}")
    return folder


def override_thresholds(params: AbsaParams, folder: Path | None = None) -> OverrideEffective:
    """The gate's thresholds for a run. `folder` holds the files; None means those shipped."""
    if params.debate_override is not None:
        return _effective(params.debate_override, "custom", "yaml_override")
    path = folder / OVERRIDE_FILE if folder is not None else None
    raw = _json(OVERRIDE_FILE, path)
    if raw is None:
        return OverrideEffective()
    if isinstance(raw, dict) and "profiles" in raw:
        found = _read(ThresholdProfiles, raw, path or OVERRIDE_FILE)
        return _profile(found, params.override_profile, path)
    flat = _read(OverrideThresholds, raw, path or OVERRIDE_FILE)
    return _effective(flat, "default", "json_default")


def warning_thresholds(folder: Path | None = None) -> WarningThresholds:
    path = folder / WARNING_FILE if folder is not None else None
    raw = _json(WARNING_FILE, path)
    return (
        WarningThresholds() if raw is None else _read(WarningThresholds, raw, path or WARNING_FILE)
    )


def _profile(found: ThresholdProfiles, wanted: str | None, path: Path | None) -> OverrideEffective:
    profile = wanted if wanted is not None else found.default_profile
    if profile not in found.profiles:
        where = f"{path}: " if path is not None else ""
        raise BadInput(
            f"{where}unknown override profile {profile!r} (known: {', '.join(found.profiles)})"
        )
    source = "json_profile" if wanted is not None else "json_default"
    return _effective(found.profiles[profile], profile, source)


def _effective(thresholds: OverrideThresholds, profile_id: str, source: str) -> OverrideEffective:
    return OverrideEffective.model_validate(
        {**thresholds.model_dump(), "profile_id": profile_id, "source": source}
    )


def _read(schema: type[ContractT], raw: object, origin: Path | str) -> ContractT:
    try:
        return schema.model_validate(raw)
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, schema, lambda _: str(origin)))) from error


def _json(name: str, path: Path | None) -> object:
    """Shipped files are read once, a user's own each time: they may be edited meanwhile."""
    if path is not None and not path.is_file():
        return None
    try:
        return json.loads(_shipped(name) if path is None else path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path or name}: not JSON: {error}") from error
    except OSError as error:
        raise BadInput(f"{path or name}: cannot be read: {error.strerror}") from error


@cache
def _shipped(name: str) -> bytes:
    return (files("parley.configs") / name).read_bytes()

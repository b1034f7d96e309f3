"""Thresholds of the aspect-sentiment pipeline: from the parameters, a file, or the code, in this order."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from parley.bus.contracts.absa.params import (
    AbsaParams,
    OverrideEffective,
    OverrideThresholds,
    ThresholdProfiles,
    WarningThresholds,
)
from parley.bus.errors import BadInput

OVERRIDE_FILE = "debate_override_thresholds.json"
WARNING_FILE = "debate_thresholds.json"

_ThresholdFile: TypeAdapter[ThresholdProfiles | OverrideThresholds] = TypeAdapter(
    ThresholdProfiles | OverrideThresholds
)


def override_thresholds(params: AbsaParams, folder: Path | None = None) -> OverrideEffective:
    """The gate's thresholds for a run. `folder` holds the files; None means those shipped."""
    if params.debate_override is not None:
        return _effective(params.debate_override, "custom", "yaml_override")
    content = _read(OVERRIDE_FILE, folder)
    if content is None:
        return OverrideEffective()
    try:
        found = _ThresholdFile.validate_json(content)
    except ValidationError as error:
        raise BadInput(f"{OVERRIDE_FILE}: {error.errors()[0]['msg']}") from error
    if isinstance(found, OverrideThresholds):
        return _effective(found, "default", "json_default")
    return _profile(found, params.override_profile)


def warning_thresholds(folder: Path | None = None) -> WarningThresholds:
    content = _read(WARNING_FILE, folder)
    if content is None:
        return WarningThresholds()
    try:
        return WarningThresholds.model_validate_json(content)
    except ValidationError as error:
        raise BadInput(f"{WARNING_FILE}: {error.errors()[0]['msg']}") from error


def _profile(found: ThresholdProfiles, wanted: str | None) -> OverrideEffective:
    profile = wanted if wanted is not None else found.default_profile
    if profile not in found.profiles:
        raise BadInput(f"unknown override profile {profile!r} (known: {', '.join(found.profiles)})")
    source = "json_profile" if wanted is not None else "json_default"
    return _effective(found.profiles[profile], profile, source)


def _effective(thresholds: OverrideThresholds, profile_id: str, source: str) -> OverrideEffective:
    return OverrideEffective.model_validate(
        {**thresholds.model_dump(), "profile_id": profile_id, "source": source}
    )


@cache
def _read(name: str, folder: Path | None) -> bytes | None:
    place = (folder if folder is not None else files("parley.configs")) / name
    return place.read_bytes() if place.is_file() else None

"""What of a recorded debate about aspects can be changed when it is decided anew."""

from collections.abc import Sequence

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import AbsaParams, OverrideThresholds
from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.absa_thresholds import override_thresholds
from parley.configs.panel_files import Override, Recorded, recorded_with

_SHORT = {
    "early_stop": "debate.early_stop",
    "rounds": "debate.rounds",
    "stalemate_threshold": "debate.stalemate_threshold",
    "high_confidence_threshold": "debate.high_confidence_threshold",
    **{name: f"debate_override.{name}" for name in OverrideThresholds.model_fields},
}
# Only what leaves the personas as they are: nobody can be asked any more.
_KEYS = (
    "enable_stage2",
    "enable_moderator",
    "enable_debate",
    "enable_debate_override",
    "adopt_gate",
    "moderator_respects_adoption",
    "polarity_repair",
    "drop_tuple_hint_mode",
    "memory_contradiction_gate",
    "override_profile",
    *_SHORT.values(),
    *_SHORT,
)


def _changed(panel: Panel, overrides: Sequence[Override], _preset: str | None) -> Panel:
    assert isinstance(panel, AbsaPanel)
    own = [Override(_SHORT.get(one.key, one.key), one.value, one.origin) for one in overrides]
    params = panel.params.model_dump()
    given: dict[str, object] = {}
    for one in own:
        head, _, leaf = one.key.rpartition(".")
        if head == "debate_override":
            given[leaf] = one.value
        elif head:
            params[head] = {**params[head], leaf: one.value}
        else:
            params[one.key] = one.value
    fields = set(OverrideThresholds.model_fields)
    mistakes: list[str] = []
    try:
        there = panel.override.model_dump(include=fields)
        limits = recorded_with(OverrideThresholds, {**there, **given}, own)
    except BadInput as error:
        mistakes, limits = [str(error)], OverrideThresholds()
    changed = recorded_with(AbsaParams, params, own, *mistakes)
    override = panel.override
    if any(one.key == "override_profile" for one in own):
        override = override_thresholds(changed.model_copy(update={"debate_override": None}))
    if given:
        set_ones = limits.model_dump(include=set(given))
        laid_over = OverrideThresholds(**{**override.model_dump(include=fields), **set_ones})
        override = override_thresholds(changed.model_copy(update={"debate_override": laid_over}))
    return panel.model_copy(update={"params": changed, "override": override})


RECORDED = Recorded(lambda _panel: _KEYS, _changed)

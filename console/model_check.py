"""What `parley doctor` says of the models that the settings name."""

from collections.abc import Mapping, Sequence

from parley.bus.errors import BadInput, ParleyError
from parley.bus.extras import extra
from parley.configs.settings import Settings
from parley.console.examination import Finding, State


async def model_findings(settings: Settings, rosters: Mapping[str, Sequence[str]]) -> list[Finding]:
    """One for each model; none where none is named."""
    seats = [(panel, persona) for panel, roster in rosters.items() for persona in roster]
    named = [seat for seat in seats if settings.model.options_for(*seat).name is not None]
    if not named:
        return []
    try:
        with extra("model", "asking a model"):
            from parley.agents.model.acquaintance import look_up  # noqa: PLC0415 - a large package
        choices = dict.fromkeys(settings.model.choice_for(*seat) for seat in named)
    except BadInput as error:
        return [Finding("model", State.WRONG, str(error))]
    found = []
    for choice in choices:
        try:
            found.append(Finding("model", State.OK, await look_up(choice)))
        except ParleyError as error:
            found.append(Finding("model", State.WRONG, str(error)))
    return found

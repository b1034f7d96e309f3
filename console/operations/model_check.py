"""What `parley doctor` says of the models that the settings name."""

from collections.abc import Mapping, Sequence

from parley.bus.errors import BadInput, ParleyError
from parley.bus.extras import extra
from parley.configs.settings import Settings
from parley.console.operations.doctor import Finding, State
from parley.console.runtime.seat_settings import unknown_seats


async def model_findings(settings: Settings, rosters: Mapping[str, Sequence[str]]) -> list[Finding]:
    """One for each model, and for each seat that is none; nothing where no model is named."""
    unknown = unknown_seats(settings.model, settings.panels)
    found = [Finding("model", State.NOTE, line) for line in unknown]
    seats = [(panel, persona) for panel, roster in rosters.items() for persona in roster]
    named = [seat for seat in seats if settings.model.options_for(*seat).name is not None]
    if not named:
        return found
    try:
        with extra("model", "asking a model"):
            from parley.agents.llm.endpoint_probe import look_up  # noqa: PLC0415 - a large package
        choices = dict.fromkeys(settings.model.choice_for(*seat) for seat in named)
    except BadInput as error:
        return [*found, Finding("model", State.WRONG, str(error))]
    for choice in choices:
        try:
            known = await look_up(choice)
            state = State.OK if known.sure else State.UNKNOWN
            found.append(Finding("model", state, known.text))
        except ParleyError as error:
            found.append(Finding("model", State.WRONG, str(error)))
    return found

import json
from typing import Annotated

import typer

from parley.bus.contracts.facts import Submitted
from parley.bus.errors import NotFound
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.connection import new_id
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, DebateId, Id, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.follow import follow_to_the_end
from parley.console.runtime.submit import check_id
from parley.console.runtime.system import join, run_async
from parley.console.terminal.views import view_for

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley rerun 01jd7w2k9xqz", "parley rerun 9xqz --wait"))
def rerun(
    debate: DebateId,
    given_id: Id = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the new debate to its end.")] = False,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Debate the same question again, on the same panel.

    Prints the id of the new debate; the label `rerun_of` names the old one.
    """
    keep_quiet()
    check_id(given_id, 1)
    settings = load(config, {"nats.url": nats})
    ref = run_async(
        lambda: _rerun(settings, debate, given_id or new_id(), wait=wait and not as_json)
    )
    print_line(json.dumps({"debate_id": ref.id, "panel": ref.panel}) if as_json else ref.id)


async def _rerun(settings: Settings, debate: str, name: str, *, wait: bool) -> DebateRef:
    async with join(settings) as client:
        old = await client.debate(debate)
        submitted = next((one for one in await old.facts() if isinstance(one, Submitted)), None)
        if submitted is None:
            raise NotFound(f"the submission of {debate!r} is gone")
        labels = {**submitted.input.labels, "rerun_of": old.id}
        about = submitted.input.model_copy(update={"labels": labels})
        after = await client.reading.position()
        ref = (await client.submit(submitted.panel, about, id=name)).ref
        if wait:
            with view_for(several=False) as view:
                await follow_to_the_end(client, [ref], view, after=after)
        return ref

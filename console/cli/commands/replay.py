import typer

from parley.configs.settings import load
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, IdOrFile, Json, Nats, example
from parley.console.cli.output import model_line, print_line
from parley.console.runtime.sources import logs_of
from parley.console.terminal.views import Lines
from parley.coordinator.core.reducer import walk
from parley.coordinator.core.results import result_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley replay 01jd7w2k9xqz", "parley replay debates.jsonl --json"))
def replay(
    source: IdOrFile, nats: Nats = None, config: Config = None, as_json: Json = False
) -> None:
    """
    Fold a debate's log again, fact by fact.

    The result is the one that the debate had, because it is a function of its log alone.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    view = Lines(named=False)
    for log in logs_of(settings, source):
        warn(log.broken)
        if not as_json:
            print_line(f"debate {log.ref}")
        for fact, before, after, refused in walk(log.facts):
            if refused is not None:
                warn([f"{fact.type} is left out: {refused}"])
            elif not as_json:
                view.show(log.ref, fact, before, after)
        if as_json:
            print_line(model_line(result_of(log.ref, log.state)))

import typer

from parley.bus.errors import ProtocolError
from parley.configs.settings import load
from parley.console.archive.logs import logs_of
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, IdOrFile, Json, Nats, example
from parley.console.cli.output import model_line, print_line
from parley.console.transcript.words import tell
from parley.coordinator.core.reducer import apply, pass_over
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState

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
    for log in logs_of(settings, source):
        warn(log.broken)
        state = DebateState()
        if not as_json:
            print_line(f"debate {log.ref}")
        for fact in log.facts:
            try:
                after = apply(state, fact)
            except ProtocolError as error:
                warn([f"{fact.type} is left out: {error}"])
                state = pass_over(state)
                continue
            if not as_json:
                for line in tell(fact, state, after):
                    print_line(line)
            state = after
        if as_json:
            print_line(model_line(result_of(log.ref, state)))

import typer

from parley.configs.settings import load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, DebateId, Json, Nats, example
from parley.console.cli.output import model_line, print_line
from parley.console.runtime.sources import read_log
from parley.console.runtime.system import run_async
from parley.console.terminal.live import print_board
from parley.console.terminal.writing import say
from parley.console.transcript.costs import tell_costs
from parley.console.transcript.words import tell_course
from parley.console.transcript.worth import tell_worth
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley show 01jd7w2k9xqz", "parley show 01jd7w2k9xqz --json"))
def show(debate: DebateId, nats: Nats = None, config: Config = None, as_json: Json = False) -> None:
    """
    Show a debate as it stands.

    The question, every declaration, who could not answer and why, how it ended, what it cost.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    log = run_async(lambda: read_log(settings, debate))
    state = fold(log.facts)
    if as_json:
        print_line(model_line(result_of(log.ref, state)))
        return
    print_board(log.ref, state)
    for line in (*tell_course(log.facts), *tell_worth(state), *tell_costs(state)):
        say(line)

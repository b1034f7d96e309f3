import anyio
import typer

from parley.configs.settings import Settings, load
from parley.console.cli import logs
from parley.console.cli.options import Config, Nats, example
from parley.console.runtime.notify import Notifier, check
from parley.console.runtime.signals import serve
from parley.console.runtime.system import join, run_async

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley notify --nats nats://127.0.0.1:4222"))
def notify(nats: Nats = None, config: Config = None) -> None:
    """
    Tell of people who are awaited, and of debates that closed.

    A webhook, a command or both (notify: in the settings) are told at least once, whatever is
    restarted; the first start tells of everybody who is awaited then. Any number of these processes
    can run at once.
    """
    settings = load(config, {"nats.url": nats})
    check(settings.notify)
    logs.configure(settings.log.level, settings.log.format)
    raise typer.Exit(run_async(lambda: serve(lambda stop: _notify(settings, stop))))


async def _notify(settings: Settings, stop: anyio.Event) -> None:
    async with join(settings, create=True) as client:
        await Notifier(client.journal, settings).run(stop)

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from parley.agents.absa.training.corpora import GoldSentence, read_split
from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.client import host
from parley.configs.settings import Settings, load
from parley.console.batch.pure import Speed, Stopwatch, cores, played, sentences_per_s
from parley.console.batch.runner import Job, debate_all
from parley.console.batch.scores import Ledger, Score, Tuple, lines, placed
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Json, PanelName, ProtocolName, Sets, example, with_protocol
from parley.console.cli.output import print_line
from parley.console.runtime.brains import AUTO, BrainChoice
from parley.console.runtime.host import at_work
from parley.console.runtime.inputs import Material
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.submit import panel_for
from parley.console.runtime.system import run_async
from parley.console.terminal.progress import progress_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.sample import Reading

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "python -m parley.console.batch.eval_absa absa --data ../shared/data/mams",
        "python -m parley.console.batch.eval_absa absa --split val --limit 100",
    )
)
def evaluate(  # noqa: PLR0913, PLR0917  one argument an option
    panel: PanelName,
    data: Annotated[
        Path,
        typer.Option("--data", metavar="DIR", help="The folder with train.xml, val.xml, test.xml."),
    ] = Path("../shared/data/mams"),
    split: Annotated[str, typer.Option("--split", help="train, val or test.")] = "test",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="So many sentences.")] = None,
    over_bus: Annotated[
        int, typer.Option("--over-bus", min=0, help="How many of them also over a server.")
    ] = 200,
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, help="Of the pure pipeline; all cores if not given."),
    ] = None,
    protocol: ProtocolName = None,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """
    Measure the aspect-sentiment pipeline on MAMS.

    MAMS is 5,297 sentences of restaurant reviews, each aspect and its sentiment marked by people
    (MAMS-ATSA, Apache-2.0). It does not come with Parley: fetch train.xml, val.xml and test.xml
    from data/MAMS-ATSA/raw of https://github.com/siat-nlp/MAMS-for-ABSA.

    Stage 1 alone beside the result after the debate, by exact place and polarity, and how many
    sentences a second go through the rules alone, in one process and in several, and over a
    private server.
    """
    keep_quiet()
    if not (data / f"{split}.xml").is_file():
        print_line(
            f"skipped: no {split}.xml in {data}; parley eval --help says where it comes from"
        )
        raise typer.Exit
    chosen = wished_panel(panel, Wishes(sets=with_protocol(sets, protocol))).panel
    if not isinstance(chosen, AbsaPanel):
        raise BadInput(f"{panel}: only panels of the protocol absa can be measured here")
    sentences = read_split(data, split)[:limit]
    before, after, ledger, pure = _measure(chosen, sentences)
    several = processes or cores()
    pooled = _pooled(chosen, sentences, several) if several > 1 and sentences else None
    settings = load()
    bus = run_async(lambda: _over_bus(settings, chosen, sentences[:over_bus])) if over_bus else None
    if as_json:
        print_line(
            json.dumps(
                {
                    "sentences": len(sentences),
                    "stage1": asdict(before),
                    "after_debate": asdict(after),
                    "ledger": asdict(ledger),
                    "sentences_per_s": {**pure._asdict(), "pooled": pooled, "over_bus": bus},
                    "processes": several,
                }
            )
        )
        return
    for line in (*lines("Stage 1 alone", before), *lines("after the debate", after)):
        print_line(line)
    for line in _ledger(ledger, len(sentences)):
        print_line(line)
    also = f", {pooled:.0f} in {several}" if pooled is not None else ""
    also += f"; over the bus: {bus:.0f}" if bus is not None else ""
    print_line(
        f"sentences/s in the pure pipeline: {pure.by_clock:.0f} in one process"
        f" ({pure.by_cpu:.0f} for each second of its CPU){also}"
    )


def _ledger(ledger: Ledger, sentences: int) -> list[str]:
    changed = f"the debate changed {ledger.sentences_changed} of {sentences} sentences"
    right = f"right tuples: {ledger.right_gained} gained, {ledger.right_lost} lost"
    wrong = f"wrong tuples: {ledger.wrong_removed} removed, {ledger.wrong_added} added"
    lines = [
        f"{changed}: {ledger.fixed} errors fixed, {ledger.broken} made",
        f"  {right}; {wrong}",
    ]
    if ledger.fixed <= ledger.broken:
        lines.append("  the debate does NOT fix more than it breaks here")
    elif ledger.right_gained <= ledger.right_lost:
        lines.append("  of right tuples alone it loses more than it gains: it helps by pruning")
    return lines


def _measure(panel: AbsaPanel, sentences: list[GoldSentence]) -> tuple[Score, Score, Ledger, Speed]:
    before, after, ledger = Score(), Score(), Ledger()
    watch = Stopwatch()
    states = played(panel, [one.text for one in sentences], watch)
    with progress_of("pure pipeline", len(sentences)) as step:
        for sentence, state in zip(sentences, states, strict=True):
            there = {(one.start, one.end, one.polarity) for one in sentence.terms}
            first, last = _found(sentence.text, state)
            before.add(first, there)
            after.add(last, there)
            ledger.add(first, last, there)
            step()
    return before, after, ledger, watch.speed


def _pooled(panel: AbsaPanel, sentences: list[GoldSentence], processes: int) -> float:
    return sentences_per_s(panel, [one.text for one in sentences], processes)


def _found(text: str, state: DebateState) -> tuple[set[Tuple], set[Tuple]]:
    if state.finding(Overridden) is None:
        return set(), set()
    final = state.found(Overridden).outcome.adoption.final_sentiments
    return placed(text, Reading(state).stage1.sentiments), placed(text, final)


async def _over_bus(settings: Settings, panel: AbsaPanel, sentences: list[GoldSentence]) -> float:
    def prepare(index: int) -> tuple[Panel, Material]:
        text = sentences[index].text
        return panel_for(panel, text, None), Material(text=text)

    jobs = Job(panel.name, range(len(sentences)), prepare)
    async with (
        host(settings, warn=warn, private=True) as client,
        at_work(client, BrainChoice(AUTO), (panel,)),
    ):
        with progress_of("over the bus", len(sentences)) as step:
            began = time.perf_counter()
            await debate_all(client, jobs, lambda _index, _debated: step())
            return len(sentences) / (time.perf_counter() - began)


if __name__ == "__main__":
    app()

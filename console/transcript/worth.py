"""What a debate was worth, in words: what would have been said without it, and what it cost."""

from collections.abc import Iterator

from parley.console.transcript.text import one_line
from parley.coordinator.core.ledger import Cost, ledger_of
from parley.coordinator.core.state import DebateState, Phase


def tell_worth(state: DebateState) -> Iterator[str]:
    """Nothing before the debate is closed, or where its protocol knows no opening."""
    if state.phase is not Phase.CLOSED:
        return
    ledger = ledger_of(state)
    if ledger.vote is None or ledger.decided is None:
        return
    same = "the same" if not ledger.changed else one_line(ledger.vote)
    weighted = _weighted(ledger.confidence_weighted, ledger.vote)
    yield f"without the debate: {same}{weighted}"
    for name, answer in ledger.alone.items():
        trusted = ", whom the panel trusts most" if name == ledger.most_trusted else ""
        yield f"  {name} alone{trusted}: {one_line(answer)}"
    for flip in ledger.flips:
        yield (
            f"  {flip.persona} changed in round {flip.round}:"
            f" {one_line(flip.before)} -> {one_line(flip.after)}"
        )
    yield f"the opening took {cost_in_words(ledger.opening)}"
    yield f"the rest took {cost_in_words(ledger.debate)}"


def _weighted(weighted: str | None, vote: str) -> str:
    if weighted is None:
        return ""
    return ", weighted by confidence too" if weighted == vote else f", {weighted} by confidence"


def cost_in_words(cost: Cost) -> str:
    turns = "1 turn" if cost.turns == 1 else f"{cost.turns} turns"
    if not cost.calls:
        return f"{turns}, {cost.seconds:.1f} s"
    money = f", cost {cost.cost:.4g}" if cost.cost else ""
    return f"{turns}, {cost.calls} model calls, {cost.tokens} tokens, {cost.seconds:.1f} s{money}"

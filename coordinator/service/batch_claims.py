"""
What the asks of a debate can cost of a budget that it shares with others.

No log tells how often a persona was asked in all of them. So each debate's coordinator notes it
beside the accounts, where no persona may write, before it asks.
"""

from pydantic import ValidationError

from parley.bus.contracts.budget import BatchClaims
from parley.bus.contracts.facts import Asked
from parley.bus.errors import Conflict
from parley.bus.port import Guard, Record, Register
from parley.bus.subjects import DebateRef, batch_claims


async def note_claims(register: Register, ref: DebateRef, ask: Asked) -> None:
    """Raises BusError. Another replica that knows more of the debate is not contradicted."""
    allowance = ask.budget
    assert allowance is not None
    assert allowance.batch is not None
    key = batch_claims(ref, allowance.batch.name)
    while True:
        known = await register.newest(key)
        before = _read(known)
        if before.decided_at >= ask.decided_at:
            return
        claims = BatchClaims(
            decided_at=ask.decided_at,
            since_ns=before.since_ns or (known.time_ns if known is not None else 0),
            claims=allowance.shared_by_persona(),
        )
        data = claims.model_dump_json(exclude_defaults=True).encode()
        try:
            await register.replace(key, data, Guard(key, known.sequence if known else 0))
        except Conflict:
            continue
        return


def _read(known: Record | None) -> BatchClaims:
    try:
        return BatchClaims.model_validate_json(known.data) if known is not None else BatchClaims()
    except ValidationError:
        return BatchClaims()

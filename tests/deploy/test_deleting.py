"""Deleting for good is the operator's: what submits and what serves the page are refused."""

import pytest

from parley.bus.contracts.facts import Deleted
from parley.bus.errors import Denied
from tests.archiving import archive
from tests.bus.worlds import NatsServer
from tests.clients import client_of
from tests.debates import STALEMATE, panel, play
from tests.deploy.guarded import (
    COORDINATOR,
    SUBMITTER,
    VIEWER,
    WEB,
    everything_stored,
    journal_of,
    new_debate,
    somebody,
)
from tests.web.site import write

FACTS, _ = play(panel(), STALEMATE)


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("login", [SUBMITTER, WEB, VIEWER])
async def test_a_login_that_may_not_delete_leaves_no_trace(
    server: NatsServer, login: str, archived: bool
) -> None:
    ref = new_debate()
    async with journal_of(server, COORDINATOR) as core, somebody(server, COORDINATOR) as operator:
        await write(core, ref, FACTS)
        if archived:
            await archive(core, ref)
        before = await everything_stored(operator)
        async with journal_of(server, login) as journal, client_of(journal) as client:
            with pytest.raises(Denied):
                await client.at(ref).delete("not mine to do")
        assert await everything_stored(operator) == before
        # The same call by whoever may.
        async with client_of(core) as client:
            await client.at(ref).delete("the operator's")
        summary = await core.archive.summary(ref)
        assert summary is not None
        assert summary.status == Deleted.model_fields["type"].default

"""Parley as an agent of A2A and as its client, with the official SDK on the other side."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import new_raw_part, new_text_message, new_text_part
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from parley.bus.contracts.facts import Failure, TurnTaken
from parley.bus.errors import BadInput
from parley.console.runtime.brains import parse_brains
from parley.testing import world
from tests.bus.worlds import until
from tests.library.test_adapters import FILLED, panel_with
from tests.standards.conftest import OPERATE, READ, TEXT, TOKENS, Site
from tests.standards.hook import hook
from tests.standards.remote_agent import in_data, in_words, remote_agent

OPEN = {"a2a": True}
CARD = "/.well-known/agent-card.json"
RPC = {"jsonrpc": "2.0", "id": 1}
VERSION = {"A2A-Version": "1.0"}


@asynccontextmanager
async def agent(
    url: str, token: str | None = None, *, streaming: bool = True
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        yield await create_client(url, ClientConfig(httpx_client=http, streaming=streaming))


def asking(
    *parts: Part, configuration: SendMessageConfiguration | None = None, **metadata: Any
) -> SendMessageRequest:
    message = Message(message_id="m1", role=Role.ROLE_USER, parts=parts, metadata=metadata or None)
    return SendMessageRequest(message=message, configuration=configuration)


def about(text: str = TEXT, panel: str = "absa") -> SendMessageRequest:
    return asking(new_text_part(text), panel=panel)


async def answers(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    return [one async for one in client.send_message(request)]


async def begun(client: Client, panel: str = "review") -> Task:
    """A debate that nobody answers for here."""
    request = asking(
        new_text_part("a change"),
        configuration=SendMessageConfiguration(return_immediately=True),
        panel=panel,
    )
    (answer,) = await answers(client, request)
    return answer.task


def told(task: Task) -> dict[str, Any]:
    (result,) = task.artifacts
    found: dict[str, Any] = MessageToDict(result.parts[0].data)
    return found


async def test_the_card_shows_a_skill_for_each_panel(site: Site) -> None:
    async with site(OPEN) as (url, _), httpx.AsyncClient() as http:
        card = (await http.get(url + CARD)).json()
    skills = {one["id"]: one for one in card["skills"]}
    assert {"absa", "forensic", "review", "deliberation"} <= set(skills)
    assert "image/png" in skills["forensic"]["inputModes"]
    assert card["capabilities"]["streaming"]
    assert card["capabilities"]["pushNotifications"]
    assert not card["capabilities"]["extendedAgentCard"]
    (way,) = card["supportedInterfaces"]
    assert way == {"url": f"{url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}


async def test_a_debate_is_a_task_that_is_streamed(site: Site) -> None:
    async with site(OPEN) as (url, here), agent(url) as client:
        heard = await answers(client, about())
        task = heard[0].task
        facts = len(await (await here.debate(task.id)).facts())
        again = await client.get_task(GetTaskRequest(id=task.id))
        listed = await client.list_tasks(ListTasksRequest(context_id=task.id))
        page = await client.list_tasks(ListTasksRequest(page_size=1))
        with pytest.raises(UnsupportedOperationError, match="is over"):
            _ = [one async for one in client.subscribe(SubscribeToTaskRequest(id=task.id))]
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
    updates = [one.status_update for one in heard if one.HasField("status_update")]
    ordinals = [int(one.metadata["ordinal"]) for one in updates]
    assert ordinals == list(range(int(task.metadata["facts"]), facts))
    assert {one.status.state for one in updates[:-1]} == {TaskState.TASK_STATE_WORKING}
    assert updates[-1].status.state == TaskState.TASK_STATE_COMPLETED
    (artifact,) = [one.artifact_update for one in heard if one.HasField("artifact_update")]
    assert artifact.artifact == again.artifacts[0]
    assert told(again)["status"] == "completed"
    assert told(again)["detail"]
    assert [one.id for one in listed.tasks] == [task.id]
    assert len(page.tasks) == 1
    assert page.next_page_token == ("1" if page.total_size > 1 else "")


async def test_who_does_not_stream_gets_the_task_at_its_end(site: Site) -> None:
    async with site(OPEN) as (url, _), agent(url, streaming=False) as client:
        (answer,) = await answers(client, about())
    assert answer.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert told(answer.task)["status"] == "completed"


async def test_a_task_is_followed_and_cancelled(site: Site) -> None:
    heard: list[StreamResponse] = []
    follows = anyio.Event()
    async with site(OPEN) as (url, _), agent(url, streaming=False) as client, agent(url) as other:
        task = await begun(client)

        async def follow() -> None:
            async for one in other.subscribe(SubscribeToTaskRequest(id=task.id)):
                heard.append(one)
                follows.set()

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await follows.wait()
            ended = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert task.status.state in {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
    assert ended.status.state == TaskState.TASK_STATE_CANCELED
    assert heard[0].task.id == task.id
    assert heard[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED


@pytest.mark.parametrize(
    ("request_", "error", "why"),
    [
        (asking(new_text_part(TEXT)), InvalidParamsError, "panel"),
        (about(panel="no-such"), InvalidParamsError, "no-such"),
        (about(text=" "), InvalidParamsError, "text"),
        (asking(new_text_part(TEXT), panel="absa", txt="x"), InvalidParamsError, "txt"),
        (asking(new_raw_part(b"x"), panel="absa"), InvalidParamsError, "reads a text"),
        (asking(new_raw_part(b"x"), panel="forensic"), InvalidParamsError, "JPEG, PNG or WEBP"),
        (asking(Part(url="http://127.0.0.1/x"), panel="absa"), A2AError, "a part of kind url"),
    ],
    ids=["no-panel", "unknown", "empty", "field", "raw", "no-image", "url"],
)
async def test_a_bad_message_is_the_protocols_error(
    site: Site, request_: SendMessageRequest, error: type[A2AError], why: str
) -> None:
    async with site(OPEN) as (url, _), agent(url, streaming=False) as client:
        with pytest.raises(error, match=why):
            await answers(client, request_)


async def test_tasks_that_are_not_there_and_messages_that_have_no_place(site: Site) -> None:
    async with site(OPEN) as (url, _), agent(url, streaming=False) as client:
        task = await begun(client)
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="no-such-debate"))
        follow_up = new_text_message("And now?", role=Role.ROLE_USER, task_id=task.id)
        with pytest.raises(UnsupportedOperationError, match="no further message"):
            await answers(client, SendMessageRequest(message=follow_up))
        elsewhere = new_text_message("And now?", role=Role.ROLE_USER, context_id="c1")
        with pytest.raises(UnsupportedOperationError, match="contextId"):
            await answers(client, SendMessageRequest(message=elsewhere))
        await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_the_tokens_of_the_page_say_who_may_what(site: Site) -> None:
    async with site({**OPEN, **TOKENS}) as (url, _), httpx.AsyncClient() as http:
        card = (await http.get(url + CARD)).json()
        stranger = await http.post(f"{url}/a2a", json={**RPC, "method": "ListTasks"})
        sent = MessageToDict(about())
        reader = await http.post(
            f"{url}/a2a",
            json={**RPC, "method": "SendMessage", "params": sent},
            headers={"Authorization": f"Bearer {READ}", **VERSION},
        )
        async with agent(url, READ) as looking:
            whole = await looking.get_extended_agent_card(GetExtendedAgentCardRequest())
            listed = await looking.list_tasks(ListTasksRequest())
        async with agent(url, OPERATE, streaming=False) as acting:
            (answer,) = await answers(acting, about())
    assert card.get("skills", []) == []
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert stranger.status_code == 401
    assert stranger.headers["www-authenticate"] == "Bearer"
    assert reader.status_code == 403
    assert "absa" in [one.id for one in whole.skills]
    assert listed.total_size >= 0
    assert answer.task.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", {}, 200, -32700),
        (b"[]", {}, 200, -32600),
        (json.dumps({**RPC, "method": "Nonsense"}).encode(), {}, 200, -32601),
        (json.dumps({**RPC, "method": "GetTask", "params": {"id": 7}}).encode(), {}, 200, -32602),
        (json.dumps({**RPC, "method": "GetTask", "params": {}}).encode(), {}, 200, -32602),
        (json.dumps({**RPC, "method": "ListTasks"}).encode(), {"A2A-Version": "9.9"}, 200, -32009),
        (b"x" * 28_000_000, {}, 413, None),
        (b"{}", {"Origin": "https://elsewhere.example"}, 403, None),
        (b"{}", {"Host": "elsewhere.example"}, 421, None),
    ],
    ids=["json", "batch", "method", "type", "missing", "version", "large", "origin", "host"],
)
async def test_what_is_no_request_is_refused(
    site: Site, body: bytes, headers: dict[str, str], status: int, code: int | None
) -> None:
    usual = {"Content-Type": "application/json", **VERSION}
    async with site(OPEN) as (url, _), httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(f"{url}/a2a", content=body, headers=usual | headers)
    assert answer.status_code == status
    assert (answer.json()["error"]["code"] if code else None) == code


async def test_nothing_is_offered_unasked(site: Site) -> None:
    async with site({}) as (url, _), httpx.AsyncClient() as http:
        assert (await http.post(f"{url}/a2a", json=RPC)).status_code == 404
        assert (await http.get(url + CARD)).status_code == 404


async def test_whoever_asked_for_it_is_notified(site: Site) -> None:
    with hook() as (address, heard):
        config = TaskPushNotificationConfig(url=address, token="known-to-both")
        request = asking(
            new_text_part(TEXT),
            configuration=SendMessageConfiguration(task_push_notification_config=config),
            panel="absa",
        )
        async with (
            site({**OPEN, "a2a_private_push": True}) as (url, _),
            agent(url, streaming=False) as client,
        ):
            (answer,) = await answers(client, request)
            await until(lambda: "TASK_STATE_COMPLETED" in str(heard[-1:]), within_s=60)
    assert {one.headers["x-a2a-notification-token"] for one in heard} == {"known-to-both"}
    results = [one.body["artifactUpdate"] for one in heard if "artifactUpdate" in one.body]
    assert [one["taskId"] for one in results] == [answer.task.id]


async def test_an_address_of_a_private_network_is_told_nothing_unasked(site: Site) -> None:
    async with site(OPEN) as (url, _), agent(url, streaming=False) as client:
        task = await begun(client)
        for address in ("http://127.0.0.1:9/", "http://169.254.169.254/x", "file:///etc/passwd"):
            config = TaskPushNotificationConfig(task_id=task.id, url=address)
            with pytest.raises(InvalidParamsError, match="public address"):
                await client.create_task_push_notification_config(config)
        listed = await client.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=task.id)
        )
        await client.cancel_task(CancelTaskRequest(id=task.id))
    assert not listed.configs


async def turns_of(brain: str) -> tuple[list[TurnTaken], str | None]:
    """What a panel's security reviewer says that this brain thinks for; the verdict."""
    panel = panel_with(brain)
    async with world(panel).open() as client:
        debate = await client.submit(panel, "SELECT 1")
        result = await debate.result(timeout=60)
        facts = await debate.facts()
    turns = [one for one in facts if isinstance(one, TurnTaken) and one.persona == "security"]
    return turns, result.verdict


@pytest.mark.parametrize("said", [in_data, in_words])
async def test_a_remote_agent_sits_on_a_panel(said: Callable[[dict[str, Any]], list[Part]]) -> None:
    async with remote_agent(lambda _: said(FILLED)) as remote:
        address = remote.url.replace("//", "//:a-token-of-ours@")
        turns, verdict = await turns_of(f"a2a:{address}")
    assert [one.content.kind for one in turns] == ["statement", "reply"]
    assert verdict == "reject"
    assert "Security reviewer" in remote.heard[0]
    assert set(remote.tokens) == {"Bearer a-token-of-ours"}
    assert {one.brain for one in turns} == {f"a2a:{remote.url}"}


async def test_an_agent_that_asks_back_has_no_turn() -> None:
    async with remote_agent(lambda _: None) as remote:
        turns, _ = await turns_of(f"a2a:{remote.url}")
    failed = turns[0].content
    assert isinstance(failed, Failure)
    assert "its task is input_required (Which change?)" in failed.detail


@pytest.mark.parametrize("address", ["agents.example.org", "ftp://x", "http://:80"])
def test_what_is_no_address_is_one_line(address: str) -> None:
    with pytest.raises(BadInput, match=r"^--brain: should look like a2a:https://agents"):
        parse_brains([f"security=a2a:{address}"])

"""Answers that many ask for at once."""

import anyio
import anyio.lowlevel
import pytest

from parley.console.web.shared_answers import Answers


class Kitchen:
    def __init__(self) -> None:
        self.made = 0

    async def make(self) -> bytes:
        self.made += 1
        number = self.made
        await anyio.sleep(0.01)
        return b"%04d" % number


async def test_an_answer_is_made_once_for_all_who_ask_meanwhile() -> None:
    kitchen, answers = Kitchen(), Answers()
    got: list[bytes] = []

    async def ask() -> None:
        got.append(await answers.get("a", kitchen.make))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(ask)
    assert got == [b"0001"] * 50
    assert await answers.get("b", kitchen.make) == b"0002"


async def test_a_failure_is_not_kept() -> None:
    async def fail() -> bytes:
        await anyio.lowlevel.checkpoint()
        raise LookupError

    answers = Answers()
    with pytest.raises(LookupError):
        await answers.get("a", fail)
    assert await answers.get("a", Kitchen().make) == b"0001"


async def test_the_oldest_go_first_when_there_is_too_much() -> None:
    kitchen, answers = Kitchen(), Answers(kept_bytes=8)
    for key in ("a", "b", "c"):
        await answers.get(key, kitchen.make)
    assert await answers.get("c", kitchen.make) == b"0003"
    assert await answers.get("a", kitchen.make) == b"0004"

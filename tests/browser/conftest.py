"""
One server, everybody on it, the web process and one browser, for all tests of this folder.

They share one event loop that lives as long as the session (`IN_ONE_LOOP`): a browser cannot move
to another one.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.browser.stage import CHROMIUM, Stage, Visit, opened_stage

PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    with opened_stage(tmp_path_factory.mktemp("stage")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    assert CHROMIUM.exists(), f"{CHROMIUM} is missing: apt-get install chromium-headless-shell"
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(stage: Stage, browser: Browser) -> AsyncIterator[Visit]:
    """Opens pages; at the end none of them may have had an error or asked another host."""
    visit = Visit(stage, browser)
    yield visit
    await visit.leave()

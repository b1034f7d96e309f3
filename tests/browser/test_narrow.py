"""On a phone, in the light and in the dark: nothing scrolls sideways, and no word of the frame breaks."""

import pytest
from playwright.async_api import expect

from tests.browser.stage import IN_ONE_LOOP, Stage, Visit, open_theatre

pytestmark = IN_ONE_LOOP

PHONE = {"width": 375, "height": 800}
TOO_WIDE = """() => {
  const room = document.scrollingElement;
  if (room.scrollWidth <= room.clientWidth) return [];
  const wide = (one) => one.getBoundingClientRect().right > room.clientWidth + 1;
  return [room.scrollWidth, ...[...document.querySelectorAll('*')].filter(wide).map((one) => one.outerHTML.slice(0, 120))];
}"""
LINES_OF_NAVIGATION = (
    "() => Math.max(...[...document.querySelectorAll('.bar nav a')].map((one) => one.offsetHeight))"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("panel", ["absa", "deliberation", "forensic", "review", "factcheck"])
async def test_the_form_of_every_panel_fits(visit: Visit, panel: str, scheme: str) -> None:
    page = await visit.page("/", viewport=PHONE, color_scheme=scheme)
    await page.get_by_role("button", name="New debate").click()
    await page.locator(f"input[name=panel][value={panel}]").check(force=True)
    await page.get_by_text("Settings", exact=True).click()
    await expect(page.get_by_role("button", name="Start the debate")).to_be_visible()
    assert await page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("panel", ["absa", "deliberation"])
async def test_a_debate_from_the_example_fits(visit: Visit, panel: str) -> None:
    page = await visit.page("/", viewport=PHONE)
    await page.get_by_role("button", name="New debate").click()
    await page.locator(f"input[name=panel][value={panel}]").check(force=True)
    await page.get_by_role("button", name="Fill in an example").click()
    await page.get_by_role("button", name="Start the debate").click()
    await expect(page.get_by_role("log")).to_contain_text("Closed:")
    assert await page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("path", ["/#/debates", "/#/waiting", "/#/agents", "/#/debates/narrow"])
async def test_every_view_fits(stage: Stage, visit: Visit, path: str) -> None:
    async with stage.journal() as journal:
        if "narrow" in path:
            await open_theatre(journal, "narrow", "Is-it-real-" * 20)
    page = await visit.page(path, viewport=PHONE)
    await expect(page.get_by_role("status").first).not_to_contain_text("connecting")
    await expect(page.locator("main h1")).to_be_visible()
    assert await page.evaluate(TOO_WIDE) == []
    assert await page.evaluate(LINES_OF_NAVIGATION) < 50


async def test_a_missing_debate_says_so_and_leads_back(visit: Visit) -> None:
    visit.forgives = True
    page = await visit.page("/#/debates/no-such-debate", viewport=PHONE)
    await expect(page.get_by_role("alert")).to_contain_text("there is no debate no-such-debate")
    await page.get_by_role("link", name="All debates").click()
    await expect(page.get_by_role("heading", name="Debates")).to_be_visible()

"""The page can be used without a mouse, without colours, on a phone, in the dark."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.stage import IN_ONE_LOOP, Stage, Visit, close_theatre, open_theatre

pytestmark = IN_ONE_LOOP

LONGEST_WALK = 60
PHONE = {"width": 390, "height": 844}
READABLE = 4.5
# Every control has a name that a screen reader can say.
NAMELESS = """
() => [...document.querySelectorAll('button, a[href], input, select, textarea, img')]
  .filter((one) => one.checkVisibility() && !(one.getAttribute('aria-label') || one.innerText?.trim()
    || one.getAttribute('alt') !== null && one.tagName === 'IMG' || one.labels?.length || one.title))
  .map((one) => one.outerHTML)
"""
# Contrast of the text with what lies behind it, for each visible piece of text.
FAINT = """
() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (one) => { for (let at = one; at; at = at.parentElement) { const c = rgba(getComputedStyle(at).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
  const found = [];
  for (const one of document.querySelectorAll('main *, header *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.checkVisibility() || one.closest(':disabled') || one.closest('.unseen')) continue;
    const [a, b] = [light(rgba(getComputedStyle(one).color)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < LIMIT) found.push(`${ratio.toFixed(2)} ${one.className} ${one.textContent.slice(0, 40)}`);
  }
  return found;
}
""".replace("LIMIT", str(READABLE))


async def shown(stage: Stage, page: Page, debate: str) -> None:
    """A closed debate, opened."""
    async with stage.journal() as journal:
        ref = await open_theatre(journal, debate, "A topic for everybody to read")
        await close_theatre(journal, ref)
    await page.goto(f"/#/debates/{debate}")
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")


async def walk_to(page: Page, name: str) -> None:
    """Presses Tab until the focus is on what has this name; it must be seen to be there."""
    for _ in range(LONGEST_WALK):
        await page.keyboard.press("Tab")
        focused = await page.evaluate(
            "() => { const one = document.activeElement;"
            " return [one.ariaLabel || one.labels?.[0]?.innerText || one.innerText || '',"
            " getComputedStyle(one).outlineStyle] }"
        )
        if name in focused[0]:
            return
    raise AssertionError(f"{name!r} cannot be reached with the keyboard")


async def test_a_debate_is_started_and_read_with_the_keyboard_alone(visit: Visit):
    page = await visit.page()
    await expect(page.get_by_role("button", name="New debate")).to_be_visible()
    await walk_to(page, "New debate")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("The text")).to_be_visible()
    await walk_to(page, "absa")
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_label("The question")).to_be_visible()
    await page.keyboard.press("ArrowLeft")
    await walk_to(page, "The text")
    await page.keyboard.type("The pasta was lovely but the waiter was rude.")
    await walk_to(page, "Start the debate")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")
    await walk_to(page, "Fact 0 as JSON")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await walk_to(page, "Moment of the debate")
    await page.keyboard.press("Home")
    await expect(page).to_have_url(re.compile("at=1$"))
    await expect(page.get_by_role("log").locator("[data-ordinal]")).to_have_count(1)


async def test_landmarks_names_and_headings_are_there(stage: Stage, visit: Visit):
    page = await visit.page()
    for path in ("/#/debates", "/#/agents"):
        await page.goto(path)
        await expect(page.get_by_role("main")).to_be_visible()
        await expect(page.get_by_role("banner")).to_have_count(1)
        await expect(page.get_by_role("navigation")).to_have_count(1)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
        assert await page.evaluate(NAMELESS) == []
    await shown(stage, page, "b-landmarks")
    assert await page.evaluate(NAMELESS) == []
    await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await expect(page.get_by_role("log")).to_have_attribute("aria-live", "polite")
    for table in await page.get_by_role("table").all():
        assert await table.get_by_role("columnheader").count() > 1
        assert await table.get_by_role("rowheader").count() > 0
    await page.keyboard.press("Tab")
    await page.goto("/#/debates")
    await page.reload()
    await page.keyboard.press("Tab")
    await expect(page.get_by_text("Skip to the content")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_is_readable_in_both_themes(stage: Stage, visit: Visit, scheme: str):
    page = await visit.page(color_scheme=scheme)
    await expect(page.get_by_role("table", name="Debates")).to_be_visible()
    assert await page.evaluate(FAINT) == []
    await shown(stage, page, f"b-{scheme}")
    assert await page.evaluate(FAINT) == []
    paper = await page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(246, 245, 242)", "dark": "rgb(19, 21, 23)"}[scheme]


async def test_a_chosen_theme_stays(visit: Visit):
    page = await visit.page(color_scheme="light")
    await page.get_by_role("button", name="Use the dark theme").click()
    dark = "rgb(19, 21, 23)"
    await expect(page.locator("body")).to_have_css("background-color", dark)
    await page.reload()
    await expect(page.locator("body")).to_have_css("background-color", dark)
    await expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()


async def test_nothing_is_wider_than_a_phone(stage: Stage, visit: Visit):
    page = await visit.page(viewport=PHONE)
    await shown(stage, page, "b-phone")
    for path in ("/#/debates/b-phone", "/#/debates", "/#/agents"):
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.wait_for_timeout(150)
        assert await page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    await page.goto("/#/debates")
    await page.get_by_role("button", name="New debate").click()
    await expect(page.get_by_label("The text")).to_be_visible()
    assert await page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]

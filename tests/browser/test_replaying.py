"""Any moment of a debate can be gone back to, opened as JSON and shared."""

import json
import re

import pytest_asyncio
from playwright.async_api import Page, expect

from parley.bus.subjects import DebateRef
from tests.browser.stage import IN_ONE_LOOP, Stage, Visit, close_theatre, open_theatre

pytestmark = IN_ONE_LOOP

OPENING_TURNS = 5


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def closed(stage: Stage) -> DebateRef:
    async with stage.journal() as journal:
        ref = await open_theatre(journal, "b-replay", "A debate to go back to")
        await close_theatre(journal, ref)
    return ref


def lines(page: Page):
    return page.get_by_role("log").locator("[data-ordinal]")


async def test_the_slider_goes_through_the_facts_and_the_link_says_where(
    closed: DebateRef, visit: Visit
):
    page = await visit.page(f"/#/debates/{closed.id}")
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")
    everything = await lines(page).count()
    slider = page.get_by_role("slider", name="Moment of the debate")
    await expect(slider).to_have_attribute("max", str(everything))

    await slider.fill(str(OPENING_TURNS))
    await expect(lines(page)).to_have_count(OPENING_TURNS)
    await expect(page).to_have_url(re.compile(rf"#/debates/{closed.id}\?at={OPENING_TURNS}$"))
    cells = page.locator(".matrix tbody td")
    assert [text.split("\n")[0] for text in await cells.all_inner_texts()] == [
        "authentic",
        "authentic",
        "… thinking",
        "… thinking",
    ]
    await expect(page.get_by_label("Where it stands")).to_contain_text("Opening statements")

    await slider.focus()
    await page.keyboard.press("ArrowRight")
    await expect(lines(page)).to_have_count(OPENING_TURNS + 1)
    await page.get_by_role("button", name="One fact back").click()
    await expect(lines(page)).to_have_count(OPENING_TURNS)
    await page.get_by_role("button", name="To the end").click()
    await expect(lines(page)).to_have_count(everything)
    await expect(page).to_have_url(re.compile(rf"#/debates/{closed.id}$"))


async def test_a_shared_link_opens_the_exact_moment(closed: DebateRef, visit: Visit):
    page = await visit.page(f"/#/debates/{closed.id}")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")
    await page.get_by_role("slider", name="Moment of the debate").fill(str(OPENING_TURNS))
    await expect(lines(page)).to_have_count(OPENING_TURNS)
    await page.get_by_role("button", name="Share moment").click()
    await expect(page.get_by_text("The link to this moment is copied.")).to_be_visible()
    link = await page.evaluate("() => navigator.clipboard.readText()")

    other = await visit.page(link)
    await expect(lines(other)).to_have_count(OPENING_TURNS)
    shown = await page.get_by_role("log").inner_text()
    assert await other.get_by_role("log").inner_text() == shown
    await expect(other.get_by_text(f"fact {OPENING_TURNS} of")).to_be_visible()


async def test_a_link_beyond_the_end_opens_the_end(closed: DebateRef, visit: Visit):
    visit.forgives = True
    page = await visit.page(f"/#/debates/{closed.id}?at=9999")
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")
    await page.goto(f"/#/debates/{closed.id}?at=0")
    await expect(lines(page)).to_have_count(1)


async def test_playing_arrives_at_the_end(closed: DebateRef, visit: Visit):
    page = await visit.page(f"/#/debates/{closed.id}")
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Closed: completed")
    everything = await lines(page).count()
    await page.get_by_role("slider", name="Moment of the debate").fill(str(everything - 1))
    await expect(lines(page)).to_have_count(everything - 1)
    await page.get_by_role("button", name="Play").click()
    await expect(lines(page)).to_have_count(everything)
    await expect(page.get_by_role("button", name="Play")).to_be_visible()


async def test_every_fact_opens_as_json(stage: Stage, closed: DebateRef, visit: Visit):
    async with stage.journal() as journal:
        logged, _ = await journal.read(closed)
    page = await visit.page(f"/#/debates/{closed.id}")
    await page.get_by_role("log").get_by_role("button", name="Fact 3 as JSON").click()
    dialog = page.get_by_role("dialog")
    for ordinal in (3, 4, 5):
        await expect(dialog.get_by_role("heading")).to_contain_text(f"Fact {ordinal}")
        shown = json.loads(await dialog.locator("pre").inner_text())
        assert shown == logged[ordinal].fact.model_dump(mode="json", exclude_none=True)
        await dialog.get_by_role("button", name="Next").click()
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def test_a_declaration_shows_rule_value_and_threshold_side_by_side(
    closed: DebateRef, visit: Visit
):
    page = await visit.page(f"/#/debates/{closed.id}")
    declared = page.get_by_label("Declarations").get_by_role("table").first
    cells = declared.get_by_role("row").nth(1).locator("th, td")
    await expect(cells.nth(0)).to_have_text("disagreement")
    await expect(cells.nth(1)).to_have_text("0")
    changed = page.locator(".cell.changed")
    await expect(changed).to_have_count(2)
    await changed.first.click()
    await expect(page.locator(".speech.now")).to_contain_text("frequency")

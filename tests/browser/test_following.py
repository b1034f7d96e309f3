"""Debates are started on the page, followed live, and survive the death of the web process."""

from io import BytesIO

from PIL import Image
from playwright.async_api import FilePayload, Page, expect

from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.specimen import copy_moved
from tests import debates
from tests.browser.stage import (
    IN_ONE_LOOP,
    Stage,
    Visit,
    close_theatre,
    open_theatre,
    reply,
    state,
    submit,
    theatre,
    whisper,
)

pytestmark = IN_ONE_LOOP


def forged_part() -> bytes:
    """The part of a forged photograph where the forgery is; the whole would take longer."""
    part = BytesIO()
    Image.open(BytesIO(copy_moved().data)).crop((96, 400, 840, 704)).save(part, "PNG")
    return part.getvalue()


async def ordinals(page: Page) -> list[int]:
    lines = page.get_by_role("log").locator("[data-ordinal]")
    found: list[int] = await lines.evaluate_all("all => all.map(one => +one.dataset.ordinal)")
    return found


async def test_an_image_is_uploaded_and_its_debate_followed_to_its_close(visit: Visit):
    page = await visit.page()
    await page.get_by_role("button", name="New debate").click()
    await page.get_by_role("radio", name="forensic").check(force=True)
    photo = FilePayload(name="beach.png", mimeType="image/png", buffer=forged_part())
    await page.locator("input[type=file]").set_input_files(photo)
    await page.get_by_role("button", name="Start the debate").click()
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Opening statements")
    await expect(log).to_contain_text("Closed: completed", timeout=60_000)
    await expect(page.get_by_role("heading", level=1)).to_have_text("beach.png")
    await expect(page.get_by_label("Outcome")).to_contain_text("Manipulated")
    seats = page.get_by_role("table").filter(has_text="opening").locator("tbody tr")
    await expect(seats).to_have_count(4)
    assert await ordinals(page) == list(range(len(await ordinals(page))))

    picture = page.get_by_alt_text("The image under debate")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.naturalWidth") > 0
    await page.get_by_role("radio", name="Noise").check(force=True)
    evidence = page.get_by_alt_text("Noise residual")
    caption = page.get_by_text("The grain, amplified.")
    await expect(caption).to_be_visible(timeout=60_000)
    assert await evidence.evaluate("image => image.naturalWidth") > 0
    slider = page.get_by_role("slider", name="How much of the map covers the image")
    await slider.fill("25")
    assert await evidence.evaluate("image => image.style.opacity") == "0.25"
    assert await page.locator(".picture rect.inner").count() > 0

    await page.get_by_role("radio", name="Spectrum").check(force=True)
    spectrum = page.get_by_alt_text("Frequency spectrum")
    await expect(page.get_by_text("Low frequencies in the middle")).to_be_visible()
    await expect(slider).to_have_count(0)
    photo_box, spectrum_box = await picture.bounding_box(), await spectrum.bounding_box()
    assert photo_box is not None
    assert spectrum_box is not None
    assert spectrum_box["x"] >= photo_box["x"] + photo_box["width"]


async def test_a_sentence_is_followed_from_the_form_to_the_moderator(visit: Visit):
    page = await visit.page()
    await page.get_by_role("button", name="New debate").click()
    await page.get_by_role("radio", name="absa").check(force=True)
    await page.get_by_label("The text").fill("The food was excellent but the service was slow.")
    await page.get_by_role("button", name="Start the debate").click()
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Closed: completed")
    after = page.locator(".sentence").last
    await expect(after.locator("mark")).to_have_text(
        ["food+ (positive)", "service\N{MINUS SIGN} (negative)"]
    )
    rules = page.get_by_role("region", name="The moderator").locator(".rules li > b")
    assert await rules.all_inner_texts() == [f"Rule {letter}" for letter in "ZBMCADE"]
    await expect(page.get_by_role("table").filter(has_text="Margin")).to_contain_text("SKIP")
    await page.get_by_role("link", name="Debates", exact=True).first.click()
    row = page.get_by_role("row").filter(has_text="service was slow").first
    await expect(row).to_contain_text("completed")


async def test_a_question_is_deliberated_until_the_grounds_suffice(visit: Visit):
    page = await visit.page()
    await page.get_by_role("button", name="New debate").click()
    await page.get_by_role("radio", name="deliberation").check(force=True)
    await page.get_by_role("button", name="Fill in an example").click()
    await page.get_by_role("button", name="Start the debate").click()
    await expect(page.get_by_role("log")).to_contain_text("Closed: completed")
    axes = page.get_by_label("Axes by iteration")
    await expect(axes).to_contain_text("student demand")
    await expect(axes).to_contain_text("of D_min 6")
    declared = page.get_by_label("Declarations").locator("tr").filter(has_text="orthogonality")
    await expect(declared.filter(has_text="0.15").first).to_be_visible()
    await expect(page.locator(".uplot canvas")).to_have_count(2)


async def test_a_refused_submission_says_what_is_wrong(visit: Visit):
    visit.forgives = True
    page = await visit.page()
    await page.get_by_role("button", name="New debate").click()
    await page.get_by_role("radio", name="deliberation").check(force=True)
    await page.get_by_label("The question").fill("question: to be or not\noptions: none")
    await page.get_by_role("button", name="Start the debate").click()
    await expect(page.get_by_role("alert")).to_contain_text("options")
    await expect(page.get_by_role("button", name="Start the debate")).to_be_enabled()


async def test_what_is_being_said_is_seen_before_it_is_a_turn(stage: Stage, visit: Visit):
    async with stage.journal() as journal:
        ref = await submit(journal, "b-partial", theatre(), "Whispers")
        page = await visit.page(f"/#/debates/{ref.id}")
        log = page.get_by_role("log")
        await expect(log).to_contain_text("Opening statements")
        await whisper(journal, ref, "opening", "noise", "The grain is")
        speaking = log.locator("[data-partial=noise]")
        await expect(speaking).to_contain_text("The grain is")
        await whisper(journal, ref, "opening", "noise", "The grain is even")
        await expect(speaking.locator(".text")).to_have_text("The grain is even")
        await state(journal, ref, "noise", reasoning="The grain is even everywhere.")
        await expect(log).to_contain_text("The grain is even everywhere.")
        await expect(speaking).to_have_count(0)
        waits = page.get_by_label("Where it stands")
        await expect(waits).to_contain_text("waiting for frequency, watermark, spatial")


async def test_the_page_goes_on_where_it_was_when_the_web_process_is_killed(
    stage: Stage, visit: Visit
):
    visit.forgives = True
    async with stage.journal() as journal:
        ref = await open_theatre(journal, "b-resume")
        page = await visit.page(f"/#/debates/{ref.id}")
        log = page.get_by_role("log")
        await expect(log).to_contain_text("Round 1")
        before = await ordinals(page)
        stage.web.kill()
        stage.web.log = stage.web.log.with_name("web-again.log")
        wire = page.get_by_role("banner").get_by_role("status")
        await expect(wire).to_have_text("reconnecting…")
        first, second, *others = debates.ROSTER
        await reply(journal, ref, first, content="said while nobody listened")
        stage.web.start()
        await reply(journal, ref, second, content="said when it was back")
        await expect(log).to_contain_text("said while nobody listened")
        await expect(log).to_contain_text("said when it was back")
        await expect(wire).to_have_text("live")
        now = await ordinals(page)
        assert now == list(range(len(before) + 2))
        for persona in others:
            await reply(journal, ref, persona, Verdict.AUTHENTIC)
        await expect(log).to_contain_text("Closed: completed")
        now = await ordinals(page)
        assert now == list(range(len(now)))
        speech = log.locator(".speech .text", has_text="said while nobody listened")
        assert await speech.count() == 1


async def test_the_list_hears_of_new_debates_and_cancels_them(stage: Stage, visit: Visit):
    page = await visit.page("/#/debates?panel=theatre")
    table = page.get_by_role("table", name="Debates")
    async with stage.journal() as journal:
        ref = await submit(journal, "b-cancel", theatre(), "To be cancelled")
        row = table.get_by_role("row").filter(has_text="To be cancelled")
        await expect(row).to_contain_text("open")
        await expect(row).to_contain_text("opening")
        await row.get_by_role("button", name="Cancel b-cancel").click()
        await row.get_by_role("button", name="Really? b-cancel").click()
        await expect(row).to_contain_text("cancelled")
        await expect(row.get_by_role("button")).to_have_count(0)
        other = await open_theatre(journal, "b-closing", "To be closed")
        open_row = table.get_by_role("row").filter(has_text="To be closed")
        await expect(open_row).to_contain_text("round 1")
        await close_theatre(journal, other)
        await expect(open_row).to_contain_text("manipulated")
        await expect(open_row).to_contain_text("consensus reached")
    await page.get_by_role("radio", name="Cancelled").check(force=True)
    await expect(open_row).to_have_count(0)
    await expect(row).to_be_visible()
    await page.get_by_role("radio", name="All").check(force=True)
    await page.get_by_role("searchbox").fill("closed")
    await expect(row).to_have_count(0)
    await expect(open_row).to_be_visible()
    assert ref.id == "b-cancel"


async def test_the_agents_that_are_alive_are_listed_with_what_nobody_could_do(
    stage: Stage, visit: Visit
):
    page = await visit.page("/#/agents")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Agents")
    panel = page.get_by_role("region", name="forensic")
    row = panel.get_by_role("row").filter(has_text="spatial")
    await expect(row).to_contain_text("1 replica")
    await expect(page.get_by_role("region", name="Coordinators")).to_contain_text("coordinator")
    dead = page.get_by_role("region", name="Dead letters")
    await expect(dead).to_contain_text("None.")
    async with stage.journal() as journal:
        await submit(journal, "b-dead", theatre(), "Somebody cannot read this")
        await journal.bus.bury((await journal.bus.position()).reached[0], "unreadable for a test")
        await expect(dead).to_contain_text("unreadable for a test")
        await dead.get_by_role("button", name="Redrive").click()
        await expect(dead.get_by_role("status")).to_contain_text("not an ask")
        for letter in await journal.bus.dead_letters():
            await journal.bus.forget_dead(letter.number)
    await expect(dead).to_contain_text("None.")

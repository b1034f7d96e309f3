"""Where tokens are set, the page asks for one, and shows what its bearer may not do."""

from playwright.async_api import expect

from tests.browser.stage import (
    IN_ONE_LOOP,
    OPERATOR_TOKEN,
    READ_TOKEN,
    Stage,
    Visit,
    submit,
    theatre,
)

pytestmark = IN_ONE_LOOP


async def test_a_reader_may_look_and_an_operator_may_act(stage: Stage, visit: Visit):
    visit.forgives = True
    async with stage.journal() as journal:
        await submit(journal, "b-guarded", theatre(), "For those who may look")
    page = await visit.page(f"{stage.guarded_url}/#/debates?panel=theatre")
    dialog = page.get_by_role("dialog", name="Sign in")
    await dialog.get_by_label("Token").fill("a token that somebody made up")
    await dialog.get_by_role("button", name="Sign in").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("Token").fill(READ_TOKEN)
    await page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has_text="For those who may look")
    await expect(row).to_contain_text("open")
    await row.get_by_role("button", name="Cancel").click()
    await row.get_by_role("button", name="Really?").click()
    await expect(row.get_by_role("button")).to_have_text("Refused")

    await page.evaluate(
        "token => fetch('/session', { method: 'POST', body: JSON.stringify({ token }),"
        " headers: { 'Content-Type': 'application/json' } })",
        OPERATOR_TOKEN,
    )
    await page.reload()
    await row.get_by_role("button", name="Cancel").click()
    await row.get_by_role("button", name="Really?").click()
    await expect(row).to_contain_text("cancelled")

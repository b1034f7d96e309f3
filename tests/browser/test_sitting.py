"""A person answers in a browser: from the list, by a link; too late, twice, at once, forged."""

import time

import anyio
import pytest
from playwright.async_api import Page, expect

from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.console.runtime import links
from parley.seat import ask_at
from tests.browser.stage import IN_ONE_LOOP, LINK_KEY, Stage, Visit, submit, theatre
from tests.processes import until_recorded

pytestmark = IN_ONE_LOOP


def with_person(deadline_s: float = 3600) -> VerdictPanel:
    whole = theatre()
    noise, *_ = (one for one in whole.personas if one.name == "noise")
    person = noise.model_copy(
        update={"human": True, "deadline_s": deadline_s, "role": "Noise expert"}
    )
    rest = [one for one in whole.personas if one.name != "noise"]
    return VerdictPanel.model_validate({**whole.model_dump(), "personas": [person, *rest]})


async def link_for(journal: Journal, ref: DebateRef, name: str) -> str:
    ask = await ask_at(journal, ref, "opening", "noise")
    return f"/sit#{links.sign(links.link_to(ask, name=name), LINK_KEY)}"


async def fill_in(page: Page, verdict: str, because: str) -> None:
    await page.get_by_label(verdict).check(force=True)
    await page.get_by_label("confidence").fill("0.9")
    await page.get_by_label("argument").fill(because)
    await page.get_by_label("evidence").fill("first point\nsecond point")
    await page.get_by_role("button", name="Speak").click()


async def turns(journal: Journal, ref: DebateRef) -> list[TurnTaken]:
    logged, _ = await journal.read(ref)
    return [one.fact for one in logged if isinstance(one.fact, TurnTaken)]


async def test_from_the_list_in_time(stage: Stage, visit: Visit):
    async with stage.journal() as journal:
        ref = await submit(journal, "b-seat-list", with_person(), "Look at <b>this</b>")
        page = await visit.page("/#/debates/b-seat-list")
        await expect(page.get_by_role("link", name="Waiting")).to_contain_text("1")
        await page.get_by_role("link", name="Answer").click()
        form = page.get_by_role("region", name="noise in opening of b-seat-list")
        await expect(form).to_be_visible()
        page = await visit.page("/#/waiting")
        await expect(page.get_by_role("heading", name="Waiting for you")).to_be_visible()
        row = page.get_by_role("listitem").filter(has_text="b-seat-list")
        await row.get_by_role("button").click()
        await expect(page.get_by_text("Look at <b>this</b>").first).to_be_visible()
        await fill_in(page, "manipulated", "The noise changes at the edge.")
        await expect(page.get_by_text("Your turn stands in the log")).to_be_visible()
        (turn,) = await turns(journal, ref)
        assert (turn.persona, turn.brain) == ("noise", "human")
        assert turn.content.model_dump()["arguments"] == ("first point", "second point")
        await expect(row).to_have_count(0)
        await submit(journal, "b-seat-next", with_person(), "Told by the stream")
        await expect(page.get_by_role("listitem").filter(has_text="b-seat-next")).to_be_visible()


async def test_by_a_link_once_and_the_second_is_told_who_and_when(stage: Stage, visit: Visit):
    visit.forgives = True
    async with stage.journal() as journal:
        ref = await submit(journal, "b-seat-link", with_person(), "By a link")
        address = await link_for(journal, ref, "Ada")
        page = await visit.page(address, viewport={"width": 390, "height": 800})
        await expect(page.get_by_text("By a link")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await fill_in(page, "authentic", "Nothing is odd.")
        await expect(page.get_by_text("Your turn stands in the log")).to_be_visible()
        (turn,) = await turns(journal, ref)
        assert turn.by == "Ada"
        again = await visit.page(address)
        await expect(again.get_by_role("alert")).to_contain_text("was answered by Ada at 20")


async def test_two_at_once(stage: Stage, visit: Visit):
    visit.forgives = True
    async with stage.journal() as journal:
        ref = await submit(journal, "b-seat-two", with_person(), "Two at once")
        pages = [await visit.page(await link_for(journal, ref, name)) for name in ("Ada", "Bob")]
        async with anyio.create_task_group() as tasks:
            for page in pages:
                tasks.start_soon(fill_in, page, "authentic", "I was first.")
        thanks = [page.get_by_text("Your turn stands in the log") for page in pages]
        await expect(thanks[0].or_(pages[0].get_by_role("alert"))).to_be_visible()
        await expect(thanks[1].or_(pages[1].get_by_role("alert"))).to_be_visible()
        (turn,) = await turns(journal, ref)
        won = ("Ada", "Bob").index(turn.by)
        await expect(thanks[won]).to_be_visible()
        await expect(pages[1 - won].get_by_role("alert")).to_contain_text(f"by {turn.by} at")


async def test_too_late(stage: Stage, visit: Visit):
    visit.forgives = True
    async with stage.journal() as journal:
        ref = await submit(journal, "b-seat-late", with_person(4), "Too late")
        ask = await ask_at(journal, ref, "opening", "noise")
        link = links.link_to(ask).model_copy(update={"expires": int(time.time()) + 3600})
        page = await visit.page(f"/sit#{links.sign(link, LINK_KEY)}")
        await expect(page.get_by_text("Too late", exact=True)).to_be_visible()
        await until_recorded(journal, ref, "fired.opening.noise", 60)
        await fill_in(page, "authentic", "Am I late?")
        await expect(page.get_by_role("alert")).to_contain_text("nobody waits for the answer")
        assert await turns(journal, ref) == []


@pytest.mark.parametrize("guarded", [False, True], ids=["open page", "page with tokens"])
async def test_an_expired_and_a_forged_link_open_nothing(stage: Stage, visit: Visit, guarded: bool):
    visit.forgives = True
    site = stage.guarded_url if guarded else stage.url
    async with stage.journal() as journal:
        ref = await submit(journal, f"b-seat-forged-{guarded}", with_person(), "A secret")
        ask = await ask_at(journal, ref, "opening", "noise")
        good = links.link_to(ask)
        old = good.model_copy(update={"expires": int(time.time()) - 1})
        page = await visit.page(f"{site}/sit#{links.sign(old, LINK_KEY)}")
        await expect(page.get_by_role("alert")).to_contain_text("this link was good until 20")
        other = good.model_copy(update={"persona": "frequency"})
        _, _, signature = links.sign(good, LINK_KEY).partition(".")
        body = links.sign(other, "a key that somebody made up").partition(".")[0]
        for forged in (f"{body}.{signature}", links.sign(good, "another key"), "", "a.b"):
            page = await visit.page(f"{site}/sit#{forged}")
            await expect(page.get_by_role("alert")).to_contain_text("was not made here")
            await expect(page.get_by_text("A secret")).to_have_count(0)
        page = await visit.page(f"{site}/sit#{links.sign(good, LINK_KEY)}")
        await expect(page.get_by_text("A secret")).to_be_visible()
        status = await page.evaluate("() => fetch('/asks').then((one) => one.status)")
        assert status == (401 if guarded else 200)
        assert await turns(journal, ref) == []

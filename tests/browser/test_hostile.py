"""Whatever people and agents write is text on the page: nothing runs, nothing is asked for."""

from playwright.async_api import Page, expect

from parley.agents.absa.script import AbsaScript
from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import CancelRequested, TurnTaken
from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import Report
from tests import absa_debates, debates
from tests.browser.stage import IN_ONE_LOOP, Stage, Visit, reply, state, submit, theatre, whisper
from tests.processes import submit as submit_scripted
from tests.processes import until_recorded

pytestmark = IN_ONE_LOOP

CORPUS = (
    "<script>window.pwned = 1; alert(1)</script>",
    '"><img src=x onerror="window.pwned = 1; alert(2)">',
    "<svg onload=alert(3)><animate onbegin=alert(4) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "javascript:alert(5)//<a href='javascript:alert(5)'>click</a>",
    "<style>body { display: none }</style><link rel=stylesheet href=//evil.example/x.css>",
    "<base href=//evil.example/><form action=//evil.example><input autofocus onfocus=alert(6)>",
    "{{constructor.constructor('alert(7)')()}} ${alert(7)} <%= alert(7) %>",
    "</textarea></title></style></script --><b id=injected>bold</b>",
    "\u202egnp.exe\u202c \x1b[31m <details open ontoggle=alert(8)>",
)
FOREIGN = "script:not([src]), iframe, object, embed, base, form[action], #injected, [onerror], [onload], [onfocus], [ontoggle], a[href^='javascript']"


async def inert(page: Page) -> None:
    assert await page.evaluate("() => window.pwned") is None
    assert await page.locator(FOREIGN).count() == 0
    await expect(page.get_by_role("banner")).to_be_visible()


async def test_topics_arguments_names_and_titles_are_text(stage: Stage, visit: Visit):
    roles = [
        Persona(name=name, role=CORPUS[at], speciality=CORPUS[at + 1])
        for at, name in enumerate(debates.ROSTER)
    ]
    panel = theatre(title=CORPUS[0], personas=tuple(roles))
    topic = " ".join(CORPUS)
    async with stage.journal() as journal:
        page = await visit.page("/#/debates?panel=theatre")
        ref = await submit(journal, "b-hostile", panel, topic)
        await expect(page.get_by_text("<script>window.pwned = 1")).to_be_visible()
        await inert(page)
        await page.goto(f"/#/debates/{ref.id}")
        await expect(page.get_by_role("banner").get_by_role("status")).to_have_text("live")
        await expect(page.get_by_role("log")).to_contain_text("Opening statements")
        await whisper(journal, ref, "opening", "noise", topic)
        await expect(page.locator("[data-partial=noise] .text")).to_contain_text(CORPUS[1])
        await inert(page)
        for at, persona in enumerate(debates.ROSTER):
            verdict = list(Verdict)[at % 2]
            await state(journal, ref, persona, verdict, 0.8, CORPUS[at], CORPUS)
        await until_recorded(journal, ref, "ctl.ask.round-1.all", 20)
        for persona in debates.ROSTER:
            await reply(journal, ref, persona, content=topic)
        log = page.get_by_role("log")
        await expect(log).to_contain_text("Round 2")
        await journal.cancel(ref, CancelRequested(why=topic))
        await expect(log).to_contain_text("Closed: cancelled")
    for said in CORPUS[:-1]:
        assert await log.get_by_text(said).count() > 0
    await inert(page)
    for ordinal in (0, 3):
        await log.get_by_role("button", name=f"Fact {ordinal} as JSON", exact=True).click()
        await expect(page.get_by_role("dialog")).to_contain_text("onerror")
        await inert(page)
        await page.keyboard.press("Escape")


async def test_the_managers_words_are_text(stage: Stage, visit: Visit):
    async with stage.journal() as journal:
        ref = await submit(journal, "b-report", theatre(manager="manager"), "a photograph")
        page = await visit.page(f"/#/debates/{ref.id}")
        for persona in debates.ROSTER:
            await state(journal, ref, persona)
        await until_recorded(journal, ref, "ctl.ask.report.manager", 20)
        said = Report(summary=CORPUS[0], key_evidence=CORPUS[1:])
        await journal.speak(ref, TurnTaken(step="report", persona="manager", content=said))
        card = page.get_by_label("Outcome")
        await expect(card).to_contain_text(CORPUS[0])
        await expect(card.get_by_label("Key evidence")).to_contain_text(CORPUS[1])
    await inert(page)


async def test_a_sentence_and_its_edits_are_text(stage: Stage, visit: Visit):
    text = f"{absa_debates.TEXT} {CORPUS[1]}"
    hostile = AbsaScript.model_validate(
        {
            "steps": {
                "s1-ate": {"ate": {"aspects": [{"term": CORPUS[1], "confidence": 0.9}]}},
                "s1-atsa": {
                    "atsa": {
                        "aspect_sentiments": [
                            {
                                "aspect_ref": CORPUS[1],
                                "polarity": "negative",
                                "confidence": 0.4,
                                "evidence": CORPUS[0],
                            }
                        ]
                    }
                },
                "d1-epm": {
                    "epm": {
                        "proposed_edits": [
                            {
                                "op": CORPUS[2],
                                "target": {"aspect_ref": CORPUS[1], "polarity": CORPUS[3]},
                                "value": CORPUS[4],
                                "evidence": CORPUS[5],
                            }
                        ]
                    }
                },
            }
        }
    )
    async with stage.journal() as journal:
        ref = await submit_scripted(
            journal, "b-hostile-absa", absa_debates.panel(), hostile, text=text
        )
        page = await visit.page(f"/#/debates/{ref.id}")
        await expect(page.get_by_role("log")).to_contain_text("Closed:")
    await expect(page.locator(".sentence mark").filter(has_text="onerror").first).to_be_visible()
    await expect(page.get_by_role("region", name="Proposed edits")).to_contain_text("<svg onload")
    await inert(page)


async def test_an_address_is_text(visit: Visit):
    visit.forgives = True
    page = await visit.page()
    for said in (*CORPUS[:4], CORPUS[7], "%E0%A4%A"):
        await page.evaluate("said => { location.hash = `#/debates/${said}` }", said)
        await expect(page.get_by_role("alert")).to_be_visible()
        await inert(page)
        await page.evaluate("said => { location.hash = `#/debates?text=${said}` }", said)
        await expect(page.get_by_role("searchbox")).to_be_visible()
        await inert(page)

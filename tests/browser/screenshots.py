"""
The pictures of the README: real debates on a private server, seen in a real browser.

    python -m tests.browser.screenshots -o console/web/screenshots
"""

import argparse
import asyncio
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, FilePayload, Page, async_playwright, expect

from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.specimen import copy_moved
from parley.bus.journal import Journal
from tests import absa_debates
from tests.browser.stage import (
    CHROMIUM,
    Stage,
    opened_stage,
    reply,
    state,
    theatre,
    whisper,
)
from tests.browser.stage import submit as open_debate
from tests.processes import closed_state, submit, until_recorded

DESK = {"width": 1280, "height": 860}
LONG_DESK = {"width": 1280, "height": 960}
TALL_DESK = {"width": 1280, "height": 1320}
PHONE = {"width": 390, "height": 844}
LARGEST_BYTES = 150_000
SENTENCES = (
    "배송은 빨랐지만 포장이 엉망이었어요",
    "The staff was friendly, however the rooms were not clean at all.",
    "값은 싸지 않지만 맛은 정말 훌륭해요",
    "Great camera, although the battery barely lasts a day.",
    "향은 좋은데 지속력이 별로예요",
    "The pasta came cold and the waiter never apologised.",
)


OPENINGS = (
    ("frequency", Verdict.AI_GENERATED, 0.82, "The spectrum falls off too smoothly above a third of the sampling rate."),
    ("noise", Verdict.AUTHENTIC, 0.74, "The pattern of a sensor is there, in the sky and on the skin alike."),
    ("watermark", Verdict.UNCERTAIN, 0.5, "No credentials, and no mark that I can read."),
    ("spatial", Verdict.AI_GENERATED, 0.71, "The earring and its reflection do not agree."),
)  # fmt: skip
MURMUR = "I looked again at the hairline: the grain there is weaker than on the coat, and it repeats every eight pix"


class Camera:
    def __init__(self, browser: Browser, stage: Stage, folder: Path) -> None:
        self._browser = browser
        self._stage = stage
        self._folder = folder

    async def page(self, path: str, scheme: str = "light", view: dict[str, int] = DESK) -> Page:
        context = await self._browser.new_context(
            base_url=self._stage.url,
            viewport=view,  # type: ignore[arg-type]
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion="reduce",
            timezone_id="UTC",
        )
        page = await context.new_page()
        await page.goto(path)
        return page

    async def take(self, page: Page, name: str) -> None:
        """Few colours are enough for a page, and keep the picture small."""
        await page.mouse.move(0, 0)
        await page.wait_for_timeout(400)
        whole = Image.open(BytesIO(await page.screenshot()))
        path = self._folder / f"{name}.png"
        whole.convert("RGB").quantize(256, kmeans=1, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
        size = path.stat().st_size
        assert size <= LARGEST_BYTES, f"{path}: {size} bytes"
        print(f"{path}: {size} bytes")  # noqa: T201 - a script says what it did


async def start(page: Page, panel: str, words: str = "") -> str:
    """Starts a debate as anybody would, and returns its id when it is closed."""
    await page.goto("/#/debates")
    await page.reload()
    await page.get_by_role("button", name="New debate").click()
    await page.get_by_role("radio", name=panel).check(force=True)
    if panel == "forensic":
        photo = FilePayload(name="beach.png", mimeType="image/png", buffer=copy_moved().data)
        await page.locator("input[type=file]").set_input_files(photo)
        await page.get_by_label("A caption").fill(words)
    elif words:
        await page.get_by_label("The text").fill(words)
    else:
        await page.get_by_role("button", name="Fill in an example").click()
    await page.get_by_role("button", name="Start the debate").click()
    await expect(page.get_by_role("log")).to_contain_text("Closed:", timeout=60_000)
    return page.url.rpartition("/")[2]


async def picture(camera: Camera, stage: Stage) -> None:
    page = await camera.page("/")
    for words in SENTENCES:
        await start(page, "absa", words)
    deliberation = await start(page, "deliberation")
    forensic = await start(page, "forensic", "Is this photograph of a beach unaltered?")
    async with stage.journal() as journal:
        flip = await submit(
            journal, "skin-tone", absa_debates.panel(), absa_debates.FLIP, absa_debates.TEXT
        )
        await closed_state(journal, flip)
        await live(camera, journal)
        await page.goto("/#/debates")
        await expect(page.get_by_role("row").filter(has_text="portrait")).to_contain_text("round 1")
        await camera.take(page, "debates")
    await of_forensic(camera, forensic)
    page = await camera.page("/#/debates/skin-tone", view=TALL_DESK)
    await expect(page.get_by_role("log")).to_contain_text("Closed:")
    await camera.take(page, "absa")
    page = await camera.page(f"/#/debates/{deliberation}", "dark")
    await expect(page.get_by_role("log")).to_contain_text("Closed:")
    await camera.take(page, "deliberation-dark")


async def live(camera: Camera, journal: Journal) -> None:
    """A debate in the middle of its first round; this script speaks for the personas."""
    topic = "Was this portrait made by a generator?"
    ref = await open_debate(journal, "portrait-17", theatre(name="portraits"), topic)
    for persona, verdict, confidence, words in OPENINGS:
        await state(journal, ref, persona, verdict, confidence, words)
    await until_recorded(journal, ref, "ctl.ask.round-1.all", 20)
    agreed = "The reflection settles it for me: what stands in the window is not in the room."
    await reply(journal, ref, "watermark", Verdict.AI_GENERATED, agreed)
    page = await camera.page(f"/#/debates/{ref.id}", view=LONG_DESK)
    log = page.get_by_role("log")
    await expect(log).to_contain_text("The reflection settles it")
    await whisper(journal, ref, "round-1", "noise", MURMUR)
    await expect(log.locator("[data-partial=noise]")).to_be_visible()
    await log.evaluate("log => log.closest('section').scrollIntoView()")
    await camera.take(page, "live")


async def of_forensic(camera: Camera, debate: str) -> None:
    page = await camera.page(f"/#/debates/{debate}")
    await expect(page.get_by_role("log")).to_contain_text("Closed:")
    await expect(page.locator(".picture rect.inner").first).to_be_visible()
    await camera.take(page, "forensic")
    await page.locator(".matrix").scroll_into_view_if_needed()
    await page.get_by_role("log").evaluate("log => log.scrollIntoView()")
    await page.mouse.wheel(0, -70)
    await camera.take(page, "transcript")
    page = await camera.page(f"/#/debates/{debate}", "light", PHONE)
    await expect(page.get_by_role("log")).to_contain_text("Closed:")
    await camera.take(page, "phone")


async def main(folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        opened_stage(Path(home)) as stage,
    ):
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--font-render-hinting=none"]
            )
            await picture(Camera(browser, stage, folder), stage)
            await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="folder", type=Path, required=True, metavar="DIR")
    chosen = parser.parse_args().folder
    chosen.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(chosen))

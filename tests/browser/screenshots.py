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

from parley.agents.forensic.specimen import copy_moved
from tests import absa_debates
from tests.browser.stage import CHROMIUM, Stage, open_theatre, opened_stage
from tests.processes import closed_state, submit

DESK = {"width": 1280, "height": 860}
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
        await open_theatre(journal, "live-now", "Was this portrait made by a generator?")

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
    page = await camera.page("/#/agents", "dark")
    await expect(page.get_by_role("region", name="forensic")).to_be_visible()
    await camera.take(page, "agents-dark")


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

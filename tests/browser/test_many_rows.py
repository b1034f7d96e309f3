"""Ten thousand debates: only those in sight are in the document, and scrolling does not wait."""

import json
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Route, expect

from tests.browser.stage import IN_ONE_LOOP, Visit

pytestmark = IN_ONE_LOOP

MANY = 10_000
MOST_IN_DOCUMENT = 60
# The longest that any frame may take while the list is scrolled from end to end.
SLOWEST_FRAME_MS = 250
FRAMES = """
async () => {
  let worst = 0, last = performance.now();
  const height = document.documentElement.scrollHeight;
  for (let at = 0; at <= 40; at += 1) {
    scrollTo(0, (height * at) / 40);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  }
  return worst;
}
"""


def row(number: int) -> dict[str, object]:
    return {
        "id": f"d{number:05}", "panel": "forensic", "protocol": "verdicts", "topic": f"Photograph {number}",
        "phase": "closed", "round": 1, "verdict": "authentic", "reason": "consensus_reached", "status": "completed",
        "tokens": 1200, "cost": 0.01, "calls": 8, "submitted_at": "2026-01-01T00:00:00.000Z",
        "closed_at": "2026-01-01T00:00:05.000Z", "facts": 20, "sequence": number,
    }  # fmt: skip


async def serve_many(route: Route) -> None:
    query = parse_qs(urlsplit(route.request.url).query)
    start = int(query.get("before", ["0"])[0])
    end = min(MANY, start + int(query["limit"][0]))
    page = {
        "debates": [row(number) for number in range(start, end)],
        "total": MANY,
        "next": str(end) if end < MANY else None,
    }
    await route.fulfill(content_type="application/json", body=json.dumps(page))


async def test_ten_thousand_rows_scroll_without_lag(visit: Visit):
    page = await visit.page("/#/agents")
    await page.route("**/debates?*", serve_many)
    await page.goto("/#/debates")
    table = page.get_by_role("table", name="Debates")
    await expect(table).to_have_attribute("aria-rowcount", str(MANY + 1))
    await expect(table.get_by_text("Photograph 0", exact=True)).to_be_visible()
    assert await page.evaluate(FRAMES) < SLOWEST_FRAME_MS
    last = table.get_by_text(f"Photograph {MANY - 1}", exact=True)
    await expect(last).to_be_visible(timeout=30_000)
    assert await table.get_by_role("row").count() < MOST_IN_DOCUMENT
    await page.evaluate("() => scrollTo(0, 0)")
    await expect(table.get_by_text("Photograph 0", exact=True)).to_be_visible()

"""A debate that somebody submits over HTTP, as JSON or as a form with an image."""

from pathlib import Path

import anyio
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.errors import BadInput
from parley.console.runtime.inputs import LONGEST_TEXT
from parley.console.runtime.submission import Image, Submission, plan_of
from parley.console.runtime.submit import submit_all
from parley.console.transcript.text import one_line
from parley.console.web.hub import Hub
from parley.console.web.presence import PresenceBoard
from parley.console.web.problems import Refusal, mistakes_in
from parley.console.web.request_parsing import (
    BAD_REQUEST,
    UNPROCESSABLE,
    UNSUPPORTED,
    answer,
    body_of,
    in_time,
)

CREATED, TOO_MANY = 201, 429
# Images are looked at one by one; more than this many at once have to come again.
AT_ONCE = 4
MOST_FIELDS = 40
LONGEST_NAME = 200
_LIST_FIELD = "set"


class Submitting:
    def __init__(self, hub: Hub, roll: PresenceBoard, panels_dir: Path | None) -> None:
        self._hub = hub
        self._roll = roll
        self._panels_dir = panels_dir
        self._places = anyio.CapacityLimiter(AT_ONCE)

    async def submit(self, request: Request) -> Response:
        try:
            self._places.acquire_on_behalf_of_nowait(request)
        except anyio.WouldBlock as error:
            raise Refusal(TOO_MANY, "too many submissions at once", Retry_After="1") from error
        try:
            return await self._submit(request)
        finally:
            self._places.release_on_behalf_of(request)

    async def _submit(self, request: Request) -> Response:
        wanted, image = await _content(request)
        models = await self._roll.thinks_by_model(wanted.panel)
        plan = await plan_of(wanted, image, self._panels_dir, models)
        await submit_all(self._hub.client, plan)
        row = await self._hub.row_of(plan.refs[0])
        response = answer(row, CREATED)
        response.headers["Location"] = f"/debates/{row.id}"
        return response


async def _content(request: Request) -> tuple[Submission, Image | None]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return await body_of(request, Submission), None
    if kind != "multipart/form-data":
        raise Refusal(UNSUPPORTED, "send application/json or multipart/form-data")
    try:
        with in_time():
            form = await request.form(
                max_files=1, max_fields=MOST_FIELDS, max_part_size=4 * LONGEST_TEXT
            )
        try:
            return _fields(form), await _image(form)
        finally:
            await form.close()
    except HTTPException as error:
        raise Refusal(BAD_REQUEST, f"the form cannot be read: {error.detail}") from error


def _fields(form: FormData) -> Submission:
    """What is empty counts as not given, as a form leaves it."""
    given: dict[str, object] = {
        key: value for key, value in form.items() if isinstance(value, str) and value
    }
    if _LIST_FIELD in given:
        given[_LIST_FIELD] = [one for one in form.getlist(_LIST_FIELD) if one]
    try:
        return Submission.model_validate(given)
    except ValidationError as error:
        raise Refusal(UNPROCESSABLE, "the form cannot be used", mistakes_in(error)) from error


async def _image(form: FormData) -> Image | None:
    files = [one for one in form.multi_items() if isinstance(one[1], UploadFile)]
    if any(name != "image" for name, _ in files):
        raise BadInput("a file comes in the field `image`")
    for _, upload in files:
        assert isinstance(upload, UploadFile)
        data = await upload.read()
        if data or upload.filename:
            return Image(name=one_line(upload.filename or "", LONGEST_NAME), data=data)
    return None

"""Whatever goes wrong, as an answer: one line for a person, and every mistake by itself."""

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.contracts.base import Contract
from parley.bus.errors import (
    BadInput,
    BusError,
    Conflict,
    DecodeError,
    Gone,
    NotFound,
    ParleyError,
)
from parley.console.transcript.text import clean

_STATUSES: tuple[tuple[type[ParleyError], int], ...] = (
    (BadInput, 422),
    (DecodeError, 422),
    (Gone, 410),
    (NotFound, 404),
    (Conflict, 409),
    (BusError, 503),
)
_FAILED = 500


class Problem(Contract):
    error: str
    mistakes: tuple[str, ...] = ()


class Refusal(ParleyError):
    """A request that is answered with `status` and nothing else."""

    def __init__(
        self, status: int, error: str, mistakes: tuple[str, ...] = (), **headers: str
    ) -> None:
        super().__init__(error)
        self.status = status
        self.problem = Problem(error=error, mistakes=mistakes)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def problem_response(
    status: int, problem: Problem, headers: dict[str, str] | None = None
) -> Response:
    return Response(
        problem.model_dump_json(), status, headers=headers, media_type="application/json"
    )


def on_refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return problem_response(error.status, error.problem, error.headers)


def on_parley_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ParleyError)
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), _FAILED)
    lines = tuple(clean(str(error)).splitlines()) or (type(error).__name__,)
    first = lines[0] if len(lines) == 1 else f"{len(lines)} mistakes"
    return problem_response(status, Problem(error=first, mistakes=lines if len(lines) > 1 else ()))


def on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem_response(
        error.status_code, Problem(error=error.detail), dict(error.headers or {})
    )


def on_bug(_request: Request, _error: Exception) -> Response:
    """The log says what happened; whoever asked does not need to know our insides."""
    return problem_response(_FAILED, Problem(error="something went wrong here; the log says what"))


def mistakes_in(error: ValidationError) -> tuple[str, ...]:
    """Without the values: a request may hold secrets."""
    items = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(
        ": ".join(part for part in (".".join(map(str, one["loc"])), one["msg"]) if part)
        for one in items
    )

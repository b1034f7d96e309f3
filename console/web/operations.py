"""Every way to ask, in one table: the routes and their description are made from it."""

from parley.agents.deliberation.question import Question
from parley.configs.settings import Settings
from parley.console.inputs.panels import PanelList
from parley.console.listing.rows import Row
from parley.console.runtime.submission import Submission
from parley.console.transcript.asked import AskShown
from parley.console.web.access import Tokens
from parley.console.web.actions_api import (
    Cancellation,
    Done,
    Operating,
    Session,
    SignIn,
)
from parley.console.web.debate_channel import PartialEvent
from parley.console.web.events_api import Following
from parley.console.web.files import Files, MapList
from parley.console.web.hub import Hub
from parley.console.web.openapi import Operation
from parley.console.web.presence import PresenceBoard, PresenceReport
from parley.console.web.read_api import DebateList, FactList, Health, Reading, Shown
from parley.console.web.request_parsing import (
    DeadQuery,
    EventsQuery,
    FactsQuery,
    FeedQuery,
    ListQuery,
    MomentQuery,
    OneDebate,
)
from parley.console.web.schema_api import ASYNCAPI, FACTS, Schemas
from parley.console.web.seat_api import (
    AskList,
    AsksQuery,
    LinkAnswer,
    SeatAnswer,
    Sitting,
    Spoken,
)
from parley.console.web.submit_api import Submitting
from parley.console.web.transcript_api import FactEvent

STREAM = "text/event-stream"
_FACTS = (("fact", FactEvent), ("partial", PartialEvent))


def operations_of(hub: Hub, tokens: Tokens, settings: Settings) -> list[Operation]:
    panels_dir, sitting = settings.panels, Sitting(hub, settings)
    roll = PresenceBoard(hub.client.operations)
    reading, following, files = Reading(hub), Following(hub), Files(hub)
    operating = Operating(hub, roll, tokens, panels_dir)
    submitting = Submitting(hub, roll, panels_dir)
    schemas = Schemas(hub.client.reading.prefix)
    return [
        Operation(
            "GET", "/debates", reading.list_debates, "The debates, newest first.",
            DebateList, query=ListQuery, problems=(400, 401, 503),
        ),
        Operation(
            "POST", "/debates", submitting.submit, "Submit a debate.",
            Row, body=Submission, status=201, takes_image=True,
            problems=(400, 401, 403, 413, 415, 422, 429, 503),
        ),
        Operation(
            "GET", "/debates/changes", following.changes, "Rows of the list as they change.",
            STREAM, events=(("row", Row),), problems=(401, 429),
        ),
        Operation(
            "GET", "/debates/{id}", reading.show, "A debate as it stood after any number of facts.",
            Shown, query=MomentQuery, problems=(400, 401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/facts", reading.facts, "A debate's facts.",
            FactList, query=FactsQuery, problems=(400, 401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/events", following.one_debate,
            "A debate's facts as they happen, from its beginning or behind Last-Event-ID.",
            STREAM, query=EventsQuery, events=_FACTS, problems=(400, 401, 404, 429, 503),
        ),
        Operation(
            "GET", "/events", following.all_debates,
            "The facts of all debates as they happen, or behind Last-Event-ID.",
            STREAM, query=FeedQuery, events=_FACTS[:1], problems=(400, 401, 429),
        ),
        Operation(
            "POST", "/debates/{id}/cancel", operating.cancel, "Cancel a debate.",
            Done, query=OneDebate, body=Cancellation, status=202,
            problems=(400, 401, 403, 404, 409, 415, 422, 503),
        ),
        Operation(
            "DELETE", "/debates/{id}", operating.delete,
            "Delete a closed debate for good; a tombstone stays.",
            Done, query=OneDebate, problems=(400, 401, 403, 404, 409, 503),
        ),
        Operation(
            "GET", "/debates/{id}/export", files.export,
            "A debate with its blobs as JSON Lines, as `parley export` writes them.",
            "application/jsonl", query=OneDebate, problems=(401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/question", files.question,
            "The options, criteria and evidence of a question file.",
            Question, query=OneDebate, problems=(401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/blobs/{sha256}", files.blob, "A blob that a fact names.",
            "application/octet-stream", query=OneDebate, problems=(401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/maps", files.map_list, "Which pictures of the evidence there are.",
            MapList, query=OneDebate, problems=(401, 404, 503),
        ),
        Operation(
            "GET", "/debates/{id}/maps/{name}.png", files.map, "One picture of the evidence.",
            "image/png", query=OneDebate, problems=(401, 404, 503),
        ),
        Operation(
            "GET", "/asks", sitting.waiting, "The asks that wait for people.",
            AskList, query=AsksQuery, problems=(400, 401, 503),
        ),
        Operation(
            "POST", "/asks", sitting.answer, "Answer for a person.",
            Spoken, body=SeatAnswer, status=201,
            problems=(400, 401, 403, 404, 409, 415, 422, 503),
        ),
        Operation(
            "GET", "/seat", sitting.open_link, "The ask that a link opens (header Parley-Link).",
            AskShown, problems=(400, 403, 404, 409, 410, 503), is_open=True,
        ),
        Operation(
            "POST", "/seat", sitting.answer_link, "Answer it.",
            Spoken, body=LinkAnswer, status=201,
            problems=(400, 403, 404, 409, 410, 413, 415, 422, 503), is_open=True,
        ),
        Operation(
            "GET", "/seat/image", sitting.image, "The image that it is about.",
            "image/*", problems=(403, 404, 409, 410, 503), is_open=True,
        ),
        Operation(
            "GET", "/agents", operating.agents, "Who is there, what waits, what was given up.",
            PresenceReport, query=DeadQuery, problems=(400, 401, 503),
        ),
        Operation(
            "POST", "/dead-letters/{number}/redrive", operating.redrive,
            "Ask the persona of a dead letter once more.",
            Done, problems=(400, 401, 403, 404, 503),
        ),
        Operation(
            "GET", "/panels", operating.panels, "The panels, and what they debate.",
            PanelList, problems=(401,),
        ),
        Operation(
            "GET", "/session", operating.session, "What the bearer of this request may do.",
            Session, is_open=True,
        ),
        Operation(
            "POST", "/session", operating.sign_in, "Trade a token for a cookie.",
            Session, body=SignIn, problems=(400, 401, 415, 422), is_open=True,
        ),
        Operation(
            "DELETE", "/session", operating.sign_out, "Give the cookie back.",
            Session, is_open=True,
        ),
        Operation(
            "GET", FACTS, schemas.fact_schema, "The JSON Schema of every fact.",
            "application/json", is_open=True,
        ),
        Operation(
            "GET", ASYNCAPI, schemas.asyncapi, "Subjects, writers and messages: AsyncAPI 3.1.",
            "application/json", is_open=True,
        ),
        Operation(
            "GET", "/healthz", reading.health, "That this process answers, and how it is.",
            Health, is_open=True,
        ),
        Operation(
            "GET", "/readyz", reading.readiness, "Whether it can show debates at this moment.",
            Health, problems=(503,), is_open=True,
        ),
    ]  # fmt: skip

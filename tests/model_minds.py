"""Minds for the model server that fill in the forms of all panels but those of single verdicts."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.model_server import Body, Mind

ENGLISH = "The food was great but the service was slow."
KOREAN = "음식은 맛있지만 서비스는 느려요"
WORDS = {
    ENGLISH: (("food", "was great", "positive"), ("service", "was slow", "negative")),
    KOREAN: (("음식", "맛있지만", "positive"), ("서비스", "느려요", "negative")),
}
AXES = ("monthly cost", "pupils' safety", "noise at night", "staff rota", "legal duty", "image")

# A form is known by a field that no other form has.
FIELDS = {
    "ready": "trial",
    "aspects": "ate",
    "aspect_sentiments": "atsa",
    "structural_risks": "validator",
    "key_points": "turn_v1",
    "proposed_edits": "turn_v2",
    "winner": "judge_v1",
    "final_tuples": "judge_v2",
    "aspect_review": "review_ate",
    "sentiment_review": "review_atsa",
    "resolved_risks": "final_validation",
    "candidates": "proposer",
    "scores": "score",
    "unexplored": "axes",
    "truly_saturated": "force",
    "sensitivity": "sense",
    "dissent": "summary",
    "position": "debater",
    "key_evidence": "report",
}


def form_of(body: Body) -> str:
    shape = body["response_format"]
    schema = shape.get("json_schema", shape)["schema"]
    return next(name for field, name in FIELDS.items() if field in schema["properties"])


def prompt_of(body: Body) -> str:
    return "\n".join(str(one["content"]) for one in body["messages"])


def sensible(changes: Mapping[str, Mapping[str, Any]] | None = None) -> Mind:
    """Every form filled in with sense; `changes` replace fields of some."""

    def mind(body: Body) -> str:
        form = form_of(body)
        filled = FILLED[form](prompt_of(body))
        return json.dumps(filled | dict((changes or {}).get(form, {})), ensure_ascii=False)

    return mind


def _words(prompt: str) -> tuple[tuple[str, str, str], ...]:
    return WORDS[KOREAN if KOREAN in prompt else ENGLISH]


def _edits(prompt: str) -> list[dict[str, Any]]:
    return [
        {
            "op": "confirm_tuple",
            "aspect": aspect,
            "evidence": evidence,
            "polarity": polarity,
            "new_aspect": "",
            "confidence": 0.9,
        }
        for aspect, evidence, polarity in _words(prompt)
    ]


def _tuples(prompt: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"aspect": aspect, "evidence": evidence, "polarity": polarity} | more
        for aspect, evidence, polarity in _words(prompt)
    ]


def _next_axis(prompt: str) -> str:
    return next((axis for axis in AXES if axis not in prompt), "")


def _decided(prompt: str) -> str:
    found = re.search(r"^Verdict: `(\w+)`\.", prompt, re.MULTILINE)
    return found[1] if found else ""


def _debater(_prompt: str) -> dict[str, Any]:
    return {
        "planning": "Look at what changes for those who work there.",
        "reflection": "The costs were named, the people were not.",
        "message": "Opening at night helps those who study late; the costs stay small.",
        "arguments": ["Late readers have no other place."],
        "axes": [],
        "position": "open at night",
        "confidence": 0.8,
    }


def _axes(_prompt: str) -> dict[str, Any]:
    return {
        "axes": [],
        "unexplored": ["winter heating"],
        "conclusion": "Open the library at night on trial.",
        "confidence": 0.9,
    }


FILLED: dict[str, Callable[[str], dict[str, Any]]] = {
    "trial": lambda _: {"ready": True},
    "ate": lambda prompt: {
        "aspects": [{"term": term, "confidence": 0.9} for term, _, _ in _words(prompt)],
        "note": "Two things are judged.",
    },
    "atsa": lambda prompt: {
        "aspect_sentiments": _tuples(prompt, confidence=0.8, is_implicit=False),
        "note": "The contrast sets them apart.",
    },
    "validator": lambda _: {
        "structural_risks": [],
        "correction_proposals": [],
        "consistency_score": 0.9,
        "note": "Both judgements stand in the text.",
    },
    "turn_v1": lambda prompt: {
        "planning": "Show the contrast of both clauses.",
        "reflection": "Nobody has denied it.",
        "evidence": _words(prompt)[0][1],
        "message": " / ".join(f"{aspect}: {polarity}" for aspect, _, polarity in _words(prompt)),
        "key_points": [aspect for aspect, _, _ in _words(prompt)],
        "stance": "neutral",
    },
    "turn_v2": lambda prompt: {"proposed_edits": _edits(prompt), "message": ""},
    "judge_v1": lambda _: {
        "key_agreements": ["Both clauses judge something."],
        "key_disagreements": [],
        "consensus": "One is praised, one is not.",
        "rationale": "Everybody quoted the same words of the sentence.",
        "winner": "none",
    },
    "judge_v2": lambda prompt: {
        "final_tuples": _tuples(prompt),
        "dropped_aspects": [],
        "unresolved_conflicts": [],
        "sentence_polarity": "mixed",
        "rationale": "Every edit confirms what stands there.",
    },
    "review_ate": lambda prompt: {
        "aspect_review": [
            {"term": term, "action": "keep", "new_term": "", "reason": "undisputed"}
            for term, _, _ in _words(prompt)
        ],
        "note": "Both terms stay.",
    },
    "review_atsa": lambda _: {"sentiment_review": [], "note": "Nothing has to change here."},
    "final_validation": lambda _: {
        "resolved_risks": [],
        "remaining_risks": [],
        "final_consistency_score": 0.9,
        "note": "There was no risk to begin with.",
    },
    "debater": _debater,
    "proposer": lambda prompt: (
        _debater(prompt)
        | {
            "candidates": [
                {"id": one, "text": f"Open the library {one}."}
                for one in ("daily", "weekly", "never")
            ]
        }
    ),
    "score": lambda _: {
        "scores": [
            {"id": "daily", "reason": "Costs most of all.", "score": 0.9},
            {"id": "weekly", "reason": "Helps only a few.", "score": 0.5},
            {"id": "never", "reason": "Leaves it as it is.", "score": 0.2},
        ]
    },
    "axes": _axes,
    "force": lambda prompt: {
        "reason": "Another stakeholder looks at it otherwise.",
        "axis": _next_axis(prompt),
        "truly_saturated": not _next_axis(prompt),
    },
    "sense": lambda _: {
        "reason": "Heating costs next to nothing.",
        "axis": "",
        "sensitivity": "low",
    },
    "summary": lambda _: {
        "rationale": "Six axes were weighed, and no one spoke against it.",
        "conclusion": "Open the library at night on trial.",
        "confidence": 0.8,
        "dissent": [],
    },
    "report": lambda prompt: {
        "verdict": _decided(prompt),
        "summary": "The image was found to be manipulated, against one voice.",
        "key_evidence": ["a hard edge"],
    },
}

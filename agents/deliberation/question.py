"""
A structured question: what the rule brain needs in order to deliberate without a model.

    question: Should the library open at night?
    language: en                       # or ko: in which language the brain words its sentences
    options:                           # two or more to choose from
      - {id: staffed, text: Open until midnight with staff}
      - {id: keep, text: Keep the present hours}
    criteria:                          # what matters; each can become an axis of the deliberation
      - {name: operating cost, weight: 0.8}
      - {name: student demand, weight: 0.9, people: true}   # people: it is about those affected
    evidence:                          # what is known, for or against one option on one criterion
      - {option: staffed, criterion: operating cost, against: 0.7, text: "Two more salaries."}
      - {option: staffed, criterion: student demand, for: 0.8, text: "900 students signed."}

Weights and strengths are shares of one: a criterion of weight 1 matters most, a statement of
strength 1 settles its criterion for that option. Criteria below `MATERIAL` come up only when a
perspective is forced or when one of them could overturn the conclusion.
"""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from parley.bus.contracts.base import Contract, Text
from parley.bus.contracts.deliberation.content import CandidateId
from parley.bus.contracts.deliberation.regimes import AxisName
from parley.bus.errors import BadInput
from parley.configs.careful_yaml import parse_yaml

# The name under which a question file travels among the blobs of its debate's input.
QUESTION_BLOB = "question"
MATERIAL = 0.25

Strength = Annotated[float, Field(gt=0, le=1)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class Option(Contract):
    id: CandidateId
    text: Text = ""

    @property
    def label(self) -> str:
        return self.text.strip() or self.id


class Criterion(Contract):
    name: AxisName
    weight: Strength
    people: bool = False


class Evidence(Contract):
    option: CandidateId
    criterion: AxisName
    supports: Strength | None = Field(default=None, alias="for")
    against: Strength | None = None
    text: Line

    @model_validator(mode="after")
    def _takes_one_side(self) -> Self:
        if (self.supports is None) == (self.against is None):
            raise ValueError("evidence speaks `for` or `against` its option, one of both")
        return self


class Question(Contract):
    question: Line
    language: Literal["en", "ko"] = "en"
    options: Annotated[tuple[Option, ...], Field(min_length=2, max_length=50)]
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=100)]
    evidence: Annotated[tuple[Evidence, ...], Field(min_length=1, max_length=1000)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        mistakes = list(self._mistakes())
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    def _mistakes(self) -> Iterator[str]:
        options = [one.id for one in self.options]
        labels = [one.label for one in self.options]
        criteria = [one.name for one in self.criteria]
        for kind, names in (("option", options), ("option", labels), ("criterion", criteria)):
            yield from (f"{kind} {one!r} stands twice" for one in _repeated(names))
        for place, one in enumerate(self.evidence):
            if one.option not in options:
                yield f"evidence.{place}: no option {one.option!r}"
            if one.criterion not in criteria:
                yield f"evidence.{place}: no criterion {one.criterion!r}"

    def criterion(self, name: str) -> Criterion | None:
        return next((one for one in self.criteria if one.name == name), None)

    def option(self, label: str) -> Option | None:
        return next((one for one in self.options if label in (one.label, one.id)), None)


def parse_question(text: str | bytes) -> Question:
    """Raises BadInput that names every mistake."""
    content = parse_yaml(text, "question")
    try:
        return Question.model_validate(content)
    except ValidationError as error:
        mistakes = "; ".join(
            f"{'.'.join(str(part) for part in mistake['loc']) or 'file'}: {mistake['msg']}"
            for mistake in error.errors(include_url=False)
        )
        raise BadInput(f"question: {mistakes}") from error


def _repeated(names: list[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]

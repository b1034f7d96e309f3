"""Questions: as a file with options, criteria and evidence, or in free text."""

from pathlib import Path

from pydantic import ValidationError

from parley.agents.deliberation.question import Question
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.configs.careful_yaml import parse_yaml
from parley.configs.files import read_mapping
from parley.configs.mistakes import explain
from parley.console.inputs.kind import Form, InputKind, text_of
from parley.console.runtime.inputs import Material, read_material

_QUESTION_FILES = (".yaml", ".yml", ".json")


def read(_panel: PanelBase, given: str) -> list[Material]:
    material = read_material(given)
    if Path(given).suffix.lower() not in _QUESTION_FILES or given == "-":
        return [material]
    question = read_question_file(Path(given))
    return [Material(text=question.question, question=material.text.encode())]


def read_question_file(path: Path) -> Question:
    """Raises BadInput with one line for each mistake."""
    return _question(read_mapping(path), str(path))


def write(_panel: PanelBase, form: Form) -> Material:
    if form.question is None:
        return Material(text=text_of(form, "a question is needed"))
    content: object = form.question
    if isinstance(content, str):
        content = parse_yaml(content, "question")
        if not isinstance(content, dict):
            raise BadInput("question: should have question, options, criteria and evidence")
    question = _question(content, "question")
    data = question.model_dump_json(by_alias=True, exclude_none=True).encode()
    return Material(text=question.question, question=data)


def refusal(_panel: PanelBase, material: Material, *, by_model: bool) -> str | None:
    if material.question is not None or by_model:
        return None
    return (
        "a question in free text needs a model: ask one with --brain model, give a question file"
        " with options, criteria and evidence (see parley run --help), or play a script with --brain script:FILE"
    )


def _question(content: object, source: str) -> Question:
    try:
        return Question.model_validate(content)
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, Question, lambda _: source))) from error


INPUT = InputKind(
    takes=lambda _panel: "question",
    read=read,
    write=write,
    refusal=refusal,
    regimes=tuple(theta.value for theta in Theta),
)

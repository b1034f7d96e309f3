"""The trained English models and how far their chances can be believed, as shipped."""

import gzip
import json
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from math import exp, log

from pydantic import TypeAdapter

from parley.agents.absa.english.attachment import Attachment
from parley.agents.absa.english.lattice import Transitions
from parley.agents.absa.english.maxent import MaxEnt, Triple, softmax
from parley.agents.absa.english.tagger import Tagger, TaggerWeights

WEIGHTS_FILE = "english.json.gz"
_DECIMALS = 3
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """
    Fitted on the validation split, so that a confidence of .7 is right seven times in ten.

    Term and tuple chances go through `slope * logit + offset`; polarities are divided by a
    temperature before they become chances.
    """

    term_slope: float = 1.0
    term_offset: float = 0.0
    first_temperature: float = 1.0
    second_temperature: float = 1.0
    tuple_slope: float = 1.0
    tuple_offset: float = 0.0

    def term(self, chance: float) -> float:
        return scaled(chance, self.term_slope, self.term_offset)

    def tuple_confidence(self, chance: float) -> float:
        return scaled(chance, self.tuple_slope, self.tuple_offset)


@dataclass(frozen=True, slots=True)
class EnglishModel:
    """`at_table` reads restaurants a second time: it is taught by reviews of them alone."""

    tagger: Tagger
    polarity: MaxEnt
    attachment: Attachment
    calibration: Calibration
    at_table: "EnglishModel | None" = None


def scaled(chance: float, slope: float, offset: float) -> float:
    inside = min(1.0 - _EDGE, max(_EDGE, chance))
    return 1.0 / (1.0 + exp(-(slope * log(inside / (1.0 - inside)) + offset)))


def tempered(logits: Triple, temperature: float) -> Triple:
    return softmax((logits[0] / temperature, logits[1] / temperature, logits[2] / temperature))


@dataclass(frozen=True, slots=True)
class _Stored:
    """The file's content: plain lists and numbers."""

    transitions: dict[str, float]
    tagger: dict[str, tuple[float, float]]
    polarity: dict[str, Triple]
    own: dict[str, Triple]
    values: dict[str, Triple]
    relations: dict[str, float]
    calibration: dict[str, float]
    at_table: "_Stored | None" = None


_STORED = TypeAdapter(_Stored)


def pack(model: EnglishModel) -> bytes:
    """Byte-identical for equal weights: no time stamp, features in alphabetical order."""
    text = json.dumps(asdict(_stored(model)), ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _stored(model: EnglishModel) -> _Stored:
    return _Stored(
        {name: round(w, _DECIMALS) for name, w in asdict(model.tagger.weights.transitions).items()},
        {n: _pair(row) for n, row in sorted(model.tagger.weights.rows.items())},
        _triples(model.polarity.rows),
        _triples(model.attachment.own),
        _triples(model.attachment.values),
        {n: round(w, _DECIMALS) for n, w in sorted(model.attachment.relations.items())},
        {name: round(value, 4) for name, value in asdict(model.calibration).items()},
        None if model.at_table is None else _stored(model.at_table),
    )


def unpack(packed: bytes) -> EnglishModel:
    return _model(_STORED.validate_json(gzip.decompress(packed)))


def _model(stored: _Stored) -> EnglishModel:
    names = {field.name for field in fields(Calibration)}
    return EnglishModel(
        Tagger(TaggerWeights(stored.tagger, Transitions(**stored.transitions))),
        MaxEnt(stored.polarity),
        Attachment(stored.own, stored.values, stored.relations),
        Calibration(**{name: stored.calibration[name] for name in names}),
        None if stored.at_table is None else _model(stored.at_table),
    )


@cache
def shipped_model() -> EnglishModel:
    return unpack((files("parley.agents.absa") / "weights" / WEIGHTS_FILE).read_bytes())


def _pair(row: tuple[float, float]) -> tuple[float, float]:
    return round(row[0], _DECIMALS), round(row[1], _DECIMALS)


def _triples(rows: dict[str, Triple]) -> dict[str, Triple]:
    return {
        name: (round(row[0], _DECIMALS), round(row[1], _DECIMALS), round(row[2], _DECIMALS))
        for name, row in sorted(rows.items())
    }

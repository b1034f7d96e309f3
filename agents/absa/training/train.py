"""
Trains the English models and writes the weights that are shipped.

    python -m parley.agents.absa.training.train --data DIR [--out FILE]

DIR holds `mams/{train,val}.xml` (MAMS-ATSA) and `text/en_{dmaste,tsa_md,product_reviews}.jsonl.gz`;
the NOTICE names their authors and licences. The weights come from training splits; validation
splits only calibrate confidences. The result does not depend on the machine: no clock, a fixed
seed, pure Python. Reviews of restaurants are read a second time by models learnt from MAMS alone. Beside it stands its recipe: the settings, and the hashes of the data and of the
weights.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from parley.agents.absa.english.attachment import AspectView, rank_name
from parley.agents.absa.english.evidence import link_names, link_opinions
from parley.agents.absa.english.maxent import POLARITIES
from parley.agents.absa.english.model import (
    WEIGHTS_FILE,
    Calibration,
    EnglishModel,
    pack,
)
from parley.agents.absa.english.polarity_features import (
    TokenSpan,
    aspect_mask,
    polarity_features,
)
from parley.agents.absa.english.sentence import Sentence, parse
from parley.agents.absa.english.tagger import Tagger
from parley.agents.absa.training.bilinear import (
    AttachedExample,
    BilinearSettings,
    attached,
    fit_attachment,
)
from parley.agents.absa.training.chain import ChainSettings, fit_tagger, tagged
from parley.agents.absa.training.confidence import calibrated
from parley.agents.absa.training.corpora import (
    GoldSentence,
    GoldTerm,
    calibrating_sentences,
    read_split,
    training_sentences,
)
from parley.agents.absa.training.loglinear import Labelled, LoglinearSettings, fit_polarity
from parley.agents.absa.training.recipe import RECIPE_FILE, recipe_of

_DEFAULT_OUT = Path(__file__).resolve().parent.parent / "weights" / WEIGHTS_FILE


def train_model(
    train: Sequence[GoldSentence],
    held_out: Sequence[GoldSentence],
    at_table: EnglishModel | None = None,
) -> EnglishModel:
    parsed = [(parse(gold.text), gold.terms) for gold in train]
    tagger = Tagger(fit_tagger([tagged(s, terms) for s, terms in parsed], ChainSettings()))
    _tell(f"tagger: {len(tagger.weights.rows)} features")
    polarity = fit_polarity(
        [example for s, terms in parsed for example in labelled(s, terms)], LoglinearSettings()
    )
    _tell(f"polarity: {len(polarity.rows)} features")
    attachment = fit_attachment(
        [example for s, terms in parsed for example in attachments(s, terms)], BilinearSettings()
    )
    _tell(f"attachment: {len(attachment.values)} values")
    model = EnglishModel(tagger, polarity, attachment, Calibration())
    return replace(calibrated(model, held_out), at_table=at_table)


def token_spans(sentence: Sentence, terms: Sequence[GoldTerm]) -> list[TokenSpan]:
    spans = []
    for term in terms:
        touched = [
            at
            for at, token in enumerate(sentence.tokens)
            if token.start < term.end and token.end > term.start
        ]
        spans.append((touched[0], touched[-1] + 1))
    return spans


def labelled(sentence: Sentence, terms: Sequence[GoldTerm]) -> Iterator[Labelled]:
    spans = token_spans(sentence, terms)
    mask = aspect_mask(len(sentence.forms), spans)
    for span, term in zip(spans, terms, strict=True):
        names = polarity_features(sentence, span, spans, mask)
        yield Labelled(names, POLARITIES.index(term.polarity))


def attachments(sentence: Sentence, terms: Sequence[GoldTerm]) -> Iterator[AttachedExample]:
    spans = token_spans(sentence, terms)
    mask = aspect_mask(len(sentence.forms), spans)
    for span, term, links in zip(spans, terms, link_opinions(sentence, spans), strict=True):
        known = (*link_names(links), rank_name(span, spans))
        view = AspectView(sentence, span, mask)
        yield attached(view, known, POLARITIES.index(term.polarity))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the English aspect-sentiment models.")
    parser.add_argument("--data", type=Path, required=True, help="folder with mams and text")
    parser.add_argument("--out", type=Path, default=_DEFAULT_OUT)
    arguments = parser.parse_args()
    mams = arguments.data / "mams"
    model = train_model(
        list(training_sentences(arguments.data)),
        list(calibrating_sentences(arguments.data)),
        train_model(read_split(mams, "train"), read_split(mams, "val")),
    )
    packed = pack(model)
    arguments.out.write_bytes(packed)
    recipe = recipe_of(arguments.data, packed).model_dump_json(indent=2)
    arguments.out.with_name(RECIPE_FILE).write_text(f"{recipe}\n", encoding="utf-8")
    _tell(f"{arguments.out.name}: {len(packed)} bytes, {model.calibration}")


if __name__ == "__main__":
    main()

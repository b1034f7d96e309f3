"""The labelled images, their re-saved variants, and the features of each."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from parley.agents.forensic.evidence import Findings
from parley.agents.forensic.image import Decoder, ImageLimits, decoding, read_file
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.skills import analyse_all
from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput

SOCIAL_SIDE = 1024
RESAVE_QUALITY = 75
# What an image goes through before it is looked at.
VARIANTS = ("original", "q75", "social")


class Sample(Contract):
    path: str
    label: Verdict
    # Where the image comes from; manipulations made of an image share its source.
    source: str
    kind: str
    variant: str
    findings: tuple[Findings, ...]


def variant_of(data: bytes, variant: str) -> bytes:
    if variant == "original":
        return data
    with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as opened:
        image = opened.convert("RGB")
    if variant == "social":
        image.thumbnail((SOCIAL_SIDE, SOCIAL_SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=RESAVE_QUALITY)
    return out.getvalue()


def _analysed(row: dict[str, str], data: bytes, variant: str, decoder: Decoder) -> Sample | None:
    try:
        picture = decoder.decode(variant_of(data, variant))
    except BadInput:
        return None
    return Sample(
        path=row["path"],
        label=Verdict(row["label"].lower()),
        source=row["source_repo"].removeprefix("own:"),
        kind=row["kind"],
        variant=variant,
        findings=analyse_all(picture).findings,
    )


def analyse_folder(folder: Path, variants: tuple[str, ...]) -> Iterator[Sample]:
    """Every image of `manifest.csv` in every variant; what cannot be decoded is left out."""
    limits = ImageLimits()
    with (folder / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with decoding(limits) as decoder:
        for row in rows:
            data = read_file(folder / row["path"], limits)
            for variant in variants:
                sample = _analysed(row, data, variant, decoder)
                if sample is not None:
                    yield sample


def load_samples(folder: Path, variants: tuple[str, ...], cache: Path | None) -> tuple[Sample, ...]:
    """Analysing takes minutes; a cache file (JSON lines) makes a second run take seconds."""
    if cache is not None and cache.exists():
        lines = cache.read_text().splitlines()
        return tuple(Sample.model_validate(json.loads(line)) for line in lines)
    samples = tuple(analyse_folder(folder, variants))
    if cache is not None:
        cache.write_text("\n".join(sample.model_dump_json() for sample in samples))
    return samples

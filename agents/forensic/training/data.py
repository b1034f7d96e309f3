"""The labelled images, their re-saved variants, forgeries made of them, and the features of each."""

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from parley.agents.forensic.evidence import Findings
from parley.agents.forensic.image import Decoder, ImageLimits, decoding, read_file
from parley.agents.forensic.labels import Verdict
from parley.agents.forensic.skills import analyse_all
from parley.agents.forensic.specimen import Pixels
from parley.agents.forensic.training.forge import forge
from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput

SOCIAL_SIDE = 1024
RESAVE_QUALITY = 75
# What an image goes through before it is looked at.
VARIANTS = ("original", "social")
# Of one side of a photograph that forgeries are made of; larger ones are cut.
_FORGED_SIDE: Final = 704
# As large as most of the images are, so that size is no evidence, and a run takes minutes.
_ANALYSED_PIXELS: Final = 500_000

# Sources that share images, or a camera, a generator or an editor, are left out together.
_FAMILIES: Final = {
    "casia": ("solunkeprithwiraj", "namtpham", "lukebusateri22-code", "The-Harsh-Vardhan", "farisha1497"),
    "wallpapers": ("BuddiesOfBudgie", "UbuntuBudgie", "pop-os", "linuxdeepin", "getsolus", "mate-desktop"),
    "stable-diffusion": ("CompVis", "Stability-AI"),
}  # fmt: skip
_FAMILY_OF: Final = {owner: name for name, owners in _FAMILIES.items() for owner in owners}
# Data sets that one repository holds side by side; the manifest's notes name them.
_SETS: Final = {"CASIA": "casia", "CoMoFoD": "comofod", "IMD2020": "imd2020"}
# Weights that ship are fitted to images under these terms only, and to none of these families,
# whose terms are for research whatever the repository says.
_FREE: Final = ("Apache", "BSD", "CC0", "CC BY 4.0", "CC BY-SA", "MIT", "permissive", "unrestricted")  # fmt: skip
_RESEARCH_ONLY: Final = frozenset({"casia", "comofod", "imd2020"})

Row = dict[str, str]


class Sample(Contract):
    path: str
    label: Verdict
    # Images of one source are left out together; manipulations made of an image share its source.
    source: str
    kind: str
    variant: str
    findings: tuple[Findings, ...]
    # Whether weights that ship may be fitted to it.
    licensed: bool = True
    # Made here: fitted to, never judged.
    forged: bool = False


def source_of(row: Row) -> str:
    repository = row["source_repo"].removeprefix("own:")
    for word, family in _SETS.items():
        if word in row.get("notes", ""):
            return family
    return _FAMILY_OF.get(repository.partition("/")[0], repository)


def is_free(row: Row) -> bool:
    licence = row.get("licence", "")
    named = any(word in licence for word in _FREE) and "NC" not in licence
    return named and source_of(row) not in _RESEARCH_ONLY


def variant_of(data: bytes, variant: str) -> bytes:
    if variant == "original":
        return data
    with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as opened:
        image = opened.convert("RGB")
    image.thumbnail((SOCIAL_SIDE, SOCIAL_SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=RESAVE_QUALITY)
    return out.getvalue()


def _analysed(row: Row, data: bytes, variant: str, decoder: Decoder) -> Sample:
    picture = decoder.decode(variant_of(data, variant))
    return Sample(
        path=row["path"],
        label=Verdict(row["label"].lower()),
        source=source_of(row),
        kind=row["kind"],
        variant=variant,
        findings=analyse_all(picture).findings,
        licensed=is_free(row),
        forged="forged_of" in row,
    )


def analyse_folder(folder: Path) -> Iterator[Sample]:
    """Every image of `manifest.csv` in every variant, then the forgeries of its free photographs."""
    limits = ImageLimits(analysis_pixels=_ANALYSED_PIXELS)
    with (folder / "manifest.csv").open(newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    with decoding(limits) as decoder:
        for row, data in (*_files(folder, rows, limits), *_forged(folder, rows)):
            try:
                yield from [_analysed(row, data, variant, decoder) for variant in VARIANTS]
            except BadInput as error:
                sys.stderr.write(f"left out: {folder / row['path']}: {error}\n")


def _files(folder: Path, rows: Sequence[Row], limits: ImageLimits) -> Iterator[tuple[Row, bytes]]:
    for row in rows:
        yield row, read_file(folder / row["path"], limits)


def _forged(folder: Path, rows: Sequence[Row]) -> Iterator[tuple[Row, bytes]]:
    """One of each photograph; what is pasted into it comes from others of its source."""
    by_source: dict[str, list[tuple[Row, Pixels]]] = {}
    for row in rows:
        if row["label"].lower() == Verdict.AUTHENTIC and is_free(row):
            pixels = _pixels(folder / row["path"])
            by_source.setdefault(source_of(row), []).append((row, pixels))
    for members in by_source.values():
        for row, pixels in members:
            donors = [other for _, other in members if other is not pixels] or [pixels]
            made = forge(row["path"], pixels, donors)
            told = {"label": Verdict.MANIPULATED, "kind": made.kind, "forged_of": row["path"]}
            yield {**row, **told}, made.data


def _pixels(path: Path) -> Pixels:
    with Image.open(path) as opened:
        left, top = (max(0, side - _FORGED_SIDE) // 16 * 8 for side in opened.size)
        box = (
            left,
            top,
            min(opened.width, left + _FORGED_SIDE),
            min(opened.height, top + _FORGED_SIDE),
        )
        return np.asarray(opened.crop(box).convert("RGB"))


def load_samples(folders: Sequence[Path], cache: Path | None) -> tuple[Sample, ...]:
    """Analysing takes minutes; a cache file (JSON lines) makes a second run take seconds."""
    if cache is not None and cache.exists():
        lines = cache.read_text().splitlines()
        return tuple(Sample.model_validate(json.loads(line)) for line in lines)
    samples = tuple(one for folder in folders for one in analyse_folder(folder))
    if cache is not None:
        cache.write_text("\n".join(sample.model_dump_json() for sample in samples))
    return samples

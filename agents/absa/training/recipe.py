"""What the shipped weights were made of, so that anybody can tell whether they are still the same."""

import gzip
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from parley.agents.absa.training.bilinear import BilinearSettings
from parley.agents.absa.training.chain import ChainSettings
from parley.agents.absa.training.corpora import SOURCES
from parley.agents.absa.training.loglinear import LoglinearSettings
from parley.bus.contracts.base import Contract

RECIPE_FILE = "english.recipe.json"


class Recipe(Contract):
    """Hashes are SHA-256: of the data files, and of the weights before they were compressed."""

    data: dict[str, str]
    tagger: dict[str, float]
    polarity: dict[str, float]
    attachment: dict[str, float]
    weights: str


def settings() -> dict[str, dict[str, float]]:
    return {
        "tagger": asdict(ChainSettings()),
        "polarity": asdict(LoglinearSettings()),
        "attachment": asdict(BilinearSettings()),
    }


def recipe_of(folder: Path, packed: bytes) -> Recipe:
    data = {name: sha256((folder / name).read_bytes()).hexdigest() for name in SOURCES}
    return Recipe(data=data, weights=fingerprint(packed), **settings())


def fingerprint(packed: bytes) -> str:
    """Compression differs between libraries; what was compressed does not."""
    return sha256(gzip.decompress(packed)).hexdigest()

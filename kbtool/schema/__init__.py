"""What a record is: one pydantic model a kind, and the JSON Schemas made from them."""

from kbtool.schema.benchmark import Benchmark
from kbtool.schema.common import Record
from kbtool.schema.evidence import Gotcha, Review, Source, Withdrawn
from kbtool.schema.kinds import MODELS, model_for
from kbtool.schema.refs import FOLDERS, KINDS, Kind
from kbtool.schema.things import Accelerator, Engine, Interconnect, Model

__all__ = [
    "FOLDERS",
    "KINDS",
    "MODELS",
    "Accelerator",
    "Benchmark",
    "Engine",
    "Gotcha",
    "Interconnect",
    "Kind",
    "Model",
    "Record",
    "Review",
    "Source",
    "Withdrawn",
    "model_for",
]

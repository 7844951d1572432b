"""Who the submitters of MLPerf Inference are: each runs its own submission, and most sell what they submit.

MLCommons and the other submitters review what is submitted, and measure nothing: a result is the submitter's own
figure. A submitter that stands in no list is refused, as its interest would be a guess.
"""

from dataclasses import dataclass
from typing import Final

from kbtool.ingest.mlperf_rows import Row
from kbtool.ingest.published import RowRefusedError, slug
from kbtool.vocab.terms import Interest, MeasuredBy

__all__ = ["Submitter", "submitter_of"]


@dataclass(frozen=True, slots=True)
class Submitter:
    """Who ran a submission."""

    measured_by: MeasuredBy
    interest: Interest


_MAKERS: Final = frozenset({
    "amd", "amd-mangoboost", "dell-mangoboost", "intel", "intel-vmware", "mangoboost", "neuralmagic", "nvidia", "redhat",
    "supermicro-mangoboost", "supermicro-redhat",
})  # fmt: skip
"""They make the accelerator, or make or sell the engine that served, alone or with whoever sells the machine."""
_HARDWARE: Final = frozenset({
    "asustek", "broadcom-supermicro", "cisco", "connecttechinc", "dell", "dell-broadcom", "fujitsu", "gigacomputing", "hpe",
    "inventec", "junipernetworks", "lenovo", "mitac", "quanta-cloud-technology", "supermicro",
})  # fmt: skip
"""They sell machines, or the network between them, with accelerators of others."""
_SERVICES: Final = frozenset({
    "azure", "coreweave", "google", "lambda", "lambda-sit", "nebius", "oracle", "sustainable-metal-cloud", "vultr",
})  # fmt: skip
"""They rent such machines out. Google makes accelerators too; the rows with those are refused, as no name of one is known here."""
_NEITHER: Final = frozenset({"gateoverflow", "krai"})
"""Consultants and teachers of measuring, who make and sell none of what they ran."""
_KINDS: Final = (
    (_MAKERS, Submitter("vendor", "vendor")),
    (_HARDWARE, Submitter("vendor", "sells_hardware")),
    (_SERVICES, Submitter("vendor", "sells_service")),
    (_NEITHER, Submitter("third_party", "none_stated")),
)


def submitter_of(row: Row) -> Submitter:
    """Return who ran a row's submission.

    Raises:
        RowRefusedError: The submitter is in none of the lists.
    """
    name = slug(row.submitter)
    found = next((kind for names, kind in _KINDS if name in names), None)
    if found is None:
        raise RowRefusedError(f"submitter {row.submitter!r} is not in the lists of submitters")
    return found

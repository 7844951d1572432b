"""The machine of an MLPerf run: what table and system description say of it, where the two agree.

Submitters write system descriptions by hand, and paste them: a link that the accelerator does not have becomes a
claim, and no fact.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.mlperf_rows import Row
from kbtool.ingest.mlperf_run import Run, evidence_at
from kbtool.ingest.published import line
from kbtool.schema import Accelerator

__all__ = ["link_claims", "system_of"]

_LIMIT: Final = re.compile(
    r"\bTGP:? ?(\d{2,4}) ?W\b|\b(\d{2,4}) ?W TGP\b|\bGPU (\d{2,4}) ?W / |\(Power Cap (\d{2,4}) ?W\)|-(\d{2,4})W$"
)


def system_of(run: Run, accelerator: Accelerator) -> dict[str, Any]:
    """Return the machine of a run; its links come from the accelerator record."""
    row, device = run.row, run.device
    limit, printed = _power_limit(row, accelerator)
    driver, platform = _versions(run)
    return {
        "accelerator": f"accelerators/{device.id}",
        "accelerator_basis": "inferred" if device.inferred else "stated",
        "accelerator_as_published": line(row.accelerator),
        "accelerator_count": device.count,
        "accelerators_present": device.present,
        "nodes": row.nodes,
        "power_limit_w": limit,
        "power_limit_as_published": printed,
        "host_cpu": line(row.processor) if row.processor else None,
        "host_sockets": _sockets(row),
        "host_memory_as_published": line(run.system.host_memory)
        if run.system and run.system.host_memory
        else None,
        "os": line(row.os) if row.os else None,
        "driver": driver,
        "cuda": platform,
        "interconnects": [
            {"interconnect": each.interconnect, "basis": "inferred", "role": each.role}
            for each in accelerator.interconnects
            if each.interconnect
            and (each.role == "host_link" or (each.role == "scale_up" and device.count > 1))
        ],
    }


def _sockets(row: Row) -> int | None:
    """Return the processors of a node, unless the system's name counts them otherwise."""
    if not row.sockets:
        return None
    named = re.search(
        r"(?:^|[_-])(\d+)x ?(?:AMD |Intel )?(?:EPYC|Xeon|Platinum)",
        f"{row.platform}_{row.processor}",
        re.IGNORECASE,
    )
    agrees = named is None or int(named[1]) in (row.sockets, row.sockets * (row.nodes or 1))
    return row.sockets if agrees else None


def _power_limit(row: Row, accelerator: Accelerator) -> tuple[Decimal | None, str | None]:
    """Return the limit that the row states; none above what the board allows, nor of a run tuned for efficiency."""
    if "maxq" in row.platform.casefold():
        return None, None
    matches = [match for text in (row.notes, row.accelerator) for match in _LIMIT.finditer(text)]
    found = {Decimal(next(filter(None, match.groups()))) for match in matches}
    if len(found) != 1:
        return None, None
    limit = found.pop()
    power = accelerator.power
    board = max(
        (each.value for each in (power.default_w, power.max_limit_w) if each and each.value), default=None
    )
    if board is not None and limit > board:
        return None, None
    return limit, line(matches[0][0].strip(" /-()"))


_DRIVER: Final = re.compile(r"(?:Driver |cuda_driver_version['\"]?: ['\"]?)(\d[\d.]*\d)")
_CUDA: Final = re.compile(r"(?:CUDA |cuda_version['\"]?: ['\"]?)(\d+\.\d+)", re.IGNORECASE)
_ROCM: Final = re.compile(r"ROCm (\d[\w.~-]*)")


def _versions(run: Run) -> tuple[str | None, str | None]:
    """Return driver and CUDA or ROCm version; neither where table and system description give two."""
    texts = f"{run.row.software} | {run.system.other_software if run.system else ''}"
    drivers, cudas, rocms = (set(each.findall(texts)) for each in (_DRIVER, _CUDA, _ROCM))
    driver = drivers.pop() if len(drivers) == 1 else None
    if len(cudas) == 1:
        return driver, cudas.pop()
    return driver, f"ROCm {rocms.pop()}" if not cudas and len(rocms) == 1 else None


def link_claims(run: Run, accelerator: Accelerator, source: str) -> Iterator[dict[str, Any]]:
    """Yield a claim where the system description names a link that the accelerator does not have."""
    system = run.system
    if system is None or "nvlink" not in system.link.casefold() or not accelerator.interconnects:
        return
    known = [each.interconnect or "" for each in accelerator.interconnects if each.role == "scale_up"]
    generation = re.search(r"(\d)(?:th|rd|nd)[- ]Gen", system.link, re.IGNORECASE)
    plain = [each for each in known if re.search(r"/nvlink-\d$", each)]
    other = generation and plain and not any(each.endswith(f"nvlink-{generation[1]}") for each in plain)
    if other or not any("nvlink" in each for each in known):
        text = line(system.link)
        yield {
            "id": "link-of-another-system",
            "statement": f"The system description names a link between accelerators that {accelerator.title} does not have.",
            "value": text,
            "verdict": "contradicted",
            "evidence": [evidence_at(source, f"{system.path}, accelerator_interconnect", text)],
            "fields": ["system.interconnects"],
            "resolved_by": f"accelerators/{accelerator.id}",
        }

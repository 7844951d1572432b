"""Whether decoding stays within the captured graphs at the running-request limit: beyond them lies a cliff."""

from collections.abc import Iterator

from kbtool.runner.doctor.diagnosis import Remark, ServerReport, Severity
from kbtool.runner.plan.check import Known

__all__ = ["graph_remarks", "known_of", "verify_rows"]


def verify_rows(report: ServerReport) -> int | None:
    """Return the rows that one request takes in a decode step; None where it is not known whether drafts are made."""
    rows, drafts = report.value("speculation.verify_rows"), report.value("speculation.draft_tok")
    if isinstance(rows, int):
        return rows
    if isinstance(drafts, int):
        return drafts + 1
    return 1 if report.value("speculation.method") == "none" else None


def known_of(servers: tuple[ServerReport, ...], router: ServerReport | None) -> Known:
    """Return the limits that a plan's cells are checked against: of several instances, the tightest of one."""

    def least(values: list[object]) -> int | None:
        return min((value for value in values if isinstance(value, int)), default=None)

    graphs = least([each.value("serving.cuda_graph_max_batch") for each in servers])
    contexts: list[object] = [each.value("serving.context_tok") for each in servers]
    caches: list[object] = [each.identity.kv_cache_tok for each in servers if each.identity]
    return Known(
        context_tok=least(contexts),
        proxy_context_tok=router.identity.context_tok if router is not None and router.identity else None,
        kv_capacity_tok=least(caches),
        max_running_requests=_sum([each.value("serving.max_running_requests") for each in servers]),
        # Users are spread over the instances, and so are the rows.
        graph_max_batch=None if graphs is None else graphs * len(servers),
        verify_rows=max((rows for each in servers if (rows := verify_rows(each)) is not None), default=None),
    )


def _sum(values: list[object]) -> int | None:
    """Return the requests that run at once over all instances; None where one does not say."""
    whole = [value for value in values if isinstance(value, int)]
    return sum(whole) if whole and len(whole) == len(values) else None


def graph_remarks(report: ServerReport) -> Iterator[Remark]:
    """Yield whether running requests x verify rows fit into the largest captured batch."""
    place = report.name
    if report.value("serving.cuda_graph_decode") is False:
        found = "decoding runs without captured graphs, which is far slower"
        yield Remark(
            Severity.WARNING, "graphs", found, "take out --enforce-eager or --disable-cuda-graph", place
        )
        return
    largest, running = (
        report.value("serving.cuda_graph_max_batch"),
        report.value("serving.max_running_requests"),
    )
    rows = verify_rows(report)
    if not (isinstance(largest, int) and isinstance(running, int)) or rows is None:
        return
    if running * rows > largest:
        last_good = largest // rows
        found = (
            f"{running} running requests of {rows} rows are {running * rows} rows a step, over the largest captured "
            f"batch of {largest}: expect a cliff above {last_good} users"
        )
        remedy = f"capture batches up to {running * rows} rows, or measure below and above {last_good} users"
        yield Remark(Severity.WARNING, "graphs", found, remedy, place)
    else:
        found = f"{running} running requests of {rows} rows fit into the largest captured batch of {largest}"
        yield Remark(Severity.NOTE, "graphs", found, "", place)

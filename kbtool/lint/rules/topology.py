"""Rules about topology: the layout fits into the system, and requests fit into the engine."""

from collections.abc import Iterator
from typing import Any

from kbtool.lint.lookup import Lookup
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Accelerator, Benchmark, Model
from kbtool.schema.benchmark import Deployment, Result


@rule("T001", "layout-larger-than-system")
def layout_larger_than_system(record: Benchmark) -> Iterator[Problem]:
    """Flag a layout that needs more accelerators than the record lists.

    One of the two was misread, and every per-accelerator figure is then wrong. EP, DCP and attention DP
    reuse ranks that TP and DP already count, so they are left out.

    Bad:
        deployment: {tp: 8}

    Good:
        deployment: {tp: 2, ep: 2}
    """
    used, count = record.deployment.accelerators(), record.system.accelerator_count
    if used is not None and count is not None and used > count:
        message = f"{_product(record.deployment)} is {used}, but accelerator_count is {count}: correct the one the source contradicts"
        yield Problem("/deployment", message)


@rule("T002", "layout-smaller-than-system", severity="warning")
def layout_smaller_than_system(record: Benchmark) -> Iterator[Problem]:
    """Flag a layout that leaves accelerators of the system idle.

    `accelerator_count` is the number that takes part in the run, and the denominator of every share. Those
    that are only in the machine are counted by `accelerators_present`.

    Bad:
        system: {accelerator_count: 8}

    Good:
        system: {accelerator_count: 2, accelerators_present: 8}
    """
    layout, count = record.deployment, record.system.accelerator_count
    if layout.prefill_accelerators or None in (layout.instances, layout.pp, layout.dp):
        return  # a factor that nobody knows may be what is missing
    used = layout.accelerators()
    if used is not None and count is not None and used < count:
        message = (
            f"{_product(layout)} is {used}, but accelerator_count is {count}: "
            "count those that take part, and the others as accelerators_present"
        )
        yield Problem("/system/accelerator_count", message)


@rule("T003", "expert-ranks-beyond-layout")
def expert_ranks_beyond_layout(record: Benchmark) -> Iterator[Problem]:
    """Flag more expert-parallel ranks than an instance has ranks.

    Expert parallelism spreads experts over the ranks that tensor and data parallelism made; it adds none.

    Bad:
        deployment: {ep: 4}

    Good:
        deployment: {ep: 2}
    """
    layout = record.deployment
    if layout.ep is None or layout.tp is None:
        return
    ranks = layout.tp * (layout.pp or 1) * (layout.dp or 1)
    if layout.ep > ranks:
        message = (
            f"ep is {layout.ep}, but an instance has {ranks} ranks (tp x pp x dp): correct the one misread"
        )
        yield Problem("/deployment/ep", message)


@rule("T004", "reused-ranks-beyond-tensor")
def reused_ranks_beyond_tensor(record: Benchmark) -> Iterator[Problem]:
    """Flag attention-data-parallel or decode-context-parallel ranks that tensor parallelism does not have.

    Both divide the tensor-parallel group. What one engine calls `dp` is another's attention DP.

    Bad:
        deployment: {attn_dp: 8}

    Good:
        deployment: {attn_dp: 2}
    """
    layout = record.deployment
    if layout.tp is None:
        return
    for name, ranks in (("attn_dp", layout.attn_dp), ("dcp", layout.dcp)):
        if ranks is not None and (ranks > layout.tp or layout.tp % ranks):
            message = f"{name} is {ranks}, which does not divide tp {layout.tp}: check whether it is `dp`"
            yield Problem(f"/deployment/{name}", message)


@rule("T005", "more-in-use-than-there-are")
def more_in_use_than_there_are(record: Benchmark) -> Iterator[Problem]:
    """Flag a result that uses more accelerators or instances than the record has.

    Bad:
        system: {accelerators_present: 1}

    Good:
        system: {accelerators_present: 2}
    """
    system, layout = record.system, record.deployment
    if _exceeds(system.accelerator_count, system.accelerators_present):
        message = f"{system.accelerator_count} take part, but {system.accelerators_present} are present: correct one"
        yield Problem("/system/accelerators_present", message)
    for index, result in enumerate(record.results):
        at = result.at
        if _exceeds(at.accelerators, system.accelerator_count):
            message = f"{at.accelerators} accelerators of {system.accelerator_count}: correct one of the two"
            yield Problem(f"/results/{index}/at/accelerators", message)
        if _exceeds(at.instances, layout.instances):
            message = f"{at.instances} instances of {layout.instances}: correct one of the two"
            yield Problem(f"/results/{index}/at/instances", message)


@rule("T006", "split-not-the-sum")
def split_not_the_sum(record: Benchmark) -> Iterator[Problem]:
    """Flag a disaggregated system whose prefill and decode accelerators are not all accelerators.

    Both halves count for every share: tok/s per decode accelerator alone flatters.

    Bad:
        deployment: {prefill_accelerators: 2, decode_accelerators: 2}

    Good:
        deployment: {prefill_accelerators: 1, decode_accelerators: 1}
    """
    layout, count = record.deployment, record.system.accelerator_count
    prefill, decode = layout.prefill_accelerators, layout.decode_accelerators
    if (prefill is None) != (decode is None):
        message = "only one half of a disaggregated system is given: give prefill_accelerators and decode_accelerators"
        yield Problem("/deployment", message)
    elif prefill is not None and decode is not None and count is not None and prefill + decode != count:
        message = (
            f"{prefill} prefill and {decode} decode are {prefill + decode}, but accelerator_count is {count}"
        )
        yield Problem(
            "/deployment/prefill_accelerators", f"{message}: correct the one the source contradicts"
        )


@rule("T007", "router-for-one-instance", severity="warning")
def router_for_one_instance(record: Benchmark) -> Iterator[Problem]:
    """Flag a router in front of a single instance.

    A router spreads requests over several; with one, either the number of instances is wrong or it is a
    proxy.

    Bad:
        deployment: {router: {name: base-router}}

    Good:
        deployment: {proxy: base-router}
    """
    layout = record.deployment
    if layout.router is not None and layout.instances == 1:
        yield Problem(
            "/deployment/router", "a router in front of one instance: correct `instances`, or call it `proxy`"
        )


@rule("T008", "device-order-of-another-length")
def device_order_of_another_length(record: Benchmark) -> Iterator[Problem]:
    """Flag a device list that has not as many devices as the layout uses.

    Bad:
        deployment: {device_order: "0,1,2,3"}

    Good:
        deployment: {device_order: "1,0"}
    """
    order, count = record.deployment.device_order, record.system.accelerator_count
    if order is None or count is None or not order.replace(",", "").replace(" ", "").isdigit():
        return
    devices = [each for each in order.split(",") if each.strip()]
    if "," in order and len(devices) != count:
        message = f"{len(devices)} devices, but accelerator_count is {count}: correct the one the source contradicts"
        yield Problem("/deployment/device_order", message)


@rule("T009", "context-above-model", severity="warning")
def context_above_model(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag an engine that accepts a longer context than the model has.

    Positions that the model has never seen give text, but not answers; or the limit is another model's.

    Bad:
        serving: {context_tok: 262144}

    Good:
        serving: {context_tok: 131072}
    """
    context = record.serving.context_tok
    if context is None:
        return
    model = refs.get(record.model.model, Model)
    known = model.context_tok if model else None
    longest = None if known is None else known.high or known.value
    if longest is not None and context > longest:
        message = (
            f"context_tok is {context}, but {record.model.model} has {longest:f}: correct the one misread"
        )
        yield Problem("/serving/context_tok", message)


@rule("T010", "advertised-above-accepted", severity="warning")
def advertised_above_accepted(record: Benchmark) -> Iterator[Problem]:
    """Flag a proxy that advertises a longer context than the engine accepts.

    Clients fill the advertised window and are refused, and a conversation above the engine's limit cannot
    even be compacted.

    Bad:
        serving: {advertised_context_tok: 131072}

    Good:
        serving: {advertised_context_tok: 49152}
    """
    serving = record.serving
    if _exceeds(serving.advertised_context_tok, serving.context_tok):
        message = f"{serving.advertised_context_tok} are advertised, {serving.context_tok} accepted: correct the one misread"
        yield Problem("/serving/advertised_context_tok", message)


@rule("T011", "request-longer-than-context")
def request_longer_than_context(record: Benchmark) -> Iterator[Problem]:
    """Flag a result whose input and output do not fit into the engine's context.

    Such a request is refused or cut, so that the figure is of a shorter one.

    Bad:
        serving: {context_tok: 4096}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 4000, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        serving: {context_tok: 8192}
        results:
          - {id: decode-prose-1, metric: req_s, value: 3, as_published: "3",
             at: {concurrency: 8, input_tok: 4000, output_tok: 512, prompt_class: prose},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        context = _setting(result, "serving.context_tok", record.serving.context_tok)
        length = (result.at.input_tok or 0) + (result.at.output_tok or 0) + (result.at.depth_tok or 0)
        if isinstance(context, int) and length > context:
            message = (
                f"input and output are {length} tokens, but context_tok is {context}: correct the one misread"
            )
            yield Problem(f"/results/{index}/at", message)


@rule("T012", "queueing-not-told", severity="warning")
def queueing_not_told(record: Benchmark) -> Iterator[Problem]:
    """Flag more requests in flight than the engine decodes at once, without a word on queueing.

    Those above the limit wait. A throughput then stands for the limit and not for the concurrency, and a
    latency holds the wait: `at.queued` says so.

    Bad:
        serving: {max_running_requests: 8}
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 324, as_published: 324 tok/s, repeats: 3,
             at: {concurrency: 48, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        serving: {max_running_requests: 8}
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 324, as_published: 324 tok/s, repeats: 3,
             at: {concurrency: 48, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host,
                  queued: true},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        at = result.at
        if at.concurrency is None or at.queued is not None:
            continue
        path = "serving.max_running_requests"
        limit = _setting(result, path, record.serving.max_running_requests)
        instances = at.instances or record.deployment.instances or 1
        if isinstance(limit, int) and at.concurrency > limit * instances:
            message = f"{at.concurrency} in flight, but {limit} x {instances} run at once: say `queued: true`, or correct one"
            yield Problem(f"/results/{index}/at/concurrency", message)


@rule("T013", "inferred-link-not-in-accelerator")
def inferred_link_not_in_accelerator(record: Benchmark, refs: Lookup) -> Iterator[Problem]:
    """Flag a link that is said to be inferred from the accelerator, which does not have it.

    `inferred` means the fabric present in the hardware. It comes from the accelerator record and from
    nowhere else.

    Bad:
        system: {interconnects: [{interconnect: interconnects/other, basis: inferred, role: scale_up}]}
        interconnects/other: {title: Other Link}

    Good:
        system: {interconnects: [{interconnect: interconnects/base-interconnect, basis: inferred, role: host_link}]}
    """
    inferred = [(i, each) for i, each in enumerate(record.system.interconnects) if each.basis == "inferred"]
    accelerator = refs.get(record.system.accelerator, Accelerator) if inferred else None
    if accelerator is None:
        return
    known = {each.interconnect for each in accelerator.interconnects}
    for index, use in inferred:
        if use.interconnect not in known:
            message = f"{record.system.accelerator} has no {use.interconnect}: say `basis: stated`, or take the link off"
            yield Problem(f"/system/interconnects/{index}/interconnect", message)


@rule("T014", "traffic-without-a-partner", severity="warning")
def traffic_without_a_partner(record: Benchmark) -> Iterator[Problem]:
    """Flag traffic between accelerators in a run on one accelerator.

    Bad:
        system:
          accelerator_count: 1
          interconnects:
            - {interconnect: interconnects/base-interconnect, basis: stated, role: scale_up, traffic_shown: true}
        deployment: {tp: 1}

    Good:
        system:
          accelerator_count: 1
          interconnects:
            - {interconnect: interconnects/base-interconnect, basis: stated, role: scale_up, traffic_shown: false}
        deployment: {tp: 1}
    """
    if record.system.accelerator_count != 1:
        return
    for index, use in enumerate(record.system.interconnects):
        if use.traffic_shown and use.role != "host_link":
            message = "one accelerator has no other to talk to: correct accelerator_count or traffic_shown"
            yield Problem(f"/system/interconnects/{index}/traffic_shown", message)


def _product(layout: Deployment) -> str:
    names = ("instances", "tp", "pp", "dp")
    return " x ".join(name for name in names if getattr(layout, name) is not None)


def _exceeds(used: int | None, available: int | None) -> bool:
    return used is not None and available is not None and used > available


def _setting(result: Result, path: str, setup: Any) -> Any:
    """Return a setting as it was in one result."""
    return next((each.value for each in result.with_ if each.field == path), setup)

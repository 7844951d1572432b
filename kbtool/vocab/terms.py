"""The closed sets of words that a record may use, and what each word means.

A set is a `Literal` type for the models and a table of definitions for the glossary; a test
holds the two equal.  What one engine or tool calls differently stays in quotes in the record
(`as_published`); here is the field's own term, spelled one way.
"""

from typing import Final, Literal, get_args

from kbtool.vocab.warnings import WARNINGS

__all__ = [
    "CENTRES",
    "DEFINITIONS",
    "WITHDRAWN",
    "Basis",
    "CacheProof",
    "CacheState",
    "ClaimVerdict",
    "Disclosure",
    "Dtype",
    "GapReason",
    "Interest",
    "MeasuredBy",
    "MeasuringPath",
    "Pool",
    "PromptClass",
    "Qualifier",
    "RangeMeaning",
    "Relation",
    "Reproducibility",
    "RunWarning",
    "SourceKind",
    "SourceRole",
    "Sparsity",
    "SpecMethod",
    "SpreadKind",
    "StatedStatus",
    "Statistic",
    "Status",
    "members",
]

StatedStatus = Literal["draft", "disputed", "superseded", "retracted"]
Status = Literal["draft", "reviewed", "verified", "disputed", "superseded", "retracted"]
WITHDRAWN: Final = frozenset({"retracted", "superseded"})
"""Statuses of records that keep their page and leave every ranking and count."""
Pool = Literal["prefill", "decode"]
MeasuredBy = Literal["self", "third_party", "operator", "vendor", "auditor", "unknown"]
Basis = Literal["stated", "inferred", "derived"]
GapReason = Literal["not_applicable", "not_observable", "unknown_dev_build", "withdrawn"]
Reproducibility = Literal["full", "settings_only", "partial", "none"]
Statistic = Literal["single", "mean", "median", "p50", "p90", "p95", "p99", "min", "max", "peak"]
CENTRES: Final[tuple[Statistic, ...]] = ("mean", "median", "p50")
"""Statistics that tell of the middle of a run, and that a single run is a small sample of."""
Qualifier = Literal["approx", "at_least", "at_most"]
RangeMeaning = Literal["min_max", "p5_p95", "p10_p90", "ci95", "unspecified"]
SpreadKind = Literal["stdev", "ci95", "half_range", "relative_difference"]
PromptClass = Literal[
    "prose", "code", "structured", "mixed", "random_tokens", "agent", "synthetic", "multimodal"
]
CacheState = Literal["cold", "warm", "restart_warm", "contaminated", "unproven", "off"]
CacheProof = Literal[
    "cached_tokens_zero",
    "template_tokens_only",
    "unique_prompt",
    "cache_reset",
    "server_restart",
    "label_only",
]
MeasuringPath = Literal["on_host", "lan", "tunnel", "through_proxy", "internet"]
Sparsity = Literal["dense", "sparse", "unstated"]
SpecMethod = Literal[
    "none", "mtp", "eagle", "eagle2", "eagle3", "dspark", "dflash", "ngram", "draft_model", "medusa", "other"
]
Dtype = Literal[
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla", "mxfp8", "fp6",
    "mxfp6", "fp4", "nvfp4", "mxfp4", "nvfp4_ds_mla", "int8", "int4", "int4_awq", "int4_gptq",
    "gguf_q2", "gguf_q3", "gguf_q4", "gguf_q5", "gguf_q6", "gguf_q8", "mixed",
]  # fmt: skip
SourceKind = Literal[
    "article", "repository_file", "issue", "pull_request", "knowledge_base_record", "documentation",
    "vendor_page", "result_database", "package", "paper", "forum_post", "measured_run",
]  # fmt: skip
SourceRole = Literal["primary", "cross_post", "secondary", "correction", "later_evidence"]
Interest = Literal["vendor", "sells_service", "sells_hardware", "none_stated", "independent"]
Relation = Literal[
    "supersedes", "corrects", "withdraws", "contradicts", "replicates", "same_run_as", "same_system_as"
]
ClaimVerdict = Literal[
    "confirmed", "consistent", "qualified", "superseded", "inconsistent", "contradicted",
    "not_reproduced", "not_found", "unresolved",
]  # fmt: skip
RunWarning = Literal[
    "few_samples", "single_session", "wide_spread", "drift", "outliers", "unsteady", "errors", "retries",
    "length_off", "short_outputs", "queued", "graph_cliff", "client_bound", "sent_late", "user_clock", "uncalibrated", "clock_step",
    "unproven_cold", "contaminated", "foreign_traffic", "unaccounted_tokens", "not_isolated", "throttled",
    "power_capped", "telemetry_gap", "after_restart", "synthetic_acceptance", "speed_only", "garbage_output",
    "not_repeatable", "truncated_output",
]  # fmt: skip
"""The words of `kbtool.vocab.warnings.WarningCode`, for the models."""
Disclosure = Literal["given", "omitted_by_source", "gap", "missing"]


def members(literal: object) -> tuple[str, ...]:
    """Return the words of one of the sets above, in the order in which they are listed."""
    return get_args(literal)


DEFINITIONS: Final[dict[str, dict[str, str]]] = {
    "status": {
        "draft": "Written down, not yet checked by a second person. Every number is provisional.",
        "reviewed": "A maintainer other than the author opened the sources and found the figures there.",
        "verified": "Reviewed, and the figure was measured again or traced to raw data.",
        "disputed": "Evidence stands against it; the page shows both sides.",
        "superseded": "A later record replaces it. It keeps its page and leaves every ranking.",
        "retracted": "Wrong, with the reason. It keeps its page and leaves every ranking.",
    },
    "measured_by": {
        "self": "The maintainers of this knowledge base, with the raw data kept.",
        "third_party": "Somebody who neither makes nor sells what was measured.",
        "operator": "Whoever runs the system in production, reporting about their own deployment.",
        "vendor": "The maker or seller of the accelerator, engine, model or service.",
        "auditor": "A body that measures under its own published rules; one that reviews what others ran measures nothing.",
        "unknown": "The source does not say who measured.",
    },
    "basis": {
        "stated": "The source says it.",
        "inferred": "Filled in by a rule, which is named; the source does not say it.",
        "derived": "Computed from stated figures by a formula, which is given with its inputs.",
    },
    "gap_reason": {
        "not_applicable": "The field has no meaning for this system.",
        "not_observable": "It could not be read where the measurement was made.",
        "unknown_dev_build": "A development build that reports no usable version.",
        "withdrawn": "The source gave a value and took it back.",
    },
    "reproducibility": {
        "full": "Versions, settings, workload and scripts are public; a reader can repeat the run.",
        "settings_only": "The settings are given, the workload or the versions are not.",
        "partial": "Something essential to a repeat is missing.",
        "none": "The source gives the figure alone.",
    },
    "statistic": {
        "single": "One run or request.",
        "mean": "Arithmetic mean over runs or requests.",
        "median": "Middle of several runs.",
        "p50": "50th percentile over requests.",
        "p90": "90th percentile over requests.",
        "p95": "95th percentile over requests.",
        "p99": "99th percentile over requests.",
        "min": "Smallest observed.",
        "max": "Largest observed.",
        "peak": "Best point of a sweep, or the highest value a counter showed.",
    },
    "qualifier": {
        "approx": "The source marks the figure as approximate.",
        "at_least": "A lower bound.",
        "at_most": "An upper bound.",
    },
    "range_meaning": {
        "min_max": "Smallest and largest observed.",
        "p5_p95": "5th and 95th percentile.",
        "p10_p90": "10th and 90th percentile.",
        "ci95": "95 % confidence interval.",
        "unspecified": "The source prints two numbers and does not say what they are.",
    },
    "spread_kind": {
        "stdev": "Sample standard deviation, in the metric's unit.",
        "ci95": "Half width of the 95 % confidence interval, in the metric's unit.",
        "half_range": "Half of maximum minus minimum, in the metric's unit.",
        "relative_difference": "Difference between two runs as a share of the first, a ratio.",
    },
    "prompt_class": {
        "prose": "Natural-language text.",
        "code": "Source code.",
        "structured": "Output constrained to a schema, or JSON by instruction.",
        "mixed": "Several classes in one run.",
        "random_tokens": "Tokens drawn at random; draft acceptance means little on them.",
        "agent": "Multi-turn tool-using sessions.",
        "synthetic": "Generated filler text of a fixed length.",
        "multimodal": "Images, audio or video beside text.",
    },
    "pool": {
        "prefill": "The accelerators of a disaggregated system that read prompts.",
        "decode": "Those that generate; beside each of them others read the prompts.",
    },
    "cache_state": {
        "cold": "No part of the prompt was in the prefix cache.",
        "warm": "The prompt, or a prefix of it, was in the cache.",
        "restart_warm": "The server was restarted with a persisted cache.",
        "contaminated": "Labelled cold, but shown to have hit the cache.",
        "unproven": "Meant to be cold, and nothing shows whether it was.",
        "off": "Prefix caching was disabled.",
    },
    "cache_proof": {
        "cached_tokens_zero": "The server reported zero cached tokens for the request.",
        "template_tokens_only": "The server reused no more than the opening of the chat template, which all prompts share.",
        "unique_prompt": "Each prompt was unique from its first token on.",
        "cache_reset": "The cache was reset before and the effect was checked.",
        "server_restart": "The server was restarted with an empty cache.",
        "label_only": "The source says so and shows nothing.",
    },
    "measuring_path": {
        "on_host": "Client and server on the same machine.",
        "lan": "Client on the local network.",
        "tunnel": "Client through an SSH or VPN tunnel.",
        "through_proxy": "Client through a reverse proxy or load balancer.",
        "internet": "Client over the public internet.",
    },
    "sparsity": {
        "dense": "Peak without structured sparsity.",
        "sparse": "Peak with 2:1 structured sparsity; twice the dense figure, rarely reachable.",
        "unstated": "The source does not say which; no limit is computed from it.",
    },
    "spec_method": {
        "none": "One token per step.",
        "mtp": "Multi-token-prediction head of the model itself.",
        "eagle": "EAGLE draft head.",
        "eagle2": "EAGLE-2 draft head with a dynamic tree.",
        "eagle3": "EAGLE-3 draft head.",
        "dspark": "DSpark block draft head, bundled with DeepSeek V4 checkpoints.",
        "dflash": "DFlash block diffusion draft model.",
        "ngram": "Continuations looked up in the prompt.",
        "draft_model": "A separate smaller model drafts.",
        "medusa": "Medusa heads.",
        "other": "Another method, named in `speculation.as_published`.",
    },
    "dtype": {
        "fp64": "IEEE 64-bit floating point.",
        "fp32": "IEEE 32-bit floating point.",
        "tf32": "19-bit tensor format with an 8-bit exponent.",
        "bf16": "16-bit floating point with an 8-bit exponent.",
        "fp16": "IEEE 16-bit floating point.",
        "fp8": "8-bit floating point, encoding not stated.",
        "fp8_e4m3": "8-bit floating point, 4 exponent and 3 mantissa bits.",
        "fp8_e5m2": "8-bit floating point, 5 exponent and 2 mantissa bits.",
        "fp8_ds_mla": "Row layout of 8-bit latent KV with a 16-bit rotary part (656 bytes a row).",
        "mxfp8": "OCP microscaling 8-bit floating point.",
        "fp6": "6-bit floating point, encoding not stated.",
        "mxfp6": "OCP microscaling 6-bit floating point.",
        "fp4": "4-bit floating point, encoding not stated.",
        "nvfp4": "NVIDIA 4-bit floating point with 16-element blocks.",
        "mxfp4": "OCP microscaling 4-bit floating point with 32-element blocks.",
        "nvfp4_ds_mla": "Row layout of 4-bit latent KV with a 16-bit rotary part (432 bytes a row).",
        "int8": "8-bit integer.",
        "int4": "4-bit integer, scheme not stated.",
        "int4_awq": "4-bit integer, activation-aware scales.",
        "int4_gptq": "4-bit integer, GPTQ.",
        "gguf_q2": "A 2-bit GGUF quantisation; the exact type is in `as_published`.",
        "gguf_q3": "A 3-bit GGUF quantisation.",
        "gguf_q4": "A 4-bit GGUF quantisation; the exact type is in `as_published`.",
        "gguf_q5": "A 5-bit GGUF quantisation.",
        "gguf_q6": "A 6-bit GGUF quantisation.",
        "gguf_q8": "An 8-bit GGUF quantisation.",
        "mixed": "Several formats; each part is stated in its own field.",
    },
    "source_kind": {
        "article": "Blog post, news article or field report.",
        "repository_file": "A file in a version-controlled repository, at a commit.",
        "issue": "An issue or discussion thread.",
        "pull_request": "A pull request with its files and discussion.",
        "knowledge_base_record": "A record of another knowledge base.",
        "documentation": "Documentation of an engine or library.",
        "vendor_page": "Specification or product page of a maker.",
        "result_database": "Published result files of a benchmark organisation.",
        "package": "Data read out of a published software package.",
        "paper": "Scientific paper or technical report.",
        "forum_post": "Post in a forum or social network.",
        "measured_run": "A run of this project's own runner, with raw data.",
    },
    "source_role": {
        "primary": "Whoever measured says so here.",
        "cross_post": "The same text or figures of the same author elsewhere; no corroboration.",
        "secondary": "Somebody else's account of the measurement.",
        "correction": "Corrects the primary source.",
        "later_evidence": "Later findings about the same system.",
    },
    "interest": {
        "vendor": "Makes what is measured.",
        "sells_service": "Sells a service built on what is measured.",
        "sells_hardware": "Sells the hardware that is measured.",
        "none_stated": "No interest stated and none known.",
        "independent": "States that it is independent, or audits under published rules.",
    },
    "relation": {
        "supersedes": "Replaces the other record.",
        "corrects": "Changes a figure of the other record.",
        "withdraws": "Takes the other record back.",
        "contradicts": "Reports another value under conditions that should give the same.",
        "replicates": "Measures the same thing again; the ratio says how near it came.",
        "same_run_as": "Reports the same run; together they count once.",
        "same_system_as": "Another measurement on the same machine.",
    },
    "claim_verdict": {
        "confirmed": "Other evidence says the same.",
        "consistent": "Other evidence fits, without saying the same.",
        "qualified": "True under a condition that the source does not state.",
        "superseded": "True then, no longer.",
        "inconsistent": "The source contradicts itself.",
        "contradicted": "Other evidence says otherwise.",
        "not_reproduced": "Tried or recomputed without getting the same.",
        "not_found": "What it points at could not be found.",
        "unresolved": "Not settled by the evidence at hand.",
    },
    "run_warning": {code.value: text.means for code, text in WARNINGS.items()},
    "disclosure": {
        "given": "The record has a value.",
        "omitted_by_source": "The source was searched and does not say.",
        "gap": "There is a typed reason why no value can be given.",
        "missing": "Nobody has looked yet.",
    },
}
"""Set name -> word -> definition. Keys equal the `Literal` types above, in snake case."""

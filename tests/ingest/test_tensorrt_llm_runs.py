"""What a TensorRT-LLM page says of its runs: options by kind of model, and requests by lengths."""

from kbtool.ingest.tensorrt_llm_runs import runs_of

HEAD = "\n## Reproducing Benchmarked Results\n"


def block(label: str, *lines: str) -> str:
    """Return a labelled block of options."""
    return "\n".join((f"{label}:", "", "`llm_options.yml`", "```yaml", *lines, "```", "", ""))


def test_requests_stand_in_tables_of_three_and_of_four_columns() -> None:
    """Older pages have the sum of the lengths between them and the number."""
    older = "| 128          | 2048          | 2176       | 3000               |\n"
    newer = "| 1024         | 8192          | 1500                |\n"
    assert runs_of(HEAD + older).requests == {(128, 2048): 3000}
    assert runs_of(HEAD + newer).requests == {(1024, 8192): 1500}


def test_tables_of_figures_are_no_requests() -> None:
    """Only the section on reproducing is read."""
    assert runs_of("| 128 | 2048 | 3000 |\n").requests == {}


def test_levels_become_dots_and_lists_one_text() -> None:
    """An option keeps its place, and what the page prints."""
    text = block(
        "DeepSeek R1",
        "enable_attention_dp: true",
        "cuda_graph_config:",
        "  batch_sizes:",
        "    - 1",
        "    - 8",
    )
    found = runs_of(HEAD + text).options("deepseek-r1")
    assert found is not None
    assert found.values == {"enable_attention_dp": "true", "cuda_graph_config.batch_sizes": "1, 8"}


def test_remark_belongs_to_the_option_above() -> None:
    """`# Hopper: use auto` is the value on another generation, and is not lost on this one."""
    found = runs_of(
        HEAD + block("GPT-OSS", "kv_cache_config:", "  dtype: fp8", "  # Hopper: use auto")
    ).options("gpt-oss-20b")
    assert found is not None
    assert found.value("kv_cache_config.dtype", hopper=False) == "fp8"
    assert found.value("kv_cache_config.dtype", hopper=True) == "auto"
    assert found.value("moe_config.backend", hopper=True) is None


def test_label_is_the_line_above_and_not_the_command() -> None:
    """A command between label and options is code."""
    text = "For dense / non-MoE models:\n\n```shell\ntrtllm-bench x\n```\n\n`llm_options.yml`\n```yaml\na: 1\n```\n"
    found = runs_of(HEAD + text)
    assert [each.label for each in found.blocks] == ["For dense / non-MoE models"]
    assert found.options("llama-3-1-8b") is not None
    assert found.options("llama-4-scout") is None


def test_two_blocks_for_one_model_are_none() -> None:
    """Which of two applied is not guessed."""
    assert runs_of(HEAD + block("GPT-OSS", "a: 1") * 2).options("gpt-oss-20b") is None


def test_page_without_the_section_says_nothing() -> None:
    """A table that was typed from a page has no such section."""
    found = runs_of("model,gpu\n")
    assert (found.requests, found.blocks) == ({}, ())

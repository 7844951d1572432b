"""Files that no tool wrote: a clear refusal with file, place, finding, expectation and remedy, and nothing else."""

import json
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbtool.ingest import IngestError, document, read, to_records
from tests.ingest.files import data_of, value_of
from tests.ingest.files import given as answers

JSON: Final = (
    "aiperf-records.jsonl", "aiperf.json", "evalscope.json", "guidellm.json", "inference-perf-requests.json",
    "inference-perf.json", "llama-bench.json", "sglang-bench.jsonl", "vllm-bench-detailed.json", "vllm-bench-ngram.json",
)  # fmt: skip


def refusal(data: bytes, name: str = "result.json") -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(IngestError) as raised:
        read(None, data, name)
    return str(raised.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no content"),
        (b"   \n", "no content"),
        (b"\xff\xfe{}", "0xff; expected UTF-8 text"),
        (b"hello", "text that begins with 'hello'"),
        (b"{", "expected complete JSON"),
        (b'{"a": 1', "line 1, column"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b"[" * 100_000, "more than 40 lists"),
        (b"[" * 60 + b"]" * 60, "more than 40 lists"),
        (b'{"a": 1e999999999}', "the number '1e999999999'"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number of 5000 digits"),
        (b'{"a": 1}', "expected a result of vllm-bench"),
        (b"[1, 2]", "no keys"),
        (b'{"a": 1}\n{"b": oops}\n', "line 2, column"),
        (b"a,b,c\n1,2\n", "line 2: 2 cells"),
        (b"a,b,a\n1,2,3\n", "one column name twice"),
        (b"| a |\n|---|\n| 1 | 2 |\n", "line 3: 2 cells"),
        (b"version: &x 1\nrun: *x\n", "plain YAML without anchors"),
    ],
)
def test_file_of_no_tool_is_refused_with_its_place(data: bytes, words: str) -> None:
    """Each message names the file, what was found, what was expected, and what to do."""
    message = refusal(data)
    assert words in message
    assert message.startswith("result.json: ")
    assert "; expected " in message


def test_too_many_bytes_are_refused_before_reading() -> None:
    """A file above the limit is not parsed."""
    assert "expected at most 67,108,864" in refusal(b" " * (document.MAX_BYTES + 1))


def test_too_many_values_are_refused_before_reading() -> None:
    """Millions of small values take far more memory than their bytes."""
    assert "expected at most 3,000,000" in refusal(b"[" + b"0," * document.MAX_VALUES + b"0]")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("NaN", "NaN; expected a finite number: look whether the run succeeded"),
        ("-Infinity", "-Infinity; expected a finite number"),
        ('"229.5"', "text '229.5'; expected a finite number"),
        ("true", "True; expected a finite number"),
        ("[1]", "a list of 1; expected a finite number"),
        ('{"a": 1}', "an object; expected a finite number"),
    ],
)
def test_wrong_type_is_refused_at_its_place(value: str, found: str) -> None:
    """A figure that is no finite number names its key."""
    text = json.dumps(value_of("vllm-bench-ngram.json")).replace("1329.36", value)
    assert f"mean_ttft_ms: {found}" in refusal(text.encode())


def test_terminal_escape_in_a_value_is_shown_not_sent() -> None:
    """A message is safe to print."""
    text = json.dumps(value_of("vllm-bench-ngram.json") | {"mean_ttft_ms": "\x1b[31mred"})
    assert "\x1b" not in refusal(text.encode())


def test_folders_of_the_name_are_dropped() -> None:
    """Where the file lay is nobody's business."""
    assert read(None, data_of("evalscope.json"), "/home/somebody/run/result.json").name == "result.json"


def test_wrong_tool_is_told_apart() -> None:
    """A file that is named as another tool's is refused, as is a tool that there is not."""
    with pytest.raises(IngestError, match="expected a result of guidellm"):
        read("guidellm", data_of("evalscope.json"), "x.json")
    with pytest.raises(IngestError, match="the tool `nope`"):
        read("nope", data_of("evalscope.json"), "x.json")


def test_run_in_which_everything_failed_is_refused() -> None:
    """A file without one figure is no source of a record."""
    value = dict.fromkeys(value_of("evalscope.json"), 0)
    assert "no figure of evalscope perf that can be taken" in refusal(json.dumps(value).encode())


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, inner in items for each in _paths(inner, (*path, key)))]


HOSTILE: Final = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**40), 10**40), st.floats(), st.text(max_size=30),
    st.sampled_from(["inf", "/home/x", "\n", "\x1b[0m", "1e5", "", "0", 0, -1, 10**16, 1e-12, [], {}, [[]], [{}], [None], {"a": 1}]),
)  # fmt: skip


@pytest.mark.parametrize("name", JSON)
@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(data=st.data())
def test_any_value_anywhere_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever stands where a value was, the outcome is a reading that makes records, or a clear refusal."""
    original = value_of(name)
    path = data.draw(st.sampled_from(_paths(original)[1:]))
    changed = deepcopy(original)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(HOSTILE)
    try:
        to_records(read(None, json.dumps(changed).encode(), name), answers())
    except IngestError as refused:
        message = str(refused)
    else:
        message = "read; expected "
    assert "; expected " in message

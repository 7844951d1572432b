"""`kbtool compare`: two results side by side, or the reason why not."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.usefixtures("project")
def test_a_result_equals_itself(kbtool: Run) -> None:
    """A record alone means its headline."""
    done = kbtool("compare", "base-benchmark", "benchmarks/base-benchmark#decode-prose-1")
    assert done.code == 0
    assert "Comparable: the first is 1.000 times the second" in done.out


def test_a_refusal_says_why_and_fails(kbtool: Run, project: Path) -> None:
    """Scripts see it from the exit code, people from the sentence."""
    path = project / "records/benchmarks/base-benchmark.yaml"
    text = path.read_text(encoding="utf-8")
    (path.parent / "other.yaml").write_text(
        text.replace("id: base-benchmark", "id: other", 1).replace(
            "metric: tok_s_per_user", "metric: output_tok_s", 1
        ),
        encoding="utf-8",
    )
    done = kbtool("compare", "base-benchmark", "other")
    assert done.code == 1
    assert "Not comparable: another scope: one user against the whole system." in done.out
    plain = json.loads(kbtool("compare", "base-benchmark", "other", "--format", "json").out)
    assert (plain["verdict"], plain["ratio"]) == ("refused", None)
    assert plain["sentence"] in done.out


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("base-benchmrk", "did you mean `benchmarks/base-benchmark`?"),
        ("base-benchmark#decode-prose-2", "has no result `decode-prose-2`; did you mean `decode-prose-1`?"),
        ("engines/base-engine", "is no benchmark and has no results"),
    ],
)
def test_what_is_not_there_is_named(kbtool: Run, name: str, said: str) -> None:
    """A misspelt record or result is answered with the one that was meant."""
    done = kbtool("compare", "base-benchmark", name)
    assert done.code == 1
    assert said in done.err

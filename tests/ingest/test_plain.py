"""Plain data as a record: which place and which remedy a message names."""

import pytest

from kbtool.ingest import IngestError
from kbtool.ingest.plain import validated
from kbtool.schema import Source
from kbtool.schema.benchmark import At

BROKEN = {"schema_version": 1, "id": "a-source", "title": "A source", "status": "finished"}


def test_value_of_a_file_is_named_by_record_and_field() -> None:
    """The record is one of many, so that its id is part of the place."""
    with pytest.raises(IngestError) as caught:
        validated(Source, BROKEN, "x.json")
    assert "source a-source, status" in str(caught.value)
    assert str(caught.value).endswith("correct the file if it is wrong there")


def test_value_that_may_be_an_answer_says_so() -> None:
    """Somebody who answered questions may have answered wrongly."""
    with pytest.raises(IngestError) as caught:
        validated(At, {"concurrency": 0}, "x.json", answered=True)
    assert "at field concurrency" in str(caught.value)
    assert str(caught.value).endswith("correct the answer, or the file if it is wrong there")

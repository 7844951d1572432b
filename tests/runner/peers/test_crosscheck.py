"""What a second load tool is told of the server that is measured again."""

import json
import socket
from pathlib import Path

import pytest

from kbtool.cli.bench import crosscheck
from kbtool.errors import UsageError
from kbtool.ingest.peers import Job, command, peer
from tests.fakes.replay import Answers, answers_of, replaying


def test_model_is_named_as_the_server_names_it_now() -> None:
    """A server that is started again has another made-up name than the run knows; its folder is told too."""
    with replaying(answers_of("vllm-0.32.0-cpu/answers")) as endpoint:
        for suffix in ("", "/v1", "/v1/"):
            assert crosscheck._served(f"http://{endpoint.host}:{endpoint.port}{suffix}") == (
                "tiny",
                "models/tiny",
            )


def test_a_server_that_is_not_there_is_a_fault_of_use() -> None:
    """The message names the address and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UsageError, match=rf"127\.0\.0\.1:{port} does not list its models"):
        crosscheck._served(f"http://127.0.0.1:{port}")
    with pytest.raises(UsageError, match="is no web address"):
        crosscheck._served("127.0.0.1:8000")


def test_a_server_without_models_is_a_fault_of_use() -> None:
    """An empty list is not guessed at."""
    with (
        replaying(Answers({"GET /v1/models": (200, {"data": []})})) as endpoint,
        pytest.raises(UsageError, match="lists no model"),
    ):
        crosscheck._served(f"http://{endpoint.host}:{endpoint.port}")


def test_tokenizer_is_taken_from_the_folder_of_the_model_where_it_has_one(tmp_path: Path) -> None:
    """A name of a repository or a GGUF file holds none that other tools could load."""
    assert crosscheck._local_tokenizer(str(tmp_path)) is None
    assert crosscheck._local_tokenizer("org/model") is None
    assert crosscheck._local_tokenizer(None) is None
    (tmp_path / "tokenizer.json").write_text("{}")
    assert crosscheck._local_tokenizer(str(tmp_path)) == str(tmp_path)


def test_inference_perf_is_asked_for_the_one_api_that_its_made_up_prompts_have(tmp_path: Path) -> None:
    """With `chat` it ends with an error before the first request."""
    job = Job("http://127.0.0.1:1", "tiny", 1, 1, 1, 1, tmp_path)
    settings = json.loads(command(peer("inference-perf"), job).files["inference-perf.yaml"])
    assert settings["api"]["type"] == "completion"

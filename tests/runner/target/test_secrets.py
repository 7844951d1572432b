"""Secrets: hidden in every form in which programs print them, and nothing else is."""

import base64
import json
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.errors import UsageError
from kbtool.runner.target.boundedlog import BoundedLog, read_tail
from kbtool.runner.target.environment import engine_environment
from kbtool.runner.target.secrets import HIDDEN, Secrets, looks_secret

KEY = "p\"s'/w+rd=ä-4711?>~"
KNOWN = Secrets.of({"MY_KEY": KEY})


FORMS = {
    "raw": KEY,
    "url": quote(KEY, safe=""),
    "json": json.dumps(KEY)[1:-1],
    "repr": repr(KEY)[1:-1],
    "hex": KEY.encode().hex(),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64-url": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "base64-after-1": base64.b64encode(f":{KEY}".encode()).decode(),
    "base64-after-2": base64.b64encode(f"u:{KEY}x".encode()).decode(),
    "base64-after-5": base64.b64encode(f"user:{KEY}yz".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_every_form_of_a_secret_is_hidden(form: str) -> None:
    """The value, and what encoding it alone or in a longer text makes of it, is taken out."""
    shown = KNOWN.redact(f"before {form} after")
    assert form not in shown
    assert HIDDEN in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef0123456789",
        "authorization: Token abcdef0123456789",
        "hf_abcdefghijklmnopqrstuvwxyz012345",
        "https://user:hunter2x@host/path",
        "AKIAIOSFODNN7EXAMPLE",
        "--api-key=abcdef0123456789",
        "Namespace(api_key='abcdef0123456789')",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    """A key that nobody told us of is taken out by its look."""
    assert HIDDEN in Secrets().redact(text).replace("api_key='", "api-key=")


def test_short_secret_is_hidden_as_a_word_alone() -> None:
    """A short value is no secret inside other words, where hiding it would only destroy the log."""
    known = Secrets.of({"PIN": "12"})
    assert known.redact("pin 12, port 8123") == f"pin {HIDDEN}, port 8123"


def test_other_text_is_left_as_it_is() -> None:
    """Ordinary log lines keep every character."""
    text = "INFO 11-30 tokenizer=auto max_num_batched_tokens=8192 http://127.0.0.1:8000/v1 key: value\n"
    assert KNOWN.redact(text) == text


def test_nothing_shows_a_value() -> None:
    """Names may be shown, values never."""
    assert "MY_KEY" in repr(KNOWN)
    assert KEY not in repr(KNOWN)
    assert "4711" not in str(KNOWN)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("HF_TOKEN", True),
        ("--api-key", True),
        ("OPENAI_API_KEY", True),
        ("apikey", True),
        ("DB_PASSWORD", True),
        ("--max-num-batched-tokens", False),
        ("DSPARK_TOKENS", False),
        ("--tokenizer", False),
        ("KEYBOARD", False),
    ],
)
def test_names_of_secrets(name: str, *, is_secret: bool) -> None:
    """Words of the name count whole."""
    assert looks_secret(name) is is_secret


def test_arguments_are_hidden_by_name() -> None:
    """The value after `--api-key` is hidden, whatever it looks like, with all values that follow it."""
    shown = KNOWN.redact_arguments(("e", "--api-key", "a", "b", "--port", "1", "--hf-token=x", "--x", KEY))
    assert shown == ("e", "--api-key", HIDDEN, HIDDEN, "--port", "1", f"--hf-token={HIDDEN}", "--x", HIDDEN)


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 3))
def test_log_hides_a_secret_wherever_reads_cut_it(cuts: list[int], newlines: int) -> None:
    """However the output arrives in pieces, no piece of a secret is written."""
    secret = "sesame-open-4711-and-more"  # noqa: S105 - made up
    text = (f"x {secret} y" + "\n" * newlines) * 4
    with tempfile.TemporaryDirectory() as made:
        log = BoundedLog(Path(made) / "a.log", Secrets.of({"A": secret}), 10_000)
        data = text.encode()
        for cut in cuts:
            log.feed(data[:cut])
            data = data[cut:]
        log.feed(data)
        log.close()
        written = (Path(made) / "a.log").read_text()
    assert written == text.replace(secret, HIDDEN)


def test_long_line_is_written_in_parts_without_its_secrets(tmp_path: Path) -> None:
    """A line without an end does not fill the memory, and a secret at a cut stays hidden."""
    secret = "sesame-open-4711"  # noqa: S105 - made up
    log = BoundedLog(tmp_path / "a.log", Secrets.of({"A": secret}), 1 << 20)
    for _ in range(3000):
        log.feed(b"0123456789" * 9 + secret.encode()[:7])
        log.feed(secret.encode()[7:])
    log.close()
    written = (tmp_path / "a.log").read_text()
    assert written.count(HIDDEN) == 3000
    assert "sesame" not in written
    assert "4711" not in written


def test_log_is_bounded_and_keeps_both_ends(tmp_path: Path) -> None:
    """The first and the last output are kept, whatever came between, within the limit."""
    log = BoundedLog(tmp_path / "a.log", Secrets(), 4000)
    for number in range(2000):
        log.feed(f"line {number}\n".encode())
    log.close()
    files = list(tmp_path.iterdir())
    assert sum(file.stat().st_size for file in files) < 4200
    assert "line 0\n" in (tmp_path / "a.log").read_text()
    assert read_tail(tmp_path / "a.log").endswith("line 1999\n")
    assert log.tail().endswith("line 1999\n")
    assert len(read_tail(tmp_path / "a.log", 100)) == 100


def test_full_disk_does_not_stop_the_engine(tmp_path: Path) -> None:
    """Where the log cannot be written, output is read on, and the loss is said."""
    (tmp_path / "full.log").symlink_to("/dev/full")
    with pytest.raises(OSError, match="symbolic"):
        BoundedLog(tmp_path / "full.log", Secrets(), 4000)
    log = BoundedLog(tmp_path / "a.log", Secrets(), 4000)
    with Path("/dev/full").open("wb", buffering=0) as full:
        assert log._file is not None
        log._file.close()
        log._file = full
        log.feed(b"one\n")
    assert log.lost is not None
    assert "No space left" in log.lost
    log.feed(b"two\n")
    assert log.tail() == "one\ntwo\n"


def test_environment_is_small() -> None:
    """An engine gets what it needs and what the plan names, and nothing else of ours."""
    own = {
        "PATH": "/bin",
        "HOME": "/h",
        "LD_PRELOAD": "x.so",
        "HTTP_PROXY": "p",
        "SSH_AUTH_SOCK": "s",
        "MINE": "m",
    }
    assert engine_environment(own, {"LEVEL": "7"}, ["MINE"], [0, 2]) == {
        "PATH": "/bin",
        "HOME": "/h",
        "MINE": "m",
        "LEVEL": "7",
        "CUDA_VISIBLE_DEVICES": "0,2",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    with pytest.raises(UsageError, match="leave one of them out"):
        engine_environment(own, {"CUDA_VISIBLE_DEVICES": "1"}, [], [0])

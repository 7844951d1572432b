"""Keys and tokens are found, are not repeated in the report, and hashes are left alone."""

from pathlib import Path

import pytest

from kbtool.lint.lookup import FileView
from kbtool.lint.rules.secrets import secret
from tests.lint.views import found_in_text

RANDOM = "Zx9Kq2Vw7Lr4Tn8Yb3Hd6Jf1Mc5Pg0SaQeUi"
"""Made up, and put together with the heads below at run time, so that no scanner takes this file for a leak."""

SECRETS = {
    "AWS": "AK" + "IA" + "IOSFODNN7EXAMPL3",
    "OpenAI": "s" + "k-" + RANDOM,
    "OpenAI project": "s" + "k-proj-" + RANDOM,
    "Anthropic": "s" + "k-ant-" + "api03-" + RANDOM,
    "Hugging Face": "h" + "f_" + RANDOM,
    "GitHub": "gh" + "p_" + RANDOM,
    "GitHub server": "gh" + "s_" + RANDOM,
    "GitHub fine-grained": "github" + "_pat_" + RANDOM,
    "GitLab": "gl" + "pat-" + RANDOM[:20],
    "Slack": "xo" + "xb-" + "1234567890-abcdefGHIJKL",
    "Slack webhook": "https://hooks.slack" + ".com/services/T0000/B0000/" + RANDOM,
    "JWT": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxIn0." + RANDOM,
    "Google": "AI" + "za" + RANDOM[:35],
    "NVIDIA": "nv" + "api-" + RANDOM,
    "npm": "np" + "m_" + RANDOM,
    "Groq": "gs" + "k_" + RANDOM,
    "bearer": "Authorization: Bea" + "rer " + RANDOM.lower(),
    "basic": "Authorization: Ba" + "sic " + "YWRtaW46aHVudGVyMg==",
    "private key": "-----BEGIN RSA PRIV" + "ATE KEY-----",
    "address": "postgres://user:hun" + "ter2-Xk29@db.example.org/x",
    "storage": "DefaultEndpointsProtocol=https;Account" + "Key=" + RANDOM + RANDOM,
    "assignment": "API_KEY=" + RANDOM,
    "lower-case assignment": "client_secret: '" + "9f3a7c1e5b2d8064af17" + "'",
    "Docker": "dckr" + "_pat_" + RANDOM[:27],
    "Vault": "hv" + "s." + RANDOM,
    "Tailscale": "ts" + "key-auth-" + RANDOM,
    "command line": "curl -u admin:" + "hun" + "ter2-Xk29 https://x.example.org",
    "environment": 'HF_TOKEN = "' + RANDOM[:24] + '"',
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found(name: str) -> None:
    """Wherever it stands in a sentence, and in a log line."""
    for text in (
        SECRETS[name],
        f"The client printed {SECRETS[name]}, and then stopped.",
        f"export X='{SECRETS[name]}'",
    ):
        problems = found_in_text(secret, "harmless", text)
        assert problems, text
        assert problems[0].at == "/notes/1"


@pytest.mark.parametrize("name", SECRETS)
def test_the_report_does_not_repeat_it(name: str) -> None:
    """The report of a pull request is public: kind, place and four characters."""
    text = SECRETS[name]
    for problem in found_in_text(secret, text):
        assert all(text[start : start + 8] not in problem.message for start in range(len(text) - 8))


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "docker run -u 1000:1000 --user nobody:nogroup, curl -u $NAME:$WORD",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "lmsysorg/sglang@sha256:adbfd51721e1576d3f8a19b88bec6ac4af057883dfbd595e380fa4716a8f9a27",
        "record_sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        "deepseek-ai/DeepSeek-V4-Flash-0731, num_speculative_tokens=5, max_tokens: 393216",
        "token: usage.completion_tokens; key: prefix-cache-key; secret sauce",
        "tokenizer: deepseek-ai/DeepSeek-V4-Flash-0731",
        "the API key must equal the bearer that clients send; VLLM_API_KEY=$TOKEN",
        "disk-based sk-learn task-0123456789-of-many-words-in-a-row",
        "hf_overrides and hf_transfer; ghp_ is a prefix; AKIAN is a town",
        "https://huggingface.co/deepseek-ai/DeepSeek-V4-Flash-0731/blob/main/config.json",
        "https://example.org:443/a@b and mailto:someone",
        "Authorization is by bearer token, basic credentials are refused",
        "inference-research-dsv41-128k-prefill-tps-of-eight-cards-and-more",
    ],
)
def test_no_false_alarm(text: str) -> None:
    """Hashes, commits, digests, model names and words about keys are no secrets."""
    assert found_in_text(secret, text) == []


def test_no_false_alarm_on_the_records() -> None:
    """Every text of the corpus, bare."""
    for path in (Path(__file__).parents[2] / "records").rglob("*.yaml"):
        assert found_in_text(secret, path.read_text(encoding="utf-8")) == [], path


def test_a_secret_in_a_comment_is_found() -> None:
    """A comment is published with the file; there is no field to point at."""
    view = FileView("records/x.yaml", "benchmark", f"# {SECRETS['GitHub']}\nnotes: none\n", {"notes": "none"})
    assert [problem.at for problem in secret.check(None, view)] == [""]


def test_a_secret_behind_an_escape_is_found() -> None:
    """An underscore written as an escape is one to whoever reads the record."""
    token = SECRETS["Hugging Face"]
    view = FileView(
        "records/x.yaml", "benchmark", 'notes: "' + token.replace("_", "\\x5f") + '"', {"notes": token}
    )
    assert [problem.at for problem in secret.check(None, view)] == ["/notes"]


def test_each_secret_is_reported_once() -> None:
    """A token that stands five times in a log is one leak."""
    assert len(found_in_text(secret, *[SECRETS["GitHub"]] * 5)) == 1

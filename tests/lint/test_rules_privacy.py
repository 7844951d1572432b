"""What a log tells about people and machines is found, and what looks like it is left alone."""

import pytest

from kbtool.lint.rules.privacy import hardware_serial, internal_host, mail_address, user_name_in_path
from tests.lint.views import found_in_text

RULES = (hardware_serial, internal_host, mail_address, user_name_in_path)


def codes(text: str) -> set[str]:
    """Return the codes that a text gives."""
    return {rule.code for rule in RULES for _ in found_in_text(rule, "harmless", text)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("GPU 0: RTX PRO 6000 (UUID: GPU-8a3b1c2d-1111-2222-3333-444455556666)", "W002"),
        ("MIG-8a3b1c2d-1111-2222-3333-444455556666 in use", "W002"),
        ("Serial Number                         : 1324522034567", "W002"),
        ("serial no. PF3K1ABC", "W002"),
        ("eth0 00:1A:2b:3c:4d:5e up", "W002"),
        ("someone.else@example.com wrote it", "W003"),
        ("<a.b+c@mail.example.co.uk>", "W003"),
        ("client on 192.168.17.4", "W004"),
        ("client on 10.20.30.40:8000", "W004"),
        ("listening at tcp://172.18.0.2:8000", "W004"),
        ("100.101.102.103 is the box", "W004"),
        ("the host gpu-box-3.internal answered", "W004"),
        ("ssh node06.cluster.lan", "W004"),
        ("weights in /home/someone/models", "W005"),
        ("/Users/Someone/Library", "W005"),
        (r"C:\Users\someone\models", "W005"),
    ],
)
def test_private_data_is_found(text: str, code: str) -> None:
    """Each kind under its own code, with four characters of it at most."""
    assert codes(text) == {code}
    rule = next(rule for rule in RULES if rule.code == code)
    (problem,) = found_in_text(rule, text)
    assert problem.at == "/notes/0"
    assert not any(word in problem.message for word in text.split() if len(word) > 6)


@pytest.mark.parametrize(
    "text",
    [
        "GPU-bound, GPU-8-way, MIG-disabled",
        "the serial console; serialised through 4 stages; serial execution of 12345678 tokens",
        "at 12:30:45:10 and ratios 10:20:30:40",
        "lmsysorg/sglang@sha256:adbfd51721e1576d3f8a19b88bec6ac4af057883dfbd595e380fa4716a8f9a27",
        "git@github.com:example/repo.git, code@0, user@host",
        "TensorRT 10.14.1.48, driver 10.0.0.1, version 10.2.3.4",
        "127.0.0.1:8000 on the host, 0.0.0.0, 8.8.8.8, 1.2.3.4",
        "released 0.10.1.1 and 172.1",
        "a.localhost.example.org, config.lanes, model.language",
        "/home/user/models, /home/ubuntu, ~/models, https://example.org/home/page, /homework",
        "Users of /usr/home",
    ],
)
def test_no_false_alarm(text: str) -> None:
    """Words, versions, times, digests and generic accounts."""
    assert codes(text) == set()


def test_web_addresses_are_left_to_the_rules_for_them() -> None:
    """W103 says it of an address; once is enough."""
    assert codes("https://192.168.0.2/copy") == set()
    assert codes("https://wiki.corp.internal/x") == set()

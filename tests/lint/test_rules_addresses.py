"""An address leads where it says, and to a public place, however it is spelt."""

import pytest

from kbtool.lint.rule import Rule
from kbtool.lint.rules.addresses import (
    address_malformed,
    address_not_public,
    address_with_port,
    address_with_user,
    address_without_https,
    host_looks_like_another,
)
from tests.lint.views import found_in_text

ALL: tuple[Rule, ...] = (
    address_malformed,
    address_not_public,
    address_with_port,
    address_with_user,
    address_without_https,
    host_looks_like_another,
)


def codes(address: str) -> set[str]:
    """Return the codes that an address gives."""
    return {rule.code for rule in ALL for _ in found_in_text(rule, address)}


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "https://example.org/",
        "https://example.org/a?b=c#d",
        "https://example.org:443/a",
        "https://EXAMPLE.org/A",
        "https://sub-domain.a1.example.co.uk/x",
        "https://github.com/a/b/blob/main/c.md#L5-L7",
        "https://web.archive.org/web/2026/http://10.0.0.1:8080/x",
        "https://example.org/@someone/a:b",
        "https://example.org/a%5Cb",
        "https://8.8.8.8/dns",
        "https://[2606:4700:4700::1111]/dns",
        "https://host.github.io/x",
        "https://xn--bcher-kva.example/x",
        "https://example.org.",
        "https://localhost.example.org/",
        "https://10.example.org/",
    ],
)
def test_ordinary_addresses_are_left_alone(address: str) -> None:
    """What people publish gives no finding, and neither does what its path repeats."""
    assert codes(address) == set()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0",
        "0" + 3 * ".0", "10.0.0.1", "10.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.257", "169.254.169.254",
        "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:10.0.0.1]",
        "[::ffff:a00:1]", "[::10.0.0.1]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]", "[fc00::1]", "[64:ff9b::a00:1]",
        "[2002:a00:1::1]", "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "db.internal",
        "metadata.google.internal", "nas.lan", "wiki.corp", "router.home.arpa", "127.0.0.1.nip.io", "10-0-0-1.sslip.io",
        "lvh.me", "x.localtest.me", "intranet",
    ],
)  # fmt: skip
def test_no_spelling_of_a_private_host_passes(host: str) -> None:
    """Decimal, octal, hexadecimal, short, inside IPv6, by name, with a trailing dot."""
    assert codes(f"https://{host}/x") == {"W103"}
    assert codes(f"https://{host}") == {"W103"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://example.org/", {"W101"}),
        ("HTTP://example.org/", {"W101"}),
        ("https://github.com@example.net/x", {"W102"}),
        ("https://@example.net/x", {"W102"}),
        ("https://a:b@example.net/x", set()),  # a password: W001
        ("https://example.org:8443/", {"W104"}),
        ("http://example.org:80/", {"W101"}),
        ("https://example.org:80/", {"W104"}),
        ("https://example.org:x/", {"W104", "W106"}),
        ("https://b\u00fccher.example/", {"W105"}),
        ("https://\u0430\u0440\u0440\u04cf\u0435.com/", {"W105"}),
        ("https://xn--80ak6aa92e.com/", {"W105"}),
        ("https://127\u30020\u30020\u30021/", {"W105"}),
        ("https://example.org\\x", {"W106"}),
        ("https:///x", {"W106"}),
        ("https://%31%32%37.0.0.1/", {"W106"}),
        ("https://{{host}}/x", {"W106"}),
        ("https://a..b/", {"W106"}),
        ("https://-a.example.org/", {"W106"}),
        ("https://256.1.1.1/", {"W106"}),
        ("https://1.2.3.4.5/", {"W106"}),
        ("https://[x]/", {"W106"}),
    ],
)
def test_each_fault_has_its_code(address: str, expected: set[str]) -> None:
    """One fault gives one code."""
    assert codes(address) == expected


@pytest.mark.parametrize(
    "text", ["http://10.0.0.1:8000 is where it ran", "see http://example.org/a b", "httpd 2.4", "http"]
)
def test_a_sentence_is_no_address(text: str) -> None:
    """Only a value that is an address as a whole is one; prose is shown as text."""
    assert codes(text) == set()


def test_the_quick_look_hides_nothing() -> None:
    """An ordinary address in the same file does not keep an odd one from being looked at."""
    texts = ("https://example.org/a", "https://10.0.0.1/b", "https://example.org/c")
    assert [problem.at for problem in found_in_text(address_not_public, *texts)] == ["/notes/1"]


def test_a_punycode_host_in_latin_letters_passes() -> None:
    """The warning is for scripts that have letters like the Latin ones; a label that is no punycode is no crash."""
    assert codes("https://xn--bcher-kva.example.org/") == set()
    assert codes("https://xn--\u00fc.example.org/") == {"W105"}
    assert codes("https://xn--a.example.org/") == set()

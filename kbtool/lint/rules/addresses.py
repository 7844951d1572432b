"""Rules about web addresses: a reader who follows one arrives where it says, and at a public place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from kbtool.lint.lookup import FileView
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Record

_ADDRESS: Final = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_PRIVATE_NAMES: Final = (
    "localhost", "local", "internal", "lan", "corp", "intranet", "home.arpa", "test", "invalid", "localdomain",
    # Public names that resolve to whatever address stands in them, or to this machine.
    "nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me",
)  # fmt: skip
_NAT64: Final = int(IPv6Address("64:ff9b::")) >> 32
_NOT_LATIN: Final = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uff00-\uffef]")


@dataclass(frozen=True, slots=True)
class _Address:
    """A web address, taken apart without repairing anything."""

    scheme: str
    user: str | None
    host: str
    port: str | None
    rest: str


@rule("W101", "address-without-https")
def address_without_https(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag an address that is not https.

    On the way somebody can put other figures into the page. Where a site has no https, an exception says so.

    Bad:
        sources/base-source: {archive_url: 'http://example.org/page'}

    Good:
        sources/base-source: {archive_url: 'https://example.org/page'}
    """
    del record
    for pointer, address in _addresses(view):
        if address.scheme == "http":
            yield Problem(
                pointer, "http; expected https: take the https address, or add an exception with the reason"
            )


@rule("W102", "address-with-user")
def address_with_user(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag an address with a user name.

    `https://github.com@evil.example/` leads to evil.example.

    Bad:
        sources/base-source: {archive_url: 'https://example.org@example.net/page'}

    Good:
        sources/base-source: {archive_url: 'https://example.org/@someone/page'}
    """
    del record
    for pointer, address in _addresses(view):
        if address.user is not None and ":" not in address.user:  # a password is a secret, W001
            yield Problem(
                pointer, f"it leads to {address.host!r}, as the part before `@` is a user name: take that out"
            )


@rule("W103", "address-not-public")
def address_not_public(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag an address of a machine that the public cannot reach.

    Whoever follows it, a link checker in a data centre above all, asks their own network: 169.254.169.254
    hands out credentials there. Decimal, octal and hexadecimal spellings and addresses inside IPv6 ones are
    read for what they are.

    Bad:
        sources/base-source: {archive_url: 'https://2130706433/'}

    Good:
        sources/base-source: {archive_url: 'https://8.8.8.8/'}
    """
    del record
    for pointer, address in _addresses(view):
        reason = _why_not_public(address.host)
        if reason:
            yield Problem(
                pointer,
                f"{address.host!r} is {reason}; expected a public host: cite where the public reads it",
            )


@rule("W104", "address-with-port")
def address_with_port(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag an address with a port of its own.

    Published pages have none; services that were left open do.

    Bad:
        sources/base-source: {archive_url: 'https://example.org:8443/page'}

    Good:
        sources/base-source: {archive_url: 'https://example.org:443/page'}
    """
    del record
    for pointer, address in _addresses(view):
        if address.port is not None and address.port != _DEFAULT_PORT[address.scheme]:
            yield Problem(pointer, f"port {address.port!r}; expected none: cite the published page")


@rule("W105", "host-looks-like-another")
def host_looks_like_another(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a host with letters that look like others.

    A Cyrillic letter makes a host that reads like a known one. A host is written in ASCII; one in another
    script is written in punycode (`xn--`), where nothing looks like anything else.

    Bad:
        sources/base-source: {archive_url: 'https://bücher.example/page'}

    Good:
        sources/base-source: {archive_url: 'https://xn--bcher-kva.example/page'}
    """
    del record
    for pointer, address in _addresses(view):
        if not address.host.isascii():
            message = "the host has letters outside of ASCII: check where it leads, and write it in punycode"
            yield Problem(pointer, message)
        elif "xn--" in address.host and _NOT_LATIN.search(_decoded(address.host)):
            message = (
                f"{address.host!r} is written in letters that can look like Latin ones: check where it leads"
            )
            yield Problem(pointer, message, severity="warning")


@rule("W106", "address-malformed")
def address_malformed(record: Record, view: FileView) -> Iterator[Problem]:
    r"""Flag an address that programs read differently.

    A browser takes a backslash for a slash, another program for a letter: then one of them goes to another
    host than the one that was checked.

    Bad:
        sources/base-source: {archive_url: 'https://example.org\page'}

    Good:
        sources/base-source: {archive_url: 'https://example.org/a%5Cb'}
    """
    del record
    for pointer, address in _addresses(view):
        reason = _why_malformed(address)
        if reason:
            yield Problem(pointer, f"{reason}: copy the address from the browser, percent-encoded")


def _addresses(view: FileView) -> Iterator[tuple[str, _Address]]:
    """Yield the values of a record that are web addresses and worth a look, taken apart."""
    for pointer, text in view.unusual_addresses:
        address = _parsed(text)
        if address is not None:
            yield pointer, address


def _parsed(text: str) -> _Address | None:
    found = _ADDRESS.fullmatch(text)
    if found is None or any(each.isspace() for each in text.strip("\n")):
        return None  # a sentence that begins with an address
    scheme, authority, rest = found.groups()
    user, at, place = authority.rpartition("@")
    if place.startswith("["):
        host, _, port = place.partition("]")
        host, port = f"{host}]", port.removeprefix(":") if port.startswith(":") else port
    else:
        host, _, port = place.partition(":")
    return _Address(scheme.lower(), user if at else None, host.lower(), port or None, rest)


def _why_malformed(address: _Address) -> str:
    """Return what makes an address ambiguous, or nothing."""
    whole = f"{address.user or ''}{address.host}{address.rest}"
    if "\\" in whole:
        return "a backslash in an address"
    if address.port is not None and not address.port.isdecimal():
        return "a port that is no number"
    # What has letters outside of ASCII is W105's.
    return _why_no_host(address.host.removesuffix(".")) if address.host.isascii() else ""


def _why_no_host(host: str) -> str:
    """Return what keeps a text from being a host name or an address, or nothing."""
    if host.startswith("["):
        return "" if _ipv6(host) else "a host in brackets that is no IPv6 address"
    if not host or not all(_LABEL.fullmatch(each) for each in host.split(".")):
        return f"{host!r} is no host name"
    if _ends_in_number(host):
        return "" if _ipv4(host) else f"{host!r} is no IPv4 address"
    return ""


def _why_not_public(host: str) -> str:
    """Return what keeps the public from a host, or nothing."""
    if host.startswith("["):
        six = _ipv6(host)
        return "" if six is None or _is_public(six) else "not a public address"
    name = host.removesuffix(".")
    if _ends_in_number(name):
        four = _ipv4(name)
        return "" if four is None or _is_public_number(four) else f"{four}, which is not a public address"
    if _LABEL.fullmatch(name):
        return "a name without a domain"
    if any(name == each or name.endswith(f".{each}") for each in _PRIVATE_NAMES):
        return "a name for a private network"
    return ""


def _ends_in_number(host: str) -> bool:
    """Return whether programs read a host as an IPv4 address: its last part is a number."""
    last = host.rpartition(".")[2]
    return last.isdecimal() or bool(re.fullmatch(r"0x[0-9a-f]*", last))


def _ipv4(host: str) -> IPv4Address | None:
    """Return the address that browsers read: 1 to 4 numbers, decimal, octal (0...) or hexadecimal (0x...).

    Source: WHATWG URL Standard, "IPv4 parser".
    """
    numbers = []
    for part in host.split("."):
        digits, base = part, 10
        if part.startswith("0x"):
            digits, base = part[2:] or "0", 16
        elif len(part) > 1 and part.startswith("0"):
            digits, base = part[1:], 8
        try:
            numbers.append(int(digits, base))
        except ValueError:
            return None
    *first, last = numbers
    if len(numbers) > 4 or any(each > 255 for each in first) or last >= 256 ** (5 - len(numbers)):
        return None
    return IPv4Address(last + sum(each << 8 * (3 - place) for place, each in enumerate(first)))


def _ipv6(host: str) -> IPv6Address | None:
    try:
        return IPv6Address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _is_public(address: IPv6Address) -> bool:
    """Return whether an address, and every IPv4 address inside it, is public."""
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if int(address) >> 32 in (0, _NAT64):
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    found = [each for each in inside if each is not None]
    return all(map(_is_public_number, found or [address]))


def _is_public_number(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not address.is_multicast


def _decoded(host: str) -> str:
    """Return a host with its punycode labels in letters; as it is where they cannot be read."""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host

r"""Make hostile text safe to show: one function for each place that text can end up in.

Every text of a record or a source is data written by a stranger. Whoever prints it picks the
function of the place it goes to, and does so once, at the last step:

======================  ==========================================================
place                   function
======================  ==========================================================
HTML or SVG text        `html_text`
HTML or SVG attribute   `html_attribute` (the attribute is quoted)
`href` of a link        `href`, then `html_attribute`; host for readers: `shown_host`
JSON inside `<script>`  `script_json`
CSV cell                `csv_cell`, then the `csv` module for the quoting
XML text, attribute     `xml_text`, `xml_attribute` (feeds, sitemaps)
terminal                `terminal` (always one line)
log of a CI job         `log_line` (always one line, never a workflow command)
GitHub annotation       `annotation_message`, `annotation_property`
file name from an id    `file_name`
======================  ==========================================================

Prose with Markdown in it goes through `kbtool.site.prose`. Templates of the site escape by
themselves; they need this module only for `href`, `script_json` and file names.

Nothing is silently dropped: what a place cannot hold is shown as a visible escape (`\x1b`) or
as U+FFFD. The functions are pure, need only the standard library, and are total: there is no
text for which they raise.
"""

import hashlib
import ipaddress
import json
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

__all__ = [
    "annotation_message",
    "annotation_property",
    "csv_cell",
    "file_name",
    "href",
    "html_attribute",
    "html_text",
    "log_line",
    "script_json",
    "shown_host",
    "terminal",
    "xml_attribute",
    "xml_text",
]

MAX_URL_CHARACTERS: Final = 2048
MAX_FILE_NAME_CHARACTERS: Final = 120


# --- HTML -------------------------------------------------------------------------------------

# A parser turns a raw CR into LF and drops or replaces the rest of these; a surrogate cannot even
# be encoded. CR survives as a character reference.
_NOT_IN_HTML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_HTML_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_HTML_ATTRIBUTE: Final = _HTML_TEXT | str.maketrans({'"': "&#34;", "'": "&#39;"})


def html_text(text: str) -> str:
    """Return `text` for the content of an element; not for `<script>` or `<style>`."""
    return _NOT_IN_HTML.sub("\ufffd", text).translate(_HTML_TEXT)


def html_attribute(text: str) -> str:
    """Return `text` for an attribute value between single or double quotes.

    It is then inert, not yet harmless in every attribute: a URL needs `href` first, and no text of
    a record belongs into `style`, `srcdoc` or an attribute whose name starts with `on`.
    """
    return _NOT_IN_HTML.sub("\ufffd", text).translate(_HTML_ATTRIBUTE)


# --- URL --------------------------------------------------------------------------------------

_REFUSED_IN_URL: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\\\u1680\u2000-\u200f\u2028-\u202f\u205f"
    r"\u2060-\u206f\u3000\ud800-\udfff\ufeff]"
)
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
    r"(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?"
)
_KEPT_IN_URL: Final = re.compile(rb"[A-Za-z0-9\-._~:/?#\[\]@!$&()*+,;=%]")


def href(url: str, *, allow_http: bool = False) -> str | None:
    """Return `url` in the one form that is linked, or None where it must not be a link.

    Linked is an absolute `https` URL (with `allow_http`, `http` too) with a host and without user
    name, white space, control characters or backslashes; browsers read those in surprising ways.
    Scheme and host come back in lower case, an international host as punycode, so that a reader
    sees which site it is; whatever a URL cannot hold in its path or query is percent-encoded.
    Whether the host is a public one is a question for lint, not for this function.
    """
    if len(url) > MAX_URL_CHARACTERS or _REFUSED_IN_URL.search(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in (("https", "http") if allow_http else ("https",)):
        return None
    if not url[len(parts.scheme) + 1 :].startswith("//") or "@" in parts.netloc:
        return None
    host = (_ipv6_host if "[" in parts.netloc else _ascii_host)(parts.hostname or "")
    if host is None:
        return None
    netloc = host if port is None else f"{host}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{netloc}" + _percent_encoded(f"{parts.path}{query}{fragment}")


def shown_host(url: str) -> str | None:
    """Return the host of `url` as a reader should see it: ASCII, foreign scripts as punycode."""
    linked = href(url, allow_http=True)
    return None if linked is None else urlsplit(linked).hostname


def _ipv6_host(host: str) -> str | None:
    try:
        return None if "%" in host else f"[{ipaddress.IPv6Address(host)}]"
    except ValueError:
        return None


def _ascii_host(host: str) -> str | None:
    """Return `host` in lower-case ASCII, or None where it is no host name."""
    try:
        ascii_host = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    return ascii_host if _HOST.fullmatch(ascii_host) else None


def _percent_encoded(text: str) -> str:
    return _encode_bytes(text, _KEPT_IN_URL, "%{:02X}")


def _encode_bytes(text: str, kept: re.Pattern[bytes], form: str) -> str:
    """Write each UTF-8 byte of `text` that `kept` does not match in the given `form`."""
    raw = text.encode("utf-8", "surrogatepass")
    return "".join(
        chr(byte) if kept.fullmatch(raw, at, at + 1) else form.format(byte) for at, byte in enumerate(raw)
    )


# --- JSON, CSV, XML ---------------------------------------------------------------------------

_SCRIPT_JSON: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def script_json(value: object) -> str:
    r"""Return `value` as strict JSON that can stand inside a `<script>` element.

    `<`, `>` and `&` are written as `\u003c` and so on, which means the same to a JSON parser and
    nothing to an HTML parser. Equal values give equal text.

    Raises:
        TypeError: If a value is not plain JSON data (`Decimal` is not: decide on its form first).
        ValueError: For NaN and the infinities, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SCRIPT_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def csv_cell(value: str | float | Decimal | bool | None) -> str:
    """Return `value` for one CSV cell, in a form that no spreadsheet runs as a formula.

    Text that starts like a formula, also after white space or in full-width characters, gets an
    apostrophe in front. Numbers stay as they are, the minus sign included; None is an empty cell.
    Exact text is kept by the JSON and Parquet files instead.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if not isinstance(value, str):
        return repr(value)
    return f"'{value}" if _starts_like_a_formula(value) else value


def _starts_like_a_formula(text: str) -> bool:
    if text[:1] in ("\t", "\r", "\n"):
        return True
    for character in text:
        if not (character.isspace() or unicodedata.category(character) in ("Cc", "Cf")):
            folded = unicodedata.normalize("NFKC", character)[:1]
            return folded in ("=", "+", "-", "@", "\N{MINUS SIGN}")
    return False


# The complement of the Char production of XML 1.0, and the C1 controls that it only discourages.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_XML_ATTRIBUTE: Final = _HTML_ATTRIBUTE | str.maketrans({"\t": "&#9;", "\n": "&#10;"})


def xml_text(text: str) -> str:
    """Return `text` for the content of an XML 1.0 element."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_HTML_TEXT)


def xml_attribute(text: str) -> str:
    """Return `text` for a quoted XML 1.0 attribute value."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_XML_ATTRIBUTE)


# --- terminals and logs -----------------------------------------------------------------------

_SHORT_ESCAPES: Final[Mapping[str, str]] = MappingProxyType({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_MISLEADING_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def terminal(text: str) -> str:
    r"""Return `text` as one line that moves no cursor, colours nothing and hides nothing.

    Control, bidirectional and invisible characters appear as `\x1b`, `\u202e` or `\n`.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _MISLEADING_CATEGORIES:
        return character
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def log_line(text: str) -> str:
    r"""Return `text` as one line of a CI log that the runner does not take for a command.

    GitHub Actions reads `::` at the start of a line and `##[` anywhere in it, so one colon and the
    bracket are written as `\x3a` and `\x5b`.
    """
    line = terminal(text).replace("##[", "##\\x5b")
    stripped = line.lstrip()
    if stripped.startswith("::"):
        line = f"{line[: len(line) - len(stripped)]}\\x3a{stripped[1:]}"
    return line


_MESSAGE_CODES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_CODES: Final = _MESSAGE_CODES | str.maketrans({":": "%3A", ",": "%2C"})


def annotation_message(text: str) -> str:
    """Return `text` for the message of a GitHub annotation, where it may have several lines."""
    return _visible_but_line_ends(text).translate(_MESSAGE_CODES)


def annotation_property(text: str) -> str:
    """Return `text` for a property of a GitHub annotation, such as `file=` or `title=`."""
    return _visible_but_line_ends(text).translate(_PROPERTY_CODES)


def _visible_but_line_ends(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character in "\r\n" else _visible(character) for character in text)


# --- file names -------------------------------------------------------------------------------

_KEPT_IN_FILE_NAME: Final = re.compile(rb"[a-z0-9-]")
_WINDOWS_DEVICE: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


def file_name(identifier: str) -> str:
    """Return a file name without extension that stands for `identifier` on every file system.

    An id of a record comes back unchanged. In anything else each byte but `a-z 0-9 -` is written
    as `_` and two hexadecimal digits, so that two identifiers never share a name, also where case
    or Unicode form do not count. Long names end in a hash.
    """
    name = _encode_bytes(identifier, _KEPT_IN_FILE_NAME, "_{:02x}") or "_"
    if _WINDOWS_DEVICE.fullmatch(name):
        name += "_"
    if len(name) <= MAX_FILE_NAME_CHARACTERS:
        return name
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name[: MAX_FILE_NAME_CHARACTERS - 18]}__{digest}"

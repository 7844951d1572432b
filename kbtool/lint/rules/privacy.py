"""Rules about people and machines: what a log tells about them and no benchmark needs."""

import re
from collections.abc import Iterator
from typing import Final

from kbtool.lint.lookup import FileView
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Record

_GPU_UUID: Final = re.compile(
    r"\b(?:GPU|MIG)-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)
_UUID: Final = re.compile(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
_SERIAL: Final = re.compile(
    r"(?i)\bserial(?:[ _-]?(?:no|nr|num|number))?\.?\s{0,40}[:=#]?\s{0,3}(?=[A-Z-]*\d)[0-9A-Z][0-9A-Z-]{7,}\b"
)
_MAC: Final = re.compile(r":[0-9a-fA-F]{2}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?![0-9a-fA-F:])")
_MAIL: Final = re.compile(r"(?<![\w./@:+-])[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b")
_NO_PERSON: Final = ("git@", "noreply@", "no-reply@")
_PRIVATE_IPV4: Final = re.compile(
    r"(?<![\w.-])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))"
    r"\.\d{1,3}\.\d{1,3}(?![\w.-]*\d)"
)
_FOUR_NUMBERS: Final = re.compile(r"\.\d{1,3}\.\d{1,3}\.\d")
_VERSION_BEFORE: Final = re.compile(r"(?i)(?:version|tensorrt|trt|cudnn|driver|rocm|release|\bv)\W{0,3}$")
_INTERNAL_HOST: Final = re.compile(
    r"(?i)(?<![\w.-])(?:[a-z0-9-]+\.)+(?:local|internal|lan|corp|intranet|home\.arpa)(?![\w-])"
)
_INTERNAL_SUFFIX: Final = re.compile(r"\.(?:local|internal|lan|corp|intranet|home\.arpa)(?![\w-])")
_HOME: Final = re.compile(r"/(?:home|Users)/")
_USER_PATH: Final = re.compile(r"(?:(?<![\w.])/(?:home|Users)/|\b[A-Za-z]:\\Users\\)([A-Za-z_][\w.-]*)")
_NOBODY: Final = frozenset(
    {
        "user",
        "username",
        "ubuntu",
        "runner",
        "root",
        "app",
        "admin",
        "vllm",
        "sglang",
        "me",
        "you",
        "name",
        "public",
        "shared",
    }
)
_SHOWN: Final = 4


@rule("W002", "hardware-serial")
def hardware_serial(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a serial number, a GPU's UUID or a network card's address.

    They identify one machine for as long as it lives, and with it its owner. A run needs the model of a
    part, never its number.

    Bad:
        notes: The card with serial number 1324522034567 was replaced.

    Good:
        notes: The third card was replaced.
    """
    del record
    text = view.text
    if _UUID.search(text):
        yield from _found(view, _GPU_UUID, "the UUID of a GPU")
    if "erial" in text or "ERIAL" in text:
        yield from _found(view, _SERIAL, "a serial number")
    if _MAC.search(text):
        yield from _found(view, _MAC, "the address of a network card")


@rule("W003", "mail-address")
def mail_address(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a mail address.

    An author is named; whoever wants to write to them finds the address at the source.

    Bad:
        notes: Ask someone.else@example.com for the log.

    Good:
        notes: Ask the author for the log; git@example.com is the repository.
    """
    del record
    if "@" not in view.text:
        return
    for pointer, text in view.strings:
        for found in _MAIL.finditer(text) if "@" in text else ():
            if not found[0].startswith(_NO_PERSON):
                yield Problem(
                    pointer,
                    f"a mail address ({found[0][:_SHOWN]}...): name the person, and take the address out",
                )


@rule("W004", "internal-host")
def internal_host(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag the address or the name of a machine in somebody's own network.

    It helps nobody who reads the record, and tells a stranger how a network is laid out.

    Bad:
        notes: The client ran on 192.168.17.4 beside it.

    Good:
        notes: The client ran on 127.0.0.1, the machine itself.
    """
    del record
    text = view.text
    if _FOUR_NUMBERS.search(text):
        for pointer, value in view.strings:
            if value.count(".") < 3 or value.startswith("http"):
                continue  # of a web address, W103 says it
            for found in _PRIVATE_IPV4.finditer(value):
                if not _VERSION_BEFORE.search(value, max(0, found.start() - 16), found.start()):
                    message = f"an address of a private network ({found[0][:_SHOWN]}...): say what the machine is instead"
                    yield Problem(pointer, message)
    if _INTERNAL_SUFFIX.search(text):
        yield from _found(view, _INTERNAL_HOST, "the name of a host in a private network")


@rule("W005", "user-name-in-path")
def user_name_in_path(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a path into a user's home.

    It carries the name of an account. Everything from the home on says as much about the run.

    Bad:
        notes: Weights in /home/someone/models.

    Good:
        notes: Weights in /home/user/models.
    """
    del record
    if not _HOME.search(view.text) and "\\" not in view.text:
        return
    for pointer, text in view.strings:
        for found in _USER_PATH.finditer(text):
            if found[1].casefold() not in _NOBODY:
                yield Problem(
                    pointer, f"a path with an account's name ({found[1][:_SHOWN]}...): write /home/user, or ~"
                )


def _found(view: FileView, pattern: re.Pattern[str], title: str) -> Iterator[Problem]:
    for pointer, text in view.strings:
        found = None if text.startswith("http") else pattern.search(text)
        if found:
            shown = found[0].lstrip(":")[:_SHOWN]
            yield Problem(pointer, f"{title} ({shown}...): take it out, the model of the part is enough")

"""The checks of the `format` keyword. Formats that Kubernetes does not check, such as int32 and double, have none.

Hyphens in format names are ignored: date-time and datetime are the same format.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable

from probate.api import names

Test = Callable[[str], bool]

_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_GO_DURATION = re.compile(r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_WORD_DURATION = re.compile(r"([0-9]+\s*[A-Za-zµ]+\s*)+")
_UNIT = re.compile(r"[A-Za-zµ]+")
_UNITS = ("ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "m", "h", "d", "w")
_URI = re.compile(r"(/|[A-Za-z][A-Za-z0-9+.-]*:)[^\s\x00-\x1f\x7f]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ADDRESS = re.compile(r"[^\s<>()\[\]\\,;:@\".]+(\.[^\s<>()\[\]\\,;:@\".]+)*@[^\s<>()\[\]\\,;:@\".]+(\.[^\s<>()\[\]\\,;:@\".]+)*")
_NAMED_ADDRESS = re.compile(r"[^<>@]*<([^<>]+)>\s*")
_HOST_LABEL = re.compile(r"[^\W_](?:[^\W_]|-)*(?<!-)|[^\W_]")
_MAC = re.compile(
    r"[0-9a-f]{2}((:[0-9a-f]{2}){5}|(:[0-9a-f]{2}){7}|(-[0-9a-f]{2}){5}|(-[0-9a-f]{2}){7})|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3}",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_UUID = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_RGB = re.compile(r"rgb\(\s*((0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*){2}(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)")
_SSN = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_CARD = re.compile(r"[0-9]{12,19}")


def test_of(name: str) -> Test | None:
    """Returns the check for strings of this format; None if the format has no check."""
    return _TESTS.get(name.replace("-", ""))


def _matches(pattern: str) -> Test:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_date_time(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    return _is_date(day) and _TIME.fullmatch(time) is not None


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    return _WORD_DURATION.fullmatch(text) is not None and all(one.startswith(_UNITS) for one in _UNIT.findall(text.lower()))


def _is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None and _BAD_ESCAPE.search(text) is None


def _is_email(text: str) -> bool:
    named = _NAMED_ADDRESS.fullmatch(text)
    return _ADDRESS.fullmatch((named[1] if named else text).strip()) is not None


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return len(text.encode(errors="replace")) <= 255 and all(
        len(one.encode(errors="replace")) <= 63 and _HOST_LABEL.fullmatch(one) for one in labels
    )


def _is_ip(version: int) -> Test:
    def test(text: str) -> bool:
        try:
            return "%" not in text and ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return test


def _is_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    if not (length.isascii() and length.isdigit()):
        return False
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "%" not in address


def _is_card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [int(one) * (1 + index % 2) for index, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((index + 1) * (10 if one == "X" else int(one)) for index, one in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    return (
        re.fullmatch(r"[0-9]{13}", digits) is not None
        and sum(int(one) * (1, 3)[index % 2] for index, one in enumerate(digits)) % 10 == 0
    )


_TESTS: dict[str, Test] = {
    "bsonobjectid": _matches("[0-9a-f]{24}"),
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "cidr": _is_cidr,
    "creditcard": _is_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _matches("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: not names.validate_dns_subdomain(text),
    "k8sshortname": lambda text: not names.validate_dns_label(text),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda _: True,
    "rgbcolor": lambda text: _RGB.fullmatch(text) is not None,
    "ssn": lambda text: _SSN.fullmatch(text) is not None,
    "uri": _is_uri,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _matches(_UUID % ("4", "[89ab]")),
    "uuid5": _matches(_UUID % ("5", "[89ab]")),
}

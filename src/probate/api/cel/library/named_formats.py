"""Named formats.

`format.dns1123Label().validate(self.name)` returns the errors, if any; `format.named('uuid')` looks a format up by name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date

from probate.api import names
from probate.api.cel.library import urls
from probate.lib.cel import timestamps
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, tenth
from probate.lib.cel.values import NONE, Optional

LIBRARY = Library()
function = LIBRARY.function

_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")


def _prefixed(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Returns the check for the prefix of generated names (generateName)."""
    return lambda text: names.validate_prefix(check, text)


def _wrong_if(fails: Callable[[str], bool], message: str) -> Callable[[str], list[str]]:
    return lambda text: [message] if fails(text) else []


def _is_no_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return True
    return False


def _is_no_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return True
    return len(text) != 10


def _is_no_moment(text: str) -> bool:
    try:
        timestamps.timestamp(text)
    except CelError:
        return True
    return False


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.validate_dns_label,
    "dns1123Subdomain": names.validate_dns_subdomain,
    "dns1035Label": names.validate_dns_1035_label,
    "qualifiedName": names.validate_qualified_name,
    "dns1123LabelPrefix": _prefixed(names.validate_dns_label),
    "dns1123SubdomainPrefix": _prefixed(names.validate_dns_subdomain),
    "dns1035LabelPrefix": _prefixed(names.validate_dns_1035_label),
    "labelValue": names.validate_label_value,
    "uri": _wrong_if(lambda text: urls.parse(text) is None, "invalid URI"),
    "uuid": _wrong_if(lambda text: not _UUID.fullmatch(text), "does not match the UUID format"),
    "byte": _wrong_if(_is_no_base64, "invalid base64"),
    "date": _wrong_if(_is_no_date, "invalid date"),
    "datetime": _wrong_if(_is_no_moment, "invalid datetime"),
}


class NamedFormat:
    """A named string format."""

    __slots__ = ("name",)
    cel_type = "kubernetes.NamedFormat"

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def _declare(name: str) -> None:
    @function(f"format.{name}() -> Format")
    def _named(_: Meter) -> NamedFormat:
        return NamedFormat(name)


for _name in FORMATS:
    _declare(_name)


@function("format.named(string) -> optional<Format>")
def _by_name(_: Meter, name: str) -> Optional:
    return Optional(NamedFormat(name)) if name in FORMATS else NONE


@function("Format::validate(string) -> optional<list<string>>", cost=lambda _, text: 1 + tenth(text) * 3)
def _validate(_: Meter, one: NamedFormat, text: str) -> Optional:
    wrong = FORMATS[one.name](text)
    return Optional(wrong) if wrong else NONE

"""An openAPIV3Schema as written in a definition, read into a `Schema`.

Reading never fails: what is not as it should be is `check`'s to say, and a definition that is wrong never gets this far. What
restricts values (`enum`, `pattern`, `anyOf`, ...) stays in `Schema.limits` as written; `validate` reads it once more when it
compiles the schema.
"""

from __future__ import annotations

from typing import Any

from probate.api.schema.node import UNSET, Schema
from probate.core import work_limits

_NUMBERS = ("minimum", "maximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_SWITCHES = ("exclusiveMinimum", "exclusiveMaximum")
_LISTS = ("enum", "allOf", "anyOf", "oneOf")
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_NUMBERS, (int, float)),
    **dict.fromkeys(_COUNTS, (int,)),
    **dict.fromkeys(_SWITCHES, (bool,)),
    **dict.fromkeys(_LISTS, (list,)),
    "pattern": (str,),
    "not": (dict,),
}
LIMITS = tuple(_KINDS)


def parse(written: Any) -> Schema:
    """The schema of one value."""
    if not isinstance(written, dict):
        return Schema()
    work_limits.spend(10)
    return Schema(
        type=text(written, "type"),
        format=text(written, "format"),
        description=text(written, "description"),
        properties={name: parse(one) for name, one in table(written, "properties").items()},
        values=_values(written),
        items=parse(written["items"]) if isinstance(written.get("items"), dict) else None,
        required=texts(written, "required"),
        default=_default(written),
        is_nullable=written.get("nullable") is True,
        is_int_or_string=written.get("x-kubernetes-int-or-string") is True,
        is_embedded=written.get("x-kubernetes-embedded-resource") is True,
        keeps_unknown=written.get("x-kubernetes-preserve-unknown-fields") is True,
        list_type=text(written, "x-kubernetes-list-type") or "atomic",
        map_keys=texts(written, "x-kubernetes-list-map-keys"),
        map_type=text(written, "x-kubernetes-map-type") or "granular",
        limits=_limits(written),
        rules=tuple(one for one in array(written, "x-kubernetes-validations") if isinstance(one, dict)),
    )


def parse_root(written: Any) -> Schema:
    """The schema of a whole object, whose apiVersion, kind and metadata are not the definition's to describe."""
    root = parse(written)
    root.is_embedded = True
    return root


def schemas(written: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """The schemas by name under the key."""
    return {name: one for name, one in table(written, key).items() if isinstance(one, dict)}


def text(written: dict[str, Any], key: str) -> str:
    """The text under the key; empty if there is none."""
    found = written.get(key)
    return found if isinstance(found, str) else ""


def table(written: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under the key; empty if there is none."""
    found = written.get(key)
    return found if isinstance(found, dict) else {}


def array(written: dict[str, Any], key: str) -> list[Any]:
    """The list under the key; empty if there is none."""
    found = written.get(key)
    return found if isinstance(found, list) else []


def texts(written: dict[str, Any], key: str) -> tuple[str, ...]:
    """The texts in the list under the key."""
    return tuple(one for one in array(written, key) if isinstance(one, str))


def _values(written: dict[str, Any]) -> Schema | None:
    """additionalProperties. With true or false the keys stay when pruning, but nothing is known of what is under them."""
    additional = written.get("additionalProperties")
    return None if additional is None else parse(additional)


def _default(written: dict[str, Any]) -> Any:
    found = written.get("default")
    return UNSET if found is None else found


def _limits(written: dict[str, Any]) -> dict[str, Any]:
    limits = {key: written[key] for key, kinds in _KINDS.items() if type(written.get(key)) in kinds}
    if written.get("additionalProperties") is False:
        limits["additionalProperties"] = False
    return limits

"""Parses the openAPIV3Schema of a CustomResourceDefinition into a `Schema`.

Parsing never fails: `schema_check` reports errors, and the server rejects an invalid CustomResourceDefinition before it is parsed
here. Value validations (`enum`, `pattern`, `anyOf`, ...) stay in `Schema.limits` unparsed; `validate` parses them when it compiles
the schema.
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
    """Parses the schema of a value."""
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
        is_embedded_resource=written.get("x-kubernetes-embedded-resource") is True,
        preserves_unknown_fields=written.get("x-kubernetes-preserve-unknown-fields") is True,
        list_type=text(written, "x-kubernetes-list-type") or "atomic",
        map_keys=texts(written, "x-kubernetes-list-map-keys"),
        map_type=text(written, "x-kubernetes-map-type") or "granular",
        value_validations=_limits(written),
        validation_rules=tuple(one for one in array(written, "x-kubernetes-validations") if isinstance(one, dict)),
    )


def parse_root(written: Any) -> Schema:
    """Parses the schema of a root object. The CustomResourceDefinition does not define its apiVersion, kind and metadata."""
    root = parse(written)
    root.is_embedded_resource = True
    return root


def schemas(written: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """Returns the subschemas by name under the key."""
    return {name: one for name, one in table(written, key).items() if isinstance(one, dict)}


def text(written: dict[str, Any], key: str) -> str:
    """Returns the string under the key; empty if absent."""
    found = written.get(key)
    return found if isinstance(found, str) else ""


def table(written: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns the object under the key; empty if absent."""
    found = written.get(key)
    return found if isinstance(found, dict) else {}


def array(written: dict[str, Any], key: str) -> list[Any]:
    """Returns the list under the key; empty if absent."""
    found = written.get(key)
    return found if isinstance(found, list) else []


def texts(written: dict[str, Any], key: str) -> tuple[str, ...]:
    """Returns the strings in the list under the key."""
    return tuple(one for one in array(written, key) if isinstance(one, str))


def _values(written: dict[str, Any]) -> Schema | None:
    """Parses additionalProperties. With true or false, pruning keeps the keys, but their values have no schema."""
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

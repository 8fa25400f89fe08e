"""Checks x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type in a schema.

Server-side apply identifies items by their keys, so keys must be scalars and always present.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, not_supported, required
from probate.api.structural.parse import schemas, table, text, texts
from probate.api.structural.structure import RawSchema

LIST_TYPE, MAP_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def list_problems(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    """Yields the problems of the list and map types of one node."""
    yield from _check_map_type(written, path)
    yield from _check_list_type(written, path)
    if texts(written, MAP_KEYS) and text(written, LIST_TYPE) != "map":
        detail = f"must be map if {MAP_KEYS} is non-empty"
        given = text(written, LIST_TYPE)
        yield invalid(path / LIST_TYPE, given, detail) if given else required(path / LIST_TYPE, detail)
    if text(written, LIST_TYPE) == "map":
        yield from _check_map_list(written, path)
    if text(written, LIST_TYPE) in {"set", "map"} and isinstance(written.get("items"), dict):
        yield from _check_nulls_and_keys(written, path)


def _check_map_type(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    given = written.get(MAP_TYPE)
    if given is None:
        return
    yield from _check_type(written, path, "object", keyword=MAP_TYPE)
    if given not in ("atomic", "granular"):
        yield not_supported(path / MAP_TYPE, given, ["atomic", "granular"])


def _check_list_type(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    given = written.get(LIST_TYPE)
    if given is None:
        return
    yield from _check_type(written, path, "array", keyword=LIST_TYPE)
    if given not in ("atomic", "set", "map"):
        yield not_supported(path / LIST_TYPE, given, ["atomic", "set", "map"])
    if given == "set" and text(written, "type") == "array":
        yield from _check_set_items(table(written, "items"), path / "items")


def _check_type(written: RawSchema, path: FieldPath, expected: str, *, keyword: str) -> Iterator[FieldError]:
    given, detail = text(written, "type"), f"must be {expected} if {keyword} is specified"
    if given != expected:
        yield invalid(path / "type", given, detail) if given else required(path / "type", detail)


def _check_set_items(items: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    """Checks the items of a set. Set items are compared as a whole, so no field manager can own a part of one."""
    detail = f"must be atomic as item of a list with {LIST_TYPE}=set"
    if text(items, "type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        yield invalid(path / LIST_TYPE, items.get(LIST_TYPE), detail)
    if text(items, "type") == "object" and items.get(MAP_TYPE) != "atomic":
        yield invalid(path / MAP_TYPE, items.get(MAP_TYPE), detail)


def _check_map_list(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    items, keys = written.get("items"), texts(written, MAP_KEYS)
    if not keys:
        yield required(path / MAP_KEYS, f"must not be empty if {LIST_TYPE} is map")
    if items is None:
        yield required(path / "items", f"must have a schema if {LIST_TYPE} is map")
    elif not isinstance(items, dict):
        yield invalid(path / "items", items, f"must only have a single schema if {LIST_TYPE} is map")
    elif text(items, "type") != "object":
        yield invalid(path / "items" / "type", text(items, "type"), f"must be object if parent array's {LIST_TYPE} is map")
    else:
        yield from _check_keys(keys, items, path)


def _check_keys(keys: tuple[str, ...], items: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    properties = schemas(items, "properties")
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid(path / MAP_KEYS, list(keys), "entries must all be names of item properties")
        elif text(properties[key], "type") in {"array", "object"}:
            detail = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            yield invalid(path / "items" / "properties" @ key / "type", text(properties[key], "type"), detail)
        if key in keys[:index]:
            yield invalid(path / MAP_KEYS, list(keys), "must not contain duplicate entries")


def _check_nulls_and_keys(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    items, list_type = written["items"], text(written, LIST_TYPE)
    if items.get("nullable"):
        yield forbidden(path / "items" / "nullable", f"cannot be nullable when {LIST_TYPE} is {list_type}")
    if list_type != "map":
        return
    for key in texts(written, MAP_KEYS):
        known = schemas(items, "properties").get(key)
        here = path / "items" / "properties" @ key
        if known is not None and key not in texts(items, "required") and known.get("default") is None:
            detail = f"this property is in {MAP_KEYS}, so it must have a default or be a required property"
            yield required(here / "default", detail)
        if known is not None and known.get("nullable"):
            yield forbidden(here / "nullable", f"this property is in {MAP_KEYS}, so it cannot be nullable")

"""What holds for any schema and any value; where JSON Schema means the same, the `jsonschema` library agrees."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.field_errors import FieldPath
from probate.api.structural.defaults import default
from probate.api.structural.parse import LIMITS, parse, parse_root
from probate.api.structural.prune import prune
from probate.api.structural.schema_check import check
from probate.api.structural.validate import validate, validate_values

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5).map(lambda x: round(x, 1)), st.text("ab", max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=10
)

TEXTS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b+$", "a|b"]),
        "enum": st.lists(st.text("ab", max_size=2), min_size=1, max_size=3),
    },
)
INTEGERS = st.fixed_dictionaries(
    {"type": st.just("integer")},
    optional={"minimum": st.integers(-3, 3), "maximum": st.integers(-3, 3), "multipleOf": st.integers(1, 3)},
)
BRANCHES = st.fixed_dictionaries(
    {}, optional={"minimum": st.integers(-3, 3), "minLength": st.integers(0, 3), "required": st.lists(NAMES)}
)
JUNCTORS = st.fixed_dictionaries(
    {},
    optional={
        "anyOf": st.lists(BRANCHES, min_size=1, max_size=3),
        "allOf": st.lists(BRANCHES, min_size=1, max_size=3),
        "oneOf": st.lists(BRANCHES, min_size=1, max_size=3),
        "not": BRANCHES,
    },
)
PLAIN = st.one_of(TEXTS, INTEGERS, st.just({"type": "number"}), st.just({"type": "boolean"}))
WITH_JUNCTORS = st.tuples(PLAIN, JUNCTORS).map(lambda pair: {**pair[0], **pair[1]})


def _objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
            optional={"required": st.lists(NAMES, unique=True), "maxProperties": st.integers(0, 3)},
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "additionalProperties": inner}, optional={"minProperties": st.integers(0, 2)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)}
        ),
    )


SCHEMAS = st.recursive(WITH_JUNCTORS, _objects, max_leaves=6)
EXTENSIONS = st.fixed_dictionaries(
    {},
    optional={
        "nullable": st.booleans(),
        "x-kubernetes-preserve-unknown-fields": st.just(True),
        "x-kubernetes-embedded-resource": st.just(True),
        "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic"]),
        "x-kubernetes-list-map-keys": st.just(["a"]),
        "format": st.sampled_from(["date", "uuid", "byte", "int64"]),
        "default": VALUES,
    },
)
WILD = st.recursive(
    st.tuples(WITH_JUNCTORS, EXTENSIONS).map(lambda pair: {**pair[0], **pair[1]}),
    lambda inner: st.tuples(_objects(inner), EXTENSIONS).map(lambda pair: {**pair[0], **pair[1]}),
    max_leaves=6,
)
WORDS = st.sampled_from(
    [
        *LIMITS,
        "type",
        "format",
        "items",
        "properties",
        "additionalProperties",
        "required",
        "default",
        "a",
        "x-kubernetes-list-map-keys",
    ]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=4)), max_leaves=12
)


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_json_schema_agrees(written: dict[str, Any], value: Any) -> None:
    if not _has_null(value):  # nullability is Kubernetes' own
        assert (not validate_values(value, parse(written))) == jsonschema.Draft6Validator(written).is_valid(value)


@settings(deadline=None)
@given(WILD, VALUES, VALUES)
def test_nothing_crashes(written: dict[str, Any], value: Any, old: Any) -> None:
    schema = parse(written)
    validate(value, schema, old)
    prune(value, schema)
    default(value, schema)
    validate(value, schema)


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
def test_any_json_may_come_as_a_schema(written: Any, value: Any) -> None:
    validate(value, parse(written))
    if isinstance(written, dict):
        check(written, FieldPath("S"))


@settings(deadline=None)
@given(WILD, VALUES)
def test_pruning_twice_drops_nothing_more(written: dict[str, Any], value: Any) -> None:
    schema = parse(written)
    prune(value, schema)
    left = copy.deepcopy(value)
    assert prune(value, schema) == []
    assert value == left


@settings(deadline=None)
@given(WILD, VALUES)
def test_defaulting_twice_adds_nothing_more(written: dict[str, Any], value: Any) -> None:
    schema = parse(written)
    default(value, schema)
    once = copy.deepcopy(value)
    default(value, schema)
    assert value == once


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.tuples(PLAIN, SCALARS).map(lambda pair: {**pair[0], "default": pair[1]}), max_size=3))
def test_objects_from_checked_defaults_are_valid(properties: dict[str, Any]) -> None:
    written = {"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": properties}}}
    if check(written, FieldPath("S")):
        return
    value: dict[str, Any] = {}
    default(value, parse_root(written))
    assert validate(value, parse_root(written)) == []
    assert prune(value, parse_root(written)) == []


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_an_object_that_did_not_change_is_never_wrong(written: dict[str, Any], value: Any) -> None:
    if value is not None:
        assert validate_values(value, parse(written), copy.deepcopy(value)) == []


def _has_null(value: Any) -> bool:
    below = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return value is None or any(_has_null(one) for one in below)

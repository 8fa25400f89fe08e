"""What would grow without bound does not: messages, paths, selectors, patterns, definitions, rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from probate.api import documents, field_errors
from probate.api.crds import versions
from probate.api.field_errors import Path, Problem
from probate.api.gvk import GroupResource
from probate.api.printing import custom_columns
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import field_selectors, label_selectors
from probate.api.selectors.selectable_fields import supported_fields
from probate.api.structural import defaults
from probate.api.structural.parse import parse
from probate.api.structural.validate import validate_values
from probate.core import errors, work_limits
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import messages
from probate.lib.regexp import BadPattern, compile_pattern


def test_check_is_stopped_once_enough_is_found() -> None:
    asked = []

    def endless() -> Any:
        while True:
            asked.append(1)
            yield Problem("r", "f", "m")

    assert len(field_errors.first(endless())) == len(asked) == field_errors.MAX_PROBLEMS


def test_value_in_a_message_is_cut_and_not_even_looked_at_behind_that() -> None:
    class Trap(dict[str, Any]):
        def items(self) -> Any:
            raise AssertionError("looked at")

    assert field_errors.shown({"a": "x" * 1000, "b": Trap()}).endswith("...")
    assert len(field_errors.shown(["x"] * 100_000)) == field_errors.MAX_SHOWN
    assert field_errors.shown({"a": [1, None, "é"]}) == '{"a":[1,null,"é"]}'


def test_path_shows_the_beginning_of_a_long_name() -> None:
    path = Path("data") / ("x" * 1_000_000) / "a" @ ("y" * 1_000_000)
    assert len(str(path)) < 2 * field_errors.MAX_NAME + 20
    assert ".a[y" in str(path)


def test_of_many_unknown_fields_a_hundred_are_told() -> None:
    schema = catalog.schema("", "v1", "ConfigMap")
    assert schema is not None
    reader = typed.Reader(lambda _: None)
    reader.read({f"x{number}": 1 for number in range(5_000)}, schema)
    assert len(reader.unknown) == typed.MAX_UNKNOWN


def test_selectors_ask_a_thousand_things_at_most() -> None:
    known = supported_fields(GroupResource("", "pods"))
    assert label_selectors.parse(",".join(f"k{number}" for number in range(1_000))).requirements
    with pytest.raises(errors.BadRequest, match="1,000"):
        label_selectors.parse(",".join(f"k{number}" for number in range(1_001)))
    with pytest.raises(errors.BadRequest, match="1,000"):
        field_selectors.parse(",".join(f"metadata.name!=a{number}" for number in range(1_001)), known)


def test_field_that_must_be_two_things_is_neither() -> None:
    known = supported_fields(GroupResource("", "pods"))
    both = field_selectors.parse("metadata.name=a,metadata.name=b", known)
    assert not both.matches({"metadata": {"name": "a"}})
    one = field_selectors.parse("metadata.name=a,metadata.name!=b,metadata.namespace!=x", known)
    assert one.matches({"metadata": {"name": "a", "namespace": "y"}})
    assert not one.matches({"metadata": {"name": "a", "namespace": "x"}})


@pytest.mark.parametrize("pattern", ["a" * 20_001, "a{1000}" * 30])
def test_pattern_that_is_too_large_is_none(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"too large|repeat count"):
        compile_pattern(pattern)


def test_pattern_spends_effort_on_what_it_has_not_seen() -> None:
    flips = random.Random(1)  # noqa: S311
    pattern = compile_pattern("(a|b)*a(a|b){500}c")
    with work_limits.limited(10_000), pytest.raises(work_limits.TooMuch):
        pattern.search("".join(flips.choice("ab") for _ in range(5_000)))
    assert not pattern.search("ab" * 10)


def test_alternatives_and_defaults_spend_effort() -> None:
    wide = parse({"anyOf": [{"required": [f"r{number}"]} for number in range(200)]})
    with work_limits.limited(100), pytest.raises(work_limits.TooMuch):
        validate_values({}, wide)
    heavy = parse({"type": "array", "items": {"properties": {"a": {"default": "x" * 10_000}}}})
    with work_limits.limited(1_000), pytest.raises(work_limits.TooMuch):
        defaults.default([{} for _ in range(100)], heavy)


def test_effort_is_counted_within_its_limit_only() -> None:
    work_limits.spend(10**9)
    with work_limits.limited(10):
        work_limits.spend(10)
        with work_limits.limited(5):
            work_limits.spend(5)
        with pytest.raises(work_limits.TooMuch):
            work_limits.spend(1)
    work_limits.spend(10**9)


def test_definition_has_a_hundred_versions_and_columns_at_most() -> None:
    column = {"name": "c", "type": "string", "jsonPath": ".a"}
    made = [{"name": f"v{number}", "storage": number == 1, "additionalPrinterColumns": [column] * 101} for number in range(1, 102)]
    found = {(one.reason, one.field) for one in versions.version_problems({"spec": {"versions": made}})}
    assert (field_errors.TOO_MANY, "spec.versions") in found
    assert any(reason == field_errors.TOO_MANY and field.endswith("additionalPrinterColumns") for reason, field in found)


def test_row_of_a_table_has_cells_as_long_as_that_does_not_take_too_long() -> None:
    columns = [{"name": f"c{number}", "type": "string", "jsonPath": ".spec"} for number in range(100)]
    small = custom_columns.cells(columns, {"metadata": {"name": "a"}, "spec": {"b": 1}}, now=0)
    assert small == ["a", *['{"b":1}'] * 100]
    large = custom_columns.cells(columns, {"metadata": {"name": "a"}, "spec": {"b": "x" * 500_000}}, now=0)
    assert large[0] == "a"
    assert large[-1] is None


def test_brackets_in_a_text_are_no_lists() -> None:
    text = "[{" * 150_000 + '\\"'
    assert documents.parse_json(b'{"a":"%s"}' % text.encode(), finds_duplicates=False).value == {"a": text.replace("\\", "")}
    with pytest.raises(errors.BadRequest, match="200,000"):
        documents.parse_json(b'{"a":[%s]}' % b",".join([b"[]"] * 200_001), finds_duplicates=False)


def test_protobuf_has_as_many_objects_at_most() -> None:
    schema = catalog.schema("", "v1", "Pod") or Schema()
    containers = b"\x12\x00" * 200_001  # PodSpec.containers, each of them empty
    size = len(containers)
    spec = b"\x12" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + containers
    with pytest.raises(errors.BadRequest, match="200,000"):
        messages.decode(spec, schema)

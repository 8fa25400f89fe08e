"""Limits on everything that could grow without bound: messages, paths, selectors, patterns, CRDs, rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from probate.api import field_errors
from probate.api.crds import versions
from probate.api.field_errors import FieldError, FieldPath
from probate.api.gvk import GroupResource
from probate.api.printers import custom_columns
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.selectors import field_selectors, label_selectors
from probate.api.selectors.selectable_fields import supported_fields
from probate.api.serialization import documents
from probate.api.structural import defaults
from probate.api.structural.parse import parse
from probate.api.structural.validate import validate_values
from probate.core import errors, work_limits
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import messages
from probate.lib.regexp import BadPattern, compile_pattern


def test_a_validation_stops_at_the_maximum_number_of_field_errors() -> None:
    yielded = []

    def endless() -> Any:
        while True:
            yielded.append(1)
            yield FieldError("r", "f", "m")

    assert len(field_errors.limit_field_errors(endless())) == len(yielded) == field_errors.MAX_FIELD_ERRORS


def test_a_value_in_a_message_is_truncated_and_not_read_beyond_that() -> None:
    class Trap(dict[str, Any]):
        def items(self) -> Any:
            raise AssertionError("read beyond the limit")

    assert field_errors.format_value({"a": "x" * 1000, "b": Trap()}).endswith("...")
    assert len(field_errors.format_value(["x"] * 100_000)) == field_errors.MAX_VALUE_LENGTH
    assert field_errors.format_value({"a": [1, None, "é"]}) == '{"a":[1,null,"é"]}'


def test_a_field_path_truncates_long_names() -> None:
    path = FieldPath("data") / ("x" * 1_000_000) / "a" @ ("y" * 1_000_000)
    assert len(str(path)) < 2 * field_errors.MAX_NAME_LENGTH + 20
    assert ".a[y" in str(path)


def test_at_most_a_hundred_unknown_fields_are_reported() -> None:
    schema = catalog.schema("", "v1", "ConfigMap")
    assert schema is not None
    reader = typed.Reader(lambda _: None)
    reader.read({f"x{number}": 1 for number in range(5_000)}, schema)
    assert len(reader.unknown) == typed.MAX_UNKNOWN


def test_selectors_have_at_most_a_thousand_requirements() -> None:
    fields = supported_fields(GroupResource("", "pods"))
    assert label_selectors.parse(",".join(f"k{number}" for number in range(1_000))).requirements
    with pytest.raises(errors.BadRequest, match="1,000"):
        label_selectors.parse(",".join(f"k{number}" for number in range(1_001)))
    with pytest.raises(errors.BadRequest, match="1,000"):
        field_selectors.parse(",".join(f"metadata.name!=a{number}" for number in range(1_001)), fields)


def test_contradictory_requirements_on_one_field_match_nothing() -> None:
    fields = supported_fields(GroupResource("", "pods"))
    contradictory = field_selectors.parse("metadata.name=a,metadata.name=b", fields)
    assert not contradictory.matches({"metadata": {"name": "a"}})
    satisfiable = field_selectors.parse("metadata.name=a,metadata.name!=b,metadata.namespace!=x", fields)
    assert satisfiable.matches({"metadata": {"name": "a", "namespace": "y"}})
    assert not satisfiable.matches({"metadata": {"name": "a", "namespace": "x"}})


@pytest.mark.parametrize("pattern", ["a" * 20_001, "a{1000}" * 30])
def test_a_too_large_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(BadPattern, match=r"too large|repeat count"):
        compile_pattern(pattern)


def test_matching_a_pattern_spends_work_on_new_states() -> None:
    generator = random.Random(1)  # noqa: S311
    pattern = compile_pattern("(a|b)*a(a|b){500}c")
    with work_limits.WorkLimit(10_000), pytest.raises(work_limits.TooMuchWork):
        pattern.search("".join(generator.choice("ab") for _ in range(5_000)))
    assert not pattern.search("ab" * 10)


def test_alternatives_and_defaults_spend_work() -> None:
    alternatives = parse({"anyOf": [{"required": [f"r{number}"]} for number in range(200)]})
    with work_limits.WorkLimit(100), pytest.raises(work_limits.TooMuchWork):
        validate_values({}, alternatives)
    large_defaults = parse({"type": "array", "items": {"properties": {"a": {"default": "x" * 10_000}}}})
    with work_limits.WorkLimit(1_000), pytest.raises(work_limits.TooMuchWork):
        defaults.default([{} for _ in range(100)], large_defaults)


def test_work_is_counted_only_within_a_limit() -> None:
    work_limits.spend(10**9)
    with work_limits.WorkLimit(10):
        work_limits.spend(10)
        with work_limits.WorkLimit(5):
            work_limits.spend(5)
        with pytest.raises(work_limits.TooMuchWork):
            work_limits.spend(1)
    work_limits.spend(10**9)


def test_a_crd_has_at_most_a_hundred_versions_and_columns() -> None:
    column = {"name": "c", "type": "string", "jsonPath": ".a"}
    spec_versions = [
        {"name": f"v{number}", "storage": number == 1, "additionalPrinterColumns": [column] * 101} for number in range(1, 102)
    ]
    found = {(error.reason, error.field) for error in versions.validate_versions({"spec": {"versions": spec_versions}})}
    assert (field_errors.TOO_MANY, "spec.versions") in found
    assert any(reason == field_errors.TOO_MANY and field.endswith("additionalPrinterColumns") for reason, field in found)


def test_cells_of_a_row_are_null_once_its_work_limit_is_reached() -> None:
    columns = [{"name": f"c{number}", "type": "string", "jsonPath": ".spec"} for number in range(100)]
    small = custom_columns.cells(columns, {"metadata": {"name": "a"}, "spec": {"b": 1}}, now=0)
    assert small == ["a", *['{"b":1}'] * 100]
    large = custom_columns.cells(columns, {"metadata": {"name": "a"}, "spec": {"b": "x" * 500_000}}, now=0)
    assert large[0] == "a"
    assert large[-1] is None


def test_brackets_inside_strings_are_not_counted_as_lists() -> None:
    text = "[{" * 150_000 + '\\"'
    assert documents.parse_json(b'{"a":"%s"}' % text.encode(), finds_duplicates=False).value == {"a": text.replace("\\", "")}
    with pytest.raises(errors.BadRequest, match="200,000"):
        documents.parse_json(b'{"a":[%s]}' % b",".join([b"[]"] * 200_001), finds_duplicates=False)


def test_the_limit_on_objects_applies_to_protobuf() -> None:
    schema = catalog.schema("", "v1", "Pod") or Schema()
    containers = b"\x12\x00" * 200_001  # PodSpec.containers, each of them empty
    size = len(containers)
    spec = b"\x12" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + containers
    with pytest.raises(errors.BadRequest, match="200,000"):
        messages.decode(spec, schema)

"""YAML bodies: the values that the same JSON would have, in time proportional to the length of the body."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from probate.api.serialization import yaml_documents
from probate.core import errors

# Go parses some texts that PyYAML leaves unquoted, such as 0E0, as numbers. So does Probate.
NUMBER = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+")
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8).filter(
    lambda text: not NUMBER.fullmatch(text)
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e9, 1e9).map(lambda one: round(one, 3)) | KEYS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20)


@given(VALUES, st.sampled_from([True, False, None]))
def test_yaml_that_was_dumped_is_read_back(value: Any, is_flow: bool | None) -> None:
    text = yaml.safe_dump(value, default_flow_style=is_flow, allow_unicode=True)
    assert yaml_documents.parse(text.encode()) == (value, [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing", None),
        ("[1_000, 0x1f, 017, -5, +3, 0]", [1000, 31, 15, -5, 3, 0]),
        ("[.5, 1e3, 1.5e-2, -1.]", [0.5, 1000.0, 0.015, -1.0]),
        ("[12345678901234567890123]", [1.2345678901234568e22]),
        ("[yes, No, TRUE, off, ~, Null]", [True, False, True, False, None, None]),
        ("[2001-01-01, '1', 1:30, =, .inf, '', 0o7]", ["2001-01-01", "1", "1:30", "=", ".inf", "", "0o7"]),
        ("{1: a, true: b, null: c, 1.5: d}", {"1": "a", "true": "b", "null": "c", "1.5": "d"}),
        ("[!!str 1, !!float 1, !!int 5, !!null ~, !!bool yes, ! 7]", ["1", 1.0, 5, None, True, "7"]),
        ("a: &x {b: 1}\nc: [*x, *x]", {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}),
        ("a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x}", {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}),
        ("{<<: [{x: 1}, {x: 2, y: 3}], z: 4}", {"x": 1, "y": 3, "z": 4}),
        ("[<<, {a: <<}]", ["<<", {"a": "<<"}]),
    ],
)
def test_unquoted_words_have_the_same_types_as_in_kubernetes(text: str, value: Any) -> None:
    assert yaml_documents.parse(text.encode()) == (value, [])


def test_duplicate_fields_are_reported_and_the_last_value_counts() -> None:
    value, duplicates = yaml_documents.parse(b"a: 1\na: 2\nb: {c: 1, c: 2}\nl: [{x: 1, x: 3}]")
    assert value == {"a": 2, "b": {"c": 2}, "l": [{"x": 3}]}
    assert [(duplicate.path, duplicate.name, duplicate.line) for duplicate in duplicates] == [
        ("a", "a", 2),
        ("b.c", "c", 3),
        ("l[0].x", "x", 4),
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a:\na:\n", [2]),
        ("# first\n\na: 1\nb:\n- c: 1\n  c: 2\n", [6]),
        ("a: 1\na:\n  b: 1\n  c: 2\n  b: 3\n", [5, 3]),  # Kubernetes' parser reports the line of the value, and inner fields first
        ("a: &x {b: 1}\nc: {'': 1, <<: *x}\n", []),
    ],
)
def test_the_line_of_a_duplicate_field_is_that_of_its_second_value(text: str, lines: list[int]) -> None:
    assert [duplicate.line for duplicate in yaml_documents.parse(text.encode())[1]] == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- &a [*a]", "refers to a value that contains it"),
        ("[*a]", "no anchor"),
        ("--- 1\n--- 2", "one document"),
        ("{[a]: b}", "not a string"),
        ("{<<: 1}", "the value of << must be"),
        ("!!binary aaaa", "does not match its tag"),
        ("!!int x", "does not match its tag"),
        ("!!omap [a: b]", "not supported"),
        ("[", "not valid YAML"),
        ("\0", "not valid YAML"),
        ("[" * 101 + "]" * 101, "deeper than 100"),
        ("a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60, "deeper than 100"),
        ("a: &a [x, x, x, x]\nb: [" + "*a, " * 50_000 + "]", "more than 200,000 parts"),
        ("a: &a {" + "".join(f"k{one}: 1, " for one in range(1000)) + "}\nb: {<<: [" + "*a, " * 900 + "]}", "more than 200,000"),
        ("%TAG !a! tag:a,\n" * 30 + "--- a", "directives"),
    ],
)
def test_values_that_json_cannot_represent_or_that_exceed_a_limit_are_bad_requests(text: str, message: str) -> None:
    with pytest.raises(errors.BadRequest, match=message):
        yaml_documents.parse(text.encode())


def test_many_directives_do_not_stall_the_parser() -> None:
    start = time.process_time()
    with pytest.raises(errors.BadRequest):
        yaml_documents.parse(b"".join(b"%%TAG !%d! tag:x,\n" % number for number in range(100_000)) + b"--- a")
    assert time.process_time() - start < 5

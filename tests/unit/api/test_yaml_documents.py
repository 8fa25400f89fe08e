"""YAML bodies: the values that JSON would have, and no more work than the body is long."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from probate.api import yaml_documents
from probate.core import errors

# What PyYAML leaves unquoted, such as 0E0, Go takes for a number: so do we.
NUMBER = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+")
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8).filter(
    lambda text: not NUMBER.fullmatch(text)
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e9, 1e9).map(lambda one: round(one, 3)) | KEYS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20)


@given(VALUES, st.sampled_from([True, False, None]))
def test_what_was_written_is_read(value: Any, is_flow: bool | None) -> None:
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
def test_words_stand_for_what_kubernetes_takes_them_for(text: str, value: Any) -> None:
    assert yaml_documents.parse(text.encode()) == (value, [])


def test_fields_given_twice_are_named_and_the_last_one_counts() -> None:
    value, duplicates = yaml_documents.parse(b"a: 1\na: 2\nb: {c: 1, c: 2}\nl: [{x: 1, x: 3}]")
    assert value == {"a": 2, "b": {"c": 2}, "l": [{"x": 3}]}
    assert [(one.path, one.name, one.line) for one in duplicates] == [("a", "a", 2), ("b.c", "c", 3), ("l[0].x", "x", 4)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a:\na:\n", [2]),
        ("# first\n\na: 1\nb:\n- c: 1\n  c: 2\n", [6]),
        ("a: 1\na:\n  b: 1\n  c: 2\n  b: 3\n", [5, 3]),  # Kubernetes' reader names the line of the value, and inner ones first
        ("a: &x {b: 1}\nc: {'': 1, <<: *x}\n", []),
    ],
)
def test_line_of_a_field_given_twice_is_that_of_its_second_value(text: str, lines: list[int]) -> None:
    assert [one.line for one in yaml_documents.parse(text.encode())[1]] == lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- &a [*a]", "stands for something that it is in"),
        ("[*a]", "no anchor"),
        ("--- 1\n--- 2", "one document"),
        ("{[a]: b}", "not text"),
        ("{<<: 1}", "<< must be followed"),
        ("!!binary aaaa", "cannot be read"),
        ("!!int x", "cannot be read"),
        ("!!omap [a: b]", "not understood"),
        ("[", "no valid YAML"),
        ("\0", "no valid YAML"),
        ("[" * 101 + "]" * 101, "deeper than 100"),
        ("a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60, "deeper than 100"),
        ("a: &a [x, x, x, x]\nb: [" + "*a, " * 50_000 + "]", "more than 200,000 parts"),
        ("a: &a {" + "".join(f"k{one}: 1, " for one in range(1000)) + "}\nb: {<<: [" + "*a, " * 900 + "]}", "more than 200,000"),
        ("%TAG !a! tag:a,\n" * 30 + "--- a", "directives"),
    ],
)
def test_what_json_cannot_have_or_nobody_needs_is_a_bad_request(text: str, said: str) -> None:
    with pytest.raises(errors.BadRequest, match=said):
        yaml_documents.parse(text.encode())


def test_many_directives_do_not_stall_the_parser() -> None:
    began = time.process_time()
    with pytest.raises(errors.BadRequest):
        yaml_documents.parse(b"".join(b"%%TAG !%d! tag:x,\n" % number for number in range(100_000)) + b"--- a")
    assert time.process_time() - began < 5

"""Label selectors in text and in objects: parsing, matching, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.field_errors import FieldPath
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import EVERYTHING, NOTHING, LabelSelector
from probate.api.selectors.requirements import Requirement
from probate.core import errors

LABELS = {"app": "web", "tier": "front", "weight": "12", "empty": "", "example.com/a": "b", "in": "notin"}


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ("", True),
        (" \t\n", True),
        ("app=web", True),
        ("app==web", True),
        ("app=other", False),
        ("absent=web", False),
        ("app!=web", False),
        ("app!=other", True),
        ("absent!=web", True),
        ("app", True),
        ("absent", False),
        ("!app", False),
        ("! absent", True),
        ("app in (web)", True),
        ("app in (a,web , b)", True),
        ("app in(a,b)", False),
        ("absent in (a)", False),
        ("app notin (web,a)", False),
        ("app notin (a)", True),
        ("absent notin (a)", True),
        ("empty=", True),
        ("empty=,app=web", True),
        ("empty in ()", True),
        ("empty in (a,)", True),
        ("empty in (,a)", True),
        ("empty in (a,,b)", True),
        ("absent=", False),
        ("absent in ()", False),
        ("weight>11", True),
        ("weight>12", False),
        ("weight < 13", True),
        ("weight<12", False),
        ("app>1", False),
        ("absent<1", False),
        ("example.com/a=b", True),
        ("in in (notin)", True),
        ("in notin (in)", True),
        ("notin", False),
        ("app=web,tier=front", True),
        ("app=web , tier=back", False),
        ("app=web,app=other", False),
        ("app=web,app!=other,weight>1,!absent,tier in (front)", True),
    ],
)
def test_selectors_match_labels(text: str, is_match: bool) -> None:
    assert label_selectors.parse(text).matches(LABELS) is is_match


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b==1, a = 2", "a=2,b=1"),
        ("x in (c,a,b,a)", "x in (a,b,c)"),
        ("x notin(b,)", "x notin (,b)"),
        ("!x,a", "a,!x"),
        ("w > 5,v<007", "v<007,w>5"),
        ("a=", "a="),
        (" ", ""),
    ],
)
def test_the_text_of_a_selector_is_canonical(text: str, canonical: str) -> None:
    assert str(label_selectors.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c", "found 'b' at character 3, expected: one of ="),
        ("a in (", "found the end at character 7, expected: ',' or ')'"),
        ("a in", "found the end at character 5, expected: '('"),
        ("a in b", "found 'b' at character 6, expected: '('"),
        ("a in (b c)", "found 'c' at character 9"),
        ("a in (b", "found the end"),
        ("a in (b=c)", "found '=' at character 8"),
        ("a in ((b))", "found '(' at character 7"),
        ("a,", "found the end at character 3"),
        ("a,,b", "found ',' at character 3"),
        (",a", "found ',' at character 1"),
        ("=a", "found '=' at character 1"),
        ("a==b==c", "found '==' at character 5"),
        ("a=b=c", "found '=' at character 4"),
        ("a=(b)", "found '(' at character 3, expected: a value"),
        ("a=!b", "found '!' at character 3"),
        ("!a=b", "found '=' at character 3, expected: ',' or the end"),
        ("!!a", "found '!' at character 2"),
        ("!", "found the end at character 2"),
        ("a!", "found '!' at character 2"),
        ("a=b||c=d", "'b||c'"),
        ("a='b'", "'b'"),
        ('a="b"', "b"),
        ("a=b)", "found ')' at character 4"),
        ("a<x", "integer"),
        ("a>", "integer"),
        ("a>1.5", "integer"),
        ("a>9223372036854775808", "integer"),
        ("a>" + "9" * 63, "integer"),
        ("a/b/c", "'a/b/c'"),
        ("/a", "'/a'"),
        ("a/", "'a/'"),
        ("-a", "'-a'"),
        ("a" * 64, "63"),
        ("a=" + "b" * 64, "63"),
        ("a=b_", "'b_'"),
        ("a in (b,_)", "'_'"),
        ("ä=b", "'ä'"),
        ("a=\x00", "x00"),
    ],
)
def test_the_error_of_an_invalid_text_has_the_position(text: str, message: str) -> None:
    with pytest.raises(errors.BadRequest) as refusal:
        label_selectors.parse(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {}, "matchExpressions": []}, ""),
        ({"matchLabels": None, "matchExpressions": None}, ""),
        ({"matchLabels": {"b": "1", "a": ""}}, "a=,b=1"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist", "values": []}]},
            "a,!b",
        ),
        ({"matchLabels": {"z": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a,z=1"),
    ],
)
def test_a_selector_field_compiles_to_the_same_selector_as_its_text(selector: dict[str, Any], text: str) -> None:
    assert label_selectors.compile_object(selector, FieldPath("spec.selector")) == (label_selectors.parse(text), [])


def test_a_missing_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert label_selectors.compile_object(None, FieldPath()) == (NOTHING, [])
    assert label_selectors.compile_object({}, FieldPath()) == (EVERYTHING, [])
    assert not NOTHING.matches({})
    assert not NOTHING.matches(LABELS)
    assert EVERYTHING.matches({})
    assert (NOTHING.is_everything, EVERYTHING.is_everything, label_selectors.parse("a").is_everything) == (False, True, False)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchLabels": {"a b": "c"}}, [("FieldValueInvalid", "matchLabels")]),
        ({"matchLabels": {"a": "b c"}}, [("FieldValueInvalid", "matchLabels")]),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, [("FieldValueRequired", "matchExpressions[0].values")]),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [("FieldValueForbidden", "matchExpressions[0].values")],
        ),
        ({"matchExpressions": [{"key": "a", "operator": "in"}]}, [("FieldValueInvalid", "matchExpressions[0].operator")]),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"operator": "In", "values": ["ok", "b c"]}]},
            [("FieldValueInvalid", "matchExpressions[1].key"), ("FieldValueInvalid", "matchExpressions[1].values[1]")],
        ),
    ],
)
def test_field_errors_of_a_selector_field(selector: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    compiled, field_errors = label_selectors.compile_object(selector, FieldPath("spec.selector"))
    assert [(error.reason, error.field) for error in field_errors] == [
        (reason, f"spec.selector.{field}") for reason, field in expected
    ]
    assert compiled == NOTHING


keys = st.from_regex(r"(?:[a-z]{1,3}\.[a-z]{1,2}/)?[a-zA-Z0-9](?:[-a-z_.]{0,2}[a-z0-9])?", fullmatch=True) | st.sampled_from(
    ["in", "notin"]
)
values = st.from_regex(r"(?:[a-zA-Z0-9](?:[-a-z_.]{0,2}[a-z0-9])?)?", fullmatch=True) | st.sampled_from(["in", "notin", "7"])
value_sets = st.sets(values, min_size=1, max_size=3).map(lambda drawn: tuple(sorted(drawn)))
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, keys, st.sampled_from(["=", "!="]), st.tuples(values)),
    st.builds(Requirement, keys, st.sampled_from(["in", "notin"]), value_sets),
    st.builds(Requirement, keys, st.sampled_from([">", "<"]), st.tuples(st.integers(0, 2**63 - 1).map(str))),
)
selectors = st.lists(requirements, max_size=4).map(LabelSelector)


@given(selectors)
def test_the_text_of_a_selector_parses_to_the_same_selector(selector: LabelSelector) -> None:
    again = label_selectors.parse(str(selector))
    assert again == selector
    assert hash(again) == hash(selector)
    assert str(again) == str(selector)


@given(st.lists(requirements, max_size=4), st.dictionaries(keys, values, max_size=3), st.data())
def test_labels_match_a_selector_if_they_match_each_requirement(
    drawn: list[Requirement], labels: dict[str, str], data: st.DataObject
) -> None:
    labels |= {requirement.key: data.draw(st.sampled_from([*requirement.values, "other"])) for requirement in drawn[:2]}
    assert LabelSelector(drawn).matches(labels) is all(LabelSelector([requirement]).matches(labels) for requirement in drawn)


@given(keys, value_sets, st.dictionaries(keys, values, max_size=3))
def test_each_operator_has_its_opposite(key: str, values_of_set: tuple[str, ...], labels: dict[str, str]) -> None:
    for operator, opposite, operands in [("=", "!=", values_of_set[:1]), ("in", "notin", values_of_set), ("exists", "!", ())]:
        for candidate in (labels, {**labels, key: values_of_set[0]}):
            requirement, negation = Requirement(key, operator, operands), Requirement(key, opposite, operands)
            assert LabelSelector([requirement]).matches(candidate) is not LabelSelector([negation]).matches(candidate)


@given(st.text(st.sampled_from("ab=!(),<> in1"), max_size=12))
def test_any_text_parses_or_is_rejected(text: str) -> None:
    try:
        selector = label_selectors.parse(text)
    except errors.BadRequest:
        return
    assert label_selectors.parse(str(selector)) == selector

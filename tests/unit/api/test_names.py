"""Name rules, each against its regular expression, and names generated from `generateName`."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import names

Source = Random  # noqa: S311 any random source is valid here

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME_LIKE_TEXTS = st.text("abzAZ019-._/ %é", max_size=70) | st.text(max_size=10) | st.from_regex(rf"\A{_LABEL}\Z")


@given(_NAME_LIKE_TEXTS)
def test_a_dns_label_matches_its_regular_expression_and_has_at_most_63_characters(text: str) -> None:
    assert (names.validate_dns_label(text) == []) == (re.fullmatch(_LABEL, text) is not None and len(text) <= 63)


@given(_NAME_LIKE_TEXTS | st.lists(st.from_regex(rf"\A{_LABEL}\Z"), max_size=5).map(".".join))
def test_a_dns_subdomain_is_labels_and_dots_of_at_most_253_characters(text: str) -> None:
    assert (names.validate_dns_subdomain(text) == []) == (
        re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", text) is not None and len(text) <= 253
    )


@given(_NAME_LIKE_TEXTS)
def test_a_dns_1035_label_begins_with_a_letter(text: str) -> None:
    assert (names.validate_dns_1035_label(text) == []) == (
        names.validate_dns_label(text) == [] and text[0] in "abcdefghijklmnopqrstuvwxyz"
    )


@given(_NAME_LIKE_TEXTS)
def test_a_label_value_is_empty_or_matches_its_regular_expression(text: str) -> None:
    is_value = re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", text) is not None and len(text) <= 63
    assert (names.validate_label_value(text) == []) == is_value


@given(_NAME_LIKE_TEXTS, _NAME_LIKE_TEXTS)
def test_a_qualified_name_is_a_name_after_an_optional_subdomain(prefix: str, name: str) -> None:
    is_name = bool(name) and "/" not in name and names.validate_label_value(name) == []
    assert (names.validate_qualified_name(name) == []) == is_name or "/" in name
    if "/" not in prefix + name:
        assert (names.validate_qualified_name(f"{prefix}/{name}") == []) == (is_name and names.validate_dns_subdomain(prefix) == [])


@given(_NAME_LIKE_TEXTS)
def test_a_config_key_is_a_valid_file_name(text: str) -> None:
    is_key = re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", text) is not None and text != "." and not text.startswith("..")
    assert (names.validate_config_key(text) == []) == is_key


@given(st.text(max_size=10))
def test_an_env_var_is_printable_ascii_without_equals(text: str) -> None:
    assert (names.validate_env_var(text) == []) == (
        bool(text) and all(" " <= character <= "~" and character != "=" for character in text)
    )


@pytest.mark.parametrize("text", ["a/b/c", "/", "/a", "a/", "", "-a", "a_", "A.com/x", "a" * 64])
def test_invalid_qualified_names(text: str) -> None:
    assert names.validate_qualified_name(text) != []


def test_a_name_that_breaks_two_rules_has_two_messages() -> None:
    assert len(names.validate_dns_subdomain("A" * 254)) == 2
    assert len(names.validate_dns_label("a" * 64)) == 1


@pytest.mark.parametrize(
    ("text", "is_name"), [("a", True), ("system:node", True), (".", False), ("..", False), ("a/b", False), ("a%", False)]
)
def test_path_segments(text: str, is_name: bool) -> None:
    assert (names.validate_path_segment(text) == []) == is_name


@pytest.mark.parametrize(
    ("text", "is_name"),
    [("http", True), ("a" * 16, False), ("80", False), ("a--b", False), ("-a", False), ("a-", False), ("A", False), ("8a", True)],
)
def test_port_names(text: str, is_name: bool) -> None:
    assert (names.validate_port_name(text) == []) == is_name


@pytest.mark.parametrize(
    ("group", "kind", "good", "bad"),
    [
        ("", "Namespace", "a-1", "a.b"),
        ("", "Pod", "a.b", "a_b"),
        ("", "Service", "1a", "a.b"),
        ("apps", "StatefulSet", "web", "web.1"),
        ("rbac.authorization.k8s.io", "Role", "system:x Y", "a/b"),
        ("networking.k8s.io", "IPAddress", "10.0.0.1", "10.0.0.01"),
        ("storage.k8s.io", "CSIDriver", "a" * 70 + ".example.com", "Csi.example.com"),
        ("example.com", "Thing", "a.b", "A"),
    ],
)
def test_each_kind_has_its_name_rule(group: str, kind: str, good: str, bad: str) -> None:
    rule = names.name_rule(group, kind)
    assert rule(good) == []
    assert rule(bad) != []


@given(st.text(max_size=80), st.integers())
def test_a_generated_name_is_the_truncated_base_and_five_characters_of_the_alphabet(base: str, seed: int) -> None:
    name = names.generate_name(base, Source(seed))
    assert name[:-5] == base[:58]
    assert set(name[-5:]) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_generated_names_depend_on_the_random_source() -> None:
    assert names.generate_name("a-", Source(1)) == names.generate_name("a-", Source(1))
    assert names.generate_name("a-", Source(1)) != names.generate_name("a-", Source(2))


@pytest.mark.parametrize(
    ("prefix", "is_good"), [("web-", True), ("web", True), ("-", False), ("a.", False), ("AA-", False), ("a--", True)]
)
def test_a_prefix_may_end_in_a_dash(prefix: str, is_good: bool) -> None:
    assert (names.validate_prefix(names.validate_dns_subdomain, prefix) == []) == is_good

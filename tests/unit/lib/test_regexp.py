"""Patterns match as in Go, and no pattern takes unbounded time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probate.lib.regexp import BadPattern, compile_pattern

_SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "^", r"\b"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(_SIMPLE, st.text("ab1 \n", max_size=6))
def test_where_syntax_agrees_so_does_python(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).search(text) == (re.search(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", "a-"),
        ("^a$", "a", "a\n"),
        ("(?m)^b$", "a\nb\nc", "ab"),
        ("(?i)^ABC$", "aBc", "abd"),
        ("^(?i:a)b$", "Ab", "AB"),
        ("a(?i)b|c", "aB", "A"),
        ("(?s)^.$", "\n", ""),
        ("^.$", "x", "\n"),
        (r"^\s$", "\f", "\v"),
        (r"^\d$", "7", "\u0667"),
        (r"^\Qa.b\E+$", "a.bb", "axb"),
        (r"^\x41\x{42}\103$", "ABC", "abc"),
        ("^[[:alpha:]]+$", "xyz", "x1"),
        ("^[^[:space:]]$", "a", "\t"),
        (r"^\p{Lu}\pL*$", "Äß", "äß"),
        (r"^\p{Greek}$", "λ", "l"),
        (r"^\P{Lu}$", "a", "A"),
        ("^(?P<x>a)(?<y>b)$", "ab", "ba"),
        ("^a{2,3}$", "aaa", "aaaa"),
        ("^a{,3}$", "a{,3}", "aaa"),
        (r"\bcat\b", "a cat!", "concat"),
        (r"^[]a]$", "]", "b"),
        (r"^[a\-z]$", "-", "b"),
        (r"\A\/\z", "/", "//"),
        ("^(a|)*$", "aa", "b"),
        ("", "anything", None),
    ],
)
def test_go_syntax(pattern: str, matching: str, other: str | None) -> None:
    assert compile_pattern(pattern).search(matching)
    assert other is None or not compile_pattern(pattern).search(other)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", r"(a)\1", "a**", "a++", "(", ")", "[a", "*a", "a|+", "a{1001}",
        "(a{100}){100}", "a{2,1}", r"\q", "[b-a]", "a\\", r"\p{Nowhere}", "(?P<n", "(?P=n)", "[[:nope:]]", "(?z)", r"\x{110000}",
        r"\C", "(" * 2000,
    ],
)  # fmt: skip
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a?){50}a{50}$", "(.*)*x", "(a*)*(a*)*(a*)*b"])
def test_the_worst_patterns_end_at_once(pattern: str) -> None:
    start = time.process_time()
    compile_pattern(pattern).search("a" * 20_000 + "!")
    assert time.process_time() - start < 5


def test_a_pattern_with_very_many_states_matches_correctly() -> None:
    pattern = compile_pattern("^(a|b)*a(a|b){12}$")
    text = "".join("ab"[(index * index // 7) % 2] for index in range(60_000))
    assert pattern.search(text + "a" + "b" * 12)
    assert not pattern.search(text + "b" * 13)

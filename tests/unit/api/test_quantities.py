"""Quantities against decimal arithmetic, and their canonical forms."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import quantities

_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_NUMBERS = st.from_regex(r"\A[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})\Z")
_SUFFIXES = st.sampled_from([*_POWERS, *_BINARY]) | st.integers(-15, 15).map("e{}".format)
_QUANTITIES = st.tuples(_NUMBERS, _SUFFIXES).map("".join)


def exact(number: str, suffix: str) -> Fraction:
    """Returns the value by decimal arithmetic: rounded away from zero at a billionth, limited to 64 bits."""
    with decimal.localcontext(prec=200):
        value = decimal.Decimal(number)
        if suffix in _BINARY:
            value *= 1024 ** _BINARY[suffix]
        else:
            value *= decimal.Decimal(10) ** (_POWERS[suffix] if suffix in _POWERS else int(suffix[1:]))
        rounded = value.quantize(decimal.Decimal("1e-9"), rounding=decimal.ROUND_UP)
    return max(min(Fraction(rounded), Fraction(2**63 - 1)), Fraction(1 - 2**63))


@given(_NUMBERS, _SUFFIXES)
def test_values_are_those_of_decimal_arithmetic(number: str, suffix: str) -> None:
    assert quantities.parse(number + suffix) == exact(number, suffix)


@given(_QUANTITIES)
def test_the_canonical_form_has_the_same_value_and_is_its_own_canonical_form(text: str) -> None:
    canonical = quantities.canonical(text)
    assert quantities.parse(canonical) == quantities.parse(text)
    assert quantities.canonical(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1Gi", "1Gi"),
        ("100e3", "100e3"),
        ("1e4", "10e3"),
        ("1E3", "1e3"),
        ("2E", "2E"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-0.1", "-100m"),
        ("1.0000000001", "1000000001n"),
        (" 1 ", "1"),
        (2, "2"),
        (0.5, "500m"),
        (1e21, "9223372036854775807"),
    ],
)
def test_canonical_forms(text: str | float, canonical: str) -> None:
    assert quantities.canonical(text) == canonical


@pytest.mark.parametrize(
    "value", ["lots", "", "1 Gi", "1gi", "Gi", ".", "1e", "1e1.5", "1KiB", "--1", "0x1", "\u0661", None, True, [], {}]
)
def test_not_quantities(value: object) -> None:
    assert not quantities.is_quantity(value)


@pytest.mark.parametrize("value", ["1", "+1", "-1", "1.", ".5", "1m", "1Ki", "1e3", "1E-3", "1E", 0, 1.5, 10**30])
def test_quantities(value: object) -> None:
    assert quantities.is_quantity(value)


def test_parsing_a_non_quantity_raises() -> None:
    with pytest.raises(ValueError, match="lots"):
        quantities.parse("lots")


@pytest.mark.parametrize(
    "text", ["9" * 1_000_000, "0." + "0" * 1_000_000 + "1", "1e999999999999", "1e-999999999999", "1." + "3" * 1_000_000]
)
def test_huge_texts_are_bounded_and_cheap(text: str) -> None:
    assert Fraction(1, 10**9) <= quantities.parse(text) <= 2**63 - 1


@given(_QUANTITIES, _QUANTITIES)
def test_the_order_of_quantities_does_not_depend_on_their_form(left: str, right: str) -> None:
    before = quantities.parse(left) < quantities.parse(right)
    assert (quantities.parse(quantities.canonical(left)) < quantities.parse(quantities.canonical(right))) == before

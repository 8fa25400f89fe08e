"""Amounts in objects are spelled in one way; those of resources have no more than three digits after the point."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import quantities
from probate.api.gvk import GroupVersionKind
from probate.kinds import defaults

_SUFFIXES = st.sampled_from(["", "m", "u", "n", "k", "M", "Ki", "Mi", "Gi", "e3", "E-2", "e-7"])
_AMOUNTS = st.builds("{}{}{}".format, st.integers(0, 5000), st.sampled_from(["", ".5", ".0001"]), _SUFFIXES)


def stored(amount: object) -> Any:
    quota: dict[str, Any] = {"spec": {"hard": {"requests.cpu": amount}}}
    defaults.apply(GroupVersionKind("", "v1", "ResourceQuota"), quota)
    return quota["spec"]["hard"]["requests.cpu"]


@pytest.mark.parametrize(
    ("sent", "spelled"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (1, "1"),
        (0.5, "500m"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Gi", "107374182400m"),
        ("687.5Ki", "704k"),
        ("1e3", "1e3"),
        ("1.0001", "1001m"),
        ("1n", "1m"),
        ("-1.0001", "-1001m"),
        ("1e-6", "1e-3"),
        ("many", "many"),
        (True, True),
    ],
)
def test_amounts_of_resources_are_spelled_in_one_way(sent: object, spelled: object) -> None:
    assert stored(sent) == spelled


@given(_AMOUNTS)
def test_an_amount_is_rounded_up_by_less_than_a_thousandth(amount: str) -> None:
    difference = quantities.parse(stored(amount)) - quantities.parse(amount)
    assert 0 <= difference * 1000 < 1
    assert stored(stored(amount)) == stored(amount)


def test_texts_of_a_million_digits_do_no_harm() -> None:
    assert quantities.is_quantity(stored("9" * 1_000_000))


def test_other_amounts_keep_all_their_digits() -> None:
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "0.0000005"}}}
    autoscaler: dict[str, Any] = {"spec": {"metrics": [copy.deepcopy(metric)]}}
    defaults.apply(GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"), autoscaler)
    assert autoscaler["spec"]["metrics"][0]["external"]["target"]["value"] == "500n"

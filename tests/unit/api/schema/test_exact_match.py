"""What fits a schema as it is must be just what reading it part by part makes of it."""

from __future__ import annotations

import copy
import random
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from probate.api import quantities
from probate.api.schema import exact_match, typed
from probate.api.schema.node import Schema
from probate.kinds.builtin import catalog
from support.json_value_paths import at, places
from support.valid_objects import SAMPLES

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**31 - 1, -(2**31) - 1, 2**63, 2**63 - 1, 1.0, 1.5),
    *("", "a", "1", "100m", "2Gi", "1000m", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00", "YQ==", "YQ=\n=", "no base64"),
    *([], {}, [None], [[]], [{}], {"a": None}, {"a": {}}, {"unknown": "x"}, ["a"], [1]),
)


def schema_of(group: str, version: str, kind: str) -> Schema:
    found = catalog.schema(group, version, kind)
    assert found is not None
    return found


def read(value: Any, schema: Schema) -> tuple[Any, list[str]]:
    reader = typed.Reader(lambda one: quantities.canonical(one) if quantities.is_quantity(one) else None)
    return reader.read(value, schema), reader.unknown


def changed(value: Any, chance: random.Random) -> Any:
    """The value with some parts odd, and parts that need a spelling of their own taken out now and then."""
    made = copy.deepcopy(value)
    for _ in range(chance.randint(0, 3)):
        place = chance.choice([one for one in places(made) if one])
        if chance.random() < 0.4:
            del at(made, place[:-1])[place[-1]]
        else:
            at(made, place[:-1])[place[-1]] = copy.deepcopy(chance.choice(ODD))
        if not made:
            break
    return made


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.integers(0, 2**32))
def test_what_fits_is_what_reading_makes_of_it(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    for key, sample in SAMPLES.items():
        schema, value = schema_of(*key), changed(sample, chance)
        if exact_match.fits(value, schema):
            assert read(value, schema) == (value, []), (key, value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (("", "v1", "ConfigMap"), {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}, "immutable": True}),
        (
            ("apps", "v1", "Deployment"),
            {"spec": {"replicas": 2**31 - 1, "template": {"spec": {"containers": [{"name": "c", "args": ["x"]}]}}}},
        ),
        (("", "v1", "ConfigMap"), {}),
    ],
)
def test_plain_value_fits(kind: tuple[str, str, str], value: dict[str, Any]) -> None:
    assert exact_match.fits(value, schema_of(*kind))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (("", "v1", "ConfigMap"), {"data": {"k": 1}}),
        (("", "v1", "ConfigMap"), {"data": {"k": None}}),
        (("", "v1", "ConfigMap"), {"data": None}),
        (("", "v1", "ConfigMap"), {"date": {}}),
        (("", "v1", "ConfigMap"), {"binaryData": {"k": "YQ=="}}),
        (("", "v1", "ConfigMap"), {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}),
        (("", "v1", "ConfigMap"), []),
        (("apps", "v1", "Deployment"), {"spec": {"replicas": 2**31}}),
        (("apps", "v1", "Deployment"), {"spec": {"replicas": True}}),
        (("apps", "v1", "Deployment"), {"spec": {"replicas": 1.0}}),
        (("apps", "v1", "Deployment"), {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}}),
        (("", "v1", "Pod"), {"spec": {"containers": [{"resources": {"limits": {"cpu": "1000m"}}}]}}),
        (("", "v1", "Pod"), {"spec": {"containers": [None]}}),
    ],
)
def test_what_may_have_to_be_changed_or_refused_does_not_fit(kind: tuple[str, str, str], value: Any) -> None:
    assert not exact_match.fits(value, schema_of(*kind))

"""The fast path equals its plain twin: a value that matches a schema exactly is read unchanged by `typed`."""

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
from support.json_value_paths import at, paths
from support.valid_objects import SAMPLES

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**31 - 1, -(2**31) - 1, 2**63, 2**63 - 1, 1.0, 1.5),
    *("", "a", "1", "100m", "2Gi", "1000m", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00", "YQ==", "YQ=\n=", "no base64"),
    *([], {}, [None], [[]], [{}], {"a": None}, {"a": {}}, {"unknown": "x"}, ["a"], [1]),
)


def schema_of(group: str, version: str, kind: str) -> Schema:
    schema = catalog.schema(group, version, kind)
    assert schema is not None
    return schema


def read(value: Any, schema: Schema) -> tuple[Any, list[str]]:
    reader = typed.Reader(lambda value: quantities.canonical(value) if quantities.is_quantity(value) else None)
    return reader.read(value, schema), reader.unknown


def mutate(value: Any, generator: random.Random) -> Any:
    """Returns the value with a few parts replaced by odd values, and sometimes without the parts that are normalized."""
    mutated = copy.deepcopy(value)
    for _ in range(generator.randint(0, 3)):
        path = generator.choice([path for path in paths(mutated) if path])
        if generator.random() < 0.4:
            del at(mutated, path[:-1])[path[-1]]
        else:
            at(mutated, path[:-1])[path[-1]] = copy.deepcopy(generator.choice(ODD_VALUES))
        if not mutated:
            break
    return mutated


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.integers(0, 2**32))
def test_an_exact_match_is_read_unchanged(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311
    for key, sample in SAMPLES.items():
        schema, value = schema_of(*key), mutate(sample, generator)
        if exact_match.is_exact_match(value, schema):
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
def test_plain_values_match_exactly(kind: tuple[str, str, str], value: dict[str, Any]) -> None:
    assert exact_match.is_exact_match(value, schema_of(*kind))


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
def test_values_that_need_a_change_or_are_invalid_do_not_match(kind: tuple[str, str, str], value: Any) -> None:
    assert not exact_match.is_exact_match(value, schema_of(*kind))

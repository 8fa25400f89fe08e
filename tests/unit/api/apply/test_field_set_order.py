"""The order in which field sets are serialized."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from probate.api.apply import field_set_order, managed_fields
from probate.api.apply.managed_fields import FieldManager

IN_ORDER = [
    pytest.param([".", "f:a", "f:b-c", "f:b.c", "f:ba"], id="fields"),
    pytest.param(["f:x", 'k:{"name":"a"}', 'v:"a"', "i:0"], id="sorts"),
    pytest.param(['k:{"name":"a"}', 'k:{"name":"a!"}', 'k:{"name":"a-b"}', 'k:{"name":"b"}'], id="names"),
    pytest.param(
        [f'k:{{"containerPort":{port},"protocol":"{kind}"}}' for port in (80, 443, 8080) for kind in ("TCP", "UDP")], id="ports"
    ),
    pytest.param(["v:2", "v:10", 'v:"10"', 'v:"a"', "v:false", "v:true", "v:[1]", 'v:{"a":1}', "v:null"], id="values"),
    pytest.param(["i:2", "i:10"], id="places"),
]


@pytest.mark.parametrize("keys", IN_ORDER)
def test_field_sets_are_serialized_in_order_regardless_of_insertion_order(keys: list[str]) -> None:
    mixed = random.Random(1).sample(keys, len(keys))  # noqa: S311
    fields: dict[str, Any] = {"f:outer": {key: {} for key in mixed}}
    assert list(field_set_order.sort_fields(fields)["f:outer"]) == keys
    assert list(orjson.loads(field_set_order.serialize(fields))["f:outer"]) == keys
    assert list(managed_fields.new_entry(FieldManager("m", "v1"), "Update", fields, time="")["fieldsV1"]["f:outer"]) == keys

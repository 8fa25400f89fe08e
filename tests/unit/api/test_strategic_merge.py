"""Strategic merge patches: recorded results, then each rule."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import strategic
from probate.api.schema.node import Schema
from probate.core import errors
from support import pod_schemas

SCHEMAS = {"deploy": pod_schemas.DEPLOYMENT, "cm": pod_schemas.CONFIG_MAP}
RECORDED = [
    case
    for case in json.loads((Path(__file__).parents[2] / "data" / "strategic-merge.json").read_text())
    if case["kind"] in SCHEMAS  # the server rejects patches of custom kinds earlier
]
DEFAULTED = {
    *("generation", "replicas", "revisionHistoryLimit", "progressDeadlineSeconds"),
    *("resources", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "protocol", "defaultMode"),
    *("restartPolicy", "terminationGracePeriodSeconds", "dnsPolicy", "securityContext", "schedulerName"),
}
DEFAULT_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}


def without_defaults(recorded: Any) -> Any:
    """Returns a recorded object without the defaults that the server sets in these objects."""
    if isinstance(recorded, list):
        return [without_defaults(item) for item in recorded]
    if not isinstance(recorded, dict):
        return recorded
    remaining = {name: value for name, value in recorded.items() if name not in DEFAULTED and value != DEFAULT_STRATEGY}
    return {name: without_defaults(value) for name, value in remaining.items()}


def recorded_parts(recorded: dict[str, Any]) -> dict[str, Any]:
    parts = {name: without_defaults(recorded.get(name)) for name in ("metadata", "spec")}
    return {name: value for name, value in parts.items() if value}


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: str(case["name"]))
def test_patches_give_the_results_recorded_from_kubernetes(case: dict[str, Any]) -> None:
    current = case["start"]
    for patch, expected in zip(case["patches"], case["expect"], strict=True):
        if expected["code"] == 200:
            current = strategic.apply(current, patch, SCHEMAS[case["kind"]])
            assert current == recorded_parts(expected["object"])
        else:
            with pytest.raises(errors.BadRequest):
                strategic.apply(current, patch, SCHEMAS[case["kind"]])


def patched_spec(spec: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategic.apply(spec, patch, pod_schemas.POD_SPEC)


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": "i"} for name in names]


def names(items: list[dict[str, Any]]) -> str:
    return "".join(item["name"] for item in items)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("ab", "c", "cab"),  # new items first
        ("ab", "cd", "cdab"),
        ("ab", "cb", "cab"),  # a was before b
        ("ab", "bc", "abc"),
        ("abcd", "db", "acdb"),  # the patch's order applies to its own items
        ("abc", "ca", "bca"),
        ("", "ba", "ba"),
    ],
)
def test_merged_items_have_the_order_of_the_patch_and_the_others_keep_theirs(before: str, patch: str, after: str) -> None:
    result = patched_spec({"containers": named(*before)}, {"containers": named(*patch)})
    assert names(result["containers"]) == after


@pytest.mark.parametrize(
    ("before", "patch", "order", "after"),
    [
        ("abc", "", "cba", "cba"),
        ("ab", "c", "acb", "acb"),
        ("abx", "c", "bca", "bcax"),  # only the server has x, and it was after both
        ("xab", "", "ba", "xba"),
        ("ab", "c", "dcba", "cba"),  # an order does not create items
        ("", "ab", "ab", "ab"),
    ],
)
def test_an_element_order_arranges_the_merged_list(before: str, patch: str, order: str, after: str) -> None:
    pod_patch = {"containers": named(*patch), "$setElementOrder/containers": [{"name": name} for name in order]}
    result = patched_spec({"containers": named(*before)}, pod_patch)
    assert names(result["containers"]) == after


def test_an_element_order_arranges_primitives() -> None:
    patch = {"finalizers": ["c"], "$setElementOrder/finalizers": ["c", "b", "a"]}
    assert strategic.apply({"finalizers": ["a", "b"]}, patch, pod_schemas.METADATA) == {"finalizers": ["c", "b", "a"]}


def test_an_element_order_can_be_combined_with_deletions() -> None:
    patch = {"containers": [{"name": "a", "$patch": "delete"}], "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}]}
    assert names(patched_spec({"containers": named("a", "b", "c")}, patch)["containers"]) == "cb"


def test_deletions_from_primitives_come_after_the_merge() -> None:
    patch = {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a", "absent"]}
    assert strategic.apply({"finalizers": ["a"]}, patch, pod_schemas.METADATA) == {"finalizers": ["b"]}
    assert strategic.apply({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, pod_schemas.METADATA) == {}


def test_a_delete_directive_empties_an_object() -> None:
    assert patched_spec({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"$patch": "delete"}}) == {"nodeSelector": {}}


def test_a_merge_directive_has_no_effect() -> None:
    patch = {"nodeSelector": {"$patch": "merge", "c": "d"}, "containers": [{"name": "a", "image": "j", "$patch": "merge"}]}
    result = patched_spec({"nodeSelector": {"a": "b"}, "containers": named("a")}, patch)
    assert result == {"nodeSelector": {"a": "b", "c": "d"}, "containers": [{"name": "a", "image": "j"}]}


def test_a_delete_directive_deletes_all_items_with_the_key() -> None:
    spec = {"ports": [{"port": 53, "protocol": "TCP"}, {"port": 80}, {"port": 53, "protocol": "UDP"}]}
    result = strategic.apply({"spec": spec}, {"spec": {"ports": [{"port": 53, "$patch": "delete"}]}}, pod_schemas.SERVICE)
    assert result == {"spec": {"ports": [{"port": 80}]}}


def test_the_first_item_with_the_key_is_changed_and_the_others_stay() -> None:
    spec = {"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}
    result = strategic.apply({"spec": spec}, {"spec": {"ports": [{"port": 53, "name": "dns"}]}}, pod_schemas.SERVICE)
    assert result["spec"]["ports"] == [{"port": 53, "protocol": "TCP", "name": "dns"}, {"port": 53, "protocol": "UDP"}]


def test_a_new_list_may_contain_a_key_twice() -> None:
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    assert strategic.apply({}, {"spec": {"ports": ports}}, pod_schemas.SERVICE) == {"spec": {"ports": ports}}


def test_an_empty_list_is_treated_as_absent() -> None:
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    assert strategic.apply({"ports": []}, {"ports": ports}, pod_schemas.SERVICE.properties["spec"]) == {"ports": ports}


def test_true_and_1_are_different_primitives() -> None:
    anything = pod_schemas.object_schema(values=Schema(type="array", patch_strategies=pod_schemas.MERGE))
    assert json.dumps(strategic.apply({"values": [1]}, {"values": [True]}, anything)) == '{"values": [true, 1]}'


def test_an_element_order_has_no_effect_on_a_replaced_list() -> None:
    patch = {"args": ["b", "a"], "$setElementOrder/args": ["a", "b"]}
    assert strategic.apply({"args": ["a"]}, patch, pod_schemas.CONTAINER) == {"args": ["b", "a"]}


def test_an_element_order_is_valid_for_a_list_that_replaces_another_type() -> None:
    patch = {"containers": named("b"), "$setElementOrder/containers": [{"name": "b"}]}
    assert patched_spec({"containers": 5}, patch) == {"containers": named("b")}


def test_directives_and_nulls_are_not_part_of_new_values() -> None:
    patch = {
        "nodeSelector": {"a": None, "$patch": "replace"},
        "tolerations": [{"$patch": "replace"}, {"key": "a", "operator": None}],
        "containers": [
            {"name": "gone", "$patch": "delete"},
            {"name": "a", "args": None, "env": [{"name": "E", "$patch": "delete"}], "$setElementOrder/env": [{"name": "F"}]},
        ],
        "$setElementOrder/containers": [{"name": "a"}],
        "volumes": [{"name": "v", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}],
    }
    assert patched_spec({}, patch) == {
        "nodeSelector": {},
        "tolerations": [{"key": "a"}],
        "containers": [{"name": "a", "env": []}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }


def test_a_value_of_another_type_is_replaced() -> None:
    assert patched_spec({"nodeSelector": ["odd"], "containers": {}}, {"nodeSelector": {"a": "b"}, "containers": named("a")}) == {
        "nodeSelector": {"a": "b"},
        "containers": named("a"),
    }


def test_an_object_with_the_replace_strategy_is_replaced() -> None:
    selector = Schema(
        type="object", properties={"matchLabels": pod_schemas.map_schema(pod_schemas.TEXT)}, patch_strategies=frozenset({"replace"})
    )
    budget = pod_schemas.object_schema(selector=selector)
    patch = {"selector": {"matchLabels": {"b": "2", "c": None}}}
    assert strategic.apply({"selector": {"matchLabels": {"a": "1"}}}, patch, budget) == {"selector": {"matchLabels": {"b": "2"}}}


def test_an_unknown_field_is_merged_like_json() -> None:
    assert patched_spec({"odd": {"a": 1, "l": [1]}}, {"odd": {"b": 2, "l": [2]}}) == {"odd": {"a": 1, "b": 2, "l": [2]}}


def test_an_unknown_dollar_name_is_a_field() -> None:
    assert patched_spec({}, {"$ref": "#/definitions/a"}) == {"$ref": "#/definitions/a"}


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"containers": [{"image": "x"}]}, "containers[0]"),
        ({"containers": [{"name": "a"}, {"$patch": "delete"}]}, "containers[1]"),
        ({"containers": [{"name": None}]}, "containers[0]"),
        ({"containers": [{"name": ["a"]}]}, "containers[0]"),
        ({"containers": ["a"]}, "containers[0]"),
        ({"containers": [{"name": "a", "$patch": "explode"}]}, "containers[0].$patch"),
        ({"nodeSelector": {"$patch": "explode"}}, "nodeSelector.$patch"),
        ({"nodeSelector": {"$patch": None}}, "nodeSelector.$patch"),
        ({"tolerations": [{"key": "a", "$patch": "delete"}]}, "tolerations[0]"),
        ({"volumes": [{"name": "a", "$retainKeys": ["name"], "emptyDir": {}}]}, "volumes[0].$retainKeys"),
        ({"nodeSelector": {"$retainKeys": "a"}}, "nodeSelector.$retainKeys"),
        ({"$setElementOrder/containers": {}}, "$setElementOrder/containers"),
        ({"$setElementOrder": []}, "$setElementOrder"),
        ({"$setElementOrder/containers": [{"image": "x"}]}, "$setElementOrder/containers[0]"),
        ({"containers": named("b"), "$setElementOrder/containers": [{"name": "a"}]}, "$setElementOrder/containers"),
        ({"$deleteFromPrimitiveList/finalizers": "a"}, "$deleteFromPrimitiveList/finalizers"),
        ({"$deleteFromPrimitiveList/finalizers": [{}]}, "$deleteFromPrimitiveList/finalizers[0]"),
        ({"$deleteFromPrimitiveList": ["a"]}, "$deleteFromPrimitiveList"),
    ],
)
def test_the_error_of_an_invalid_patch_begins_with_the_path(patch: dict[str, Any], path: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        patched_spec({"containers": named("a", "z"), "nodeSelector": {}, "finalizers": ["a"]}, patch)
    assert str(raised.value).startswith(f"{path}: ")


@pytest.mark.parametrize("patch", [[], None, "x", 1])
def test_a_patch_that_is_not_an_object_is_rejected(patch: Any) -> None:
    with pytest.raises(errors.BadRequest):
        patched_spec({}, patch)


labels = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=3)
patched_labels = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2", None]), max_size=3)
letters = st.lists(st.sampled_from("abcd"), unique=True, max_size=4)


def specs(fields: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Generates pod specs, or patches of them: both have the same structure."""
    items = st.builds(lambda name, image: {"name": name, "image": image}, st.sampled_from("abcd"), st.sampled_from("ij"))
    containers = st.lists(items, max_size=4, unique_by=lambda item: str(item["name"]))
    aliases = st.lists(st.builds(lambda ip: {"ip": ip}, st.sampled_from("12")), max_size=2, unique_by=lambda item: str(item["ip"]))
    return st.fixed_dictionaries({}, optional={"nodeSelector": fields, "containers": containers, "hostAliases": aliases})


@given(specs(labels), specs(patched_labels))
def test_a_patch_without_directives_is_idempotent(spec: dict[str, Any], patch: dict[str, Any]) -> None:
    once = patched_spec(spec, patch)
    assert patched_spec(once, patch) == once


@given(specs(labels), specs(patched_labels))
def test_neither_the_object_nor_the_patch_is_changed(spec: dict[str, Any], patch: dict[str, Any]) -> None:
    copies = json.loads(json.dumps([spec, patch]))
    patched_spec(spec, patch)
    assert [spec, patch] == copies


@given(letters, letters)
def test_a_merged_list_contains_every_item_once_and_keeps_both_orders(before: list[str], patch: list[str]) -> None:
    merged = names(patched_spec({"containers": named(*before)}, {"containers": named(*patch)})["containers"])
    assert sorted(merged) == sorted({*before, *patch})
    assert [name for name in merged if name in patch] == patch
    assert [name for name in merged if name not in patch] == [name for name in before if name not in patch]


@given(letters, letters)
def test_primitives_are_ordered_like_items(before: list[str], patch: list[str]) -> None:
    items = names(patched_spec({"containers": named(*before)}, {"containers": named(*patch)})["containers"])
    primitives = strategic.apply({"finalizers": before}, {"finalizers": patch}, pod_schemas.METADATA)["finalizers"]
    assert "".join(primitives) == items


directives = ["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"]
field_names = st.sampled_from(["name", "containers", "env", "ports", "containerPort", "finalizers", "nodeSelector", *directives])
leaves = st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from(["delete", "replace", "merge", "name", "a"])
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(field_names, inner, max_size=4), max_leaves=15
)
any_object = st.dictionaries(field_names, anything, max_size=4)
ANY_SCHEMA = pod_schemas.object_schema(**pod_schemas.POD_SPEC.properties, **pod_schemas.METADATA.properties)


def has_directives_or_nulls(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(has_directives_or_nulls, value))
    if not isinstance(value, dict):
        return False
    return any(name in directives or inner is None or has_directives_or_nulls(inner) for name, inner in value.items())


@given(any_object, any_object)
def test_any_patch_is_applied_or_rejected_and_leaves_no_directives(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = json.dumps([document, patch])
    with contextlib.suppress(errors.BadRequest):
        assert not has_directives_or_nulls(strategic.apply({}, patch, ANY_SCHEMA))
        strategic.apply(document, patch, ANY_SCHEMA)
    assert json.dumps([document, patch]) == before

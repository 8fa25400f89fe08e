"""MutatingAdmissionPolicies: what they make of what is written, in which order, and when they are asked again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.admission_policies import (
    MAPS,
    REGISTRATION,
    binding,
    changing,
    create_map,
    mutating,
    policy,
    refusal,
    rules,
    validating,
    wanting,
    write,
)
from support.in_process_server import House, running

PODS = "/api/v1/namespaces/default/pods"
PODS_ONLY = {"resourceRules": [rules("pods")]}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
LABEL = "Object{metadata: Object.metadata{labels: {'x': 'y'}}}"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(collects=False) as made:
        yield made


async def made_map(house: House, name: str = "m", **object_: Any) -> dict[str, Any]:
    told = await create_map(house, name, **object_)
    assert told.code == 201, told.body
    found: dict[str, Any] = told.json
    return found


async def test_apply_configuration_is_merged(house: House) -> None:
    await mutating(house, changing(LABEL))
    found = await made_map(house, metadata={"labels": {"a": "b"}}, data={"k": "v"})
    assert (found["metadata"]["labels"], found["data"]) == ({"a": "b", "x": "y"}, {"k": "v"})
    assert (await house.ask("GET", f"{MAPS}/m")).json == found


async def test_items_of_a_list_are_merged_by_their_keys(house: House) -> None:
    sidecar = (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'mesh', image: 'm', restartPolicy: 'Always'}]}}"
    )
    container = "Object.spec.containers{name: c.name, imagePullPolicy: 'Always'}"
    pull = f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {container})}}}}"
    await mutating(house, changing(sidecar, pull, match=PODS_ONLY))
    told = await house.ask("POST", PODS, POD)
    assert told.code == 201, told.body
    spec = told.json["spec"]
    assert [(one["name"], one["image"]) for one in spec["initContainers"]] == [("mesh", "m")]
    assert [(one["name"], one["image"], one["imagePullPolicy"]) for one in spec["containers"]] == [("c", "i", "Always")]


async def test_several_items_can_be_added(house: House) -> None:
    items = ", ".join(f"Object.spec.initContainers{{name: '{name}', image: 'i', args: ['x']}}" for name in "ab")
    await mutating(house, changing(f"Object{{spec: Object.spec{{initContainers: [{items}]}}}}", match=PODS_ONLY))
    told = await house.ask("POST", PODS, POD)
    assert told.code == 201, told.body
    assert [(one["name"], one["args"]) for one in told.json["spec"]["initContainers"]] == [("a", ["x"]), ("b", ["x"])]


PATCHES: list[tuple[str, dict[str, str]]] = [
    ("[JSONPatch{op: 'add', path: '/data/b', value: '2'}]", {"a": "1", "b": "2"}),
    ("[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'remove', path: '/data/a'}]", {}),
    ("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x.y'), value: string(1 + 1)}]", {"a": "1", "x.y": "2"}),
    ("[JSONPatch{op: 'move', from: '/data/a', path: '/data/c'}]", {"c": "1"}),
    ("has(object.data.zz) ? [JSONPatch{op: 'remove', path: '/data/zz'}] : []", {"a": "1"}),
    ("object.data.transformList(k, v, JSONPatch{op: 'replace', path: '/data/' + k, value: v + v})", {"a": "11"}),
]


@pytest.mark.parametrize(("expression", "wanted"), PATCHES, ids=[one for one, _ in PATCHES])
async def test_json_patch(house: House, expression: str, wanted: dict[str, str]) -> None:
    await mutating(house, changing(expression, is_patch=True))
    assert (await made_map(house, data={"a": "1"})).get("data", {}) == wanted


async def test_each_mutation_sees_what_those_before_it_made(house: House) -> None:
    first = "Object{data: Object.data{a: '1'}}"
    second = "Object{data: Object.data{b: object.data.a + '2'}}"
    await mutating(house, changing(first, name="p1"))
    await mutating(house, changing(second, second.replace("b:", "c:").replace("data.a", "data.b"), name="p2"))
    assert (await made_map(house))["data"] == {"a": "1", "b": "12", "c": "122"}


async def test_variables_conditions_and_parameters(house: House) -> None:
    await made_map(house, "owner", data={"team": "red"})
    made = changing(
        "Object{metadata: Object.metadata{labels: {'team': variables.team}}}",
        match={"resourceRules": [rules("secrets")]},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "team", "expression": "params.data.team"}],
        matchConditions=[{"name": "unlabelled", "expression": "!has(object.metadata.labels)"}],
    )
    ref = {"name": "owner", "parameterNotFoundAction": "Deny"}
    await mutating(house, made, {"metadata": {"name": "b"}, "spec": {"policyName": "p", "paramRef": ref}})
    path = "/api/v1/namespaces/default/secrets"
    assert (await house.ask("POST", path, {"metadata": {"name": "a"}})).json["metadata"]["labels"] == {"team": "red"}
    told = await house.ask("POST", path, {"metadata": {"name": "b", "labels": {"x": "y"}}})
    assert told.json["metadata"]["labels"] == {"x": "y"}


async def test_earlier_policy_is_asked_again_if_it_wants_and_a_later_one_changed_something(house: House) -> None:
    count = "Object{data: Object.data{seen: string(size(object.?data.orValue({})))}}"
    await mutating(house, changing(count, name="p1", reinvocationPolicy="IfNeeded"))
    await mutating(house, changing("Object{data: Object.data{late: 'x'}}", name="p2"))
    assert (await made_map(house, data={"a": "1"}))["data"] == {"a": "1", "late": "x", "seen": "3"}
    assert (await house.ask("DELETE", f"{REGISTRATION}/mutatingadmissionpolicies/p1")).code == 200
    assert (await write(house, "mutatingadmissionpolicies", changing(count, name="p1"))).code == 201
    assert (await made_map(house, "n", data={"a": "1"}))["data"] == {"a": "1", "late": "x", "seen": "1"}


async def test_validating_policies_see_what_mutating_ones_made(house: House) -> None:
    await mutating(house, changing(LABEL))
    await validating(house, wanting("object.metadata.labels.x == 'y'"))
    assert (await create_map(house)).code == 201


async def test_update_and_patch_are_mutated_too(house: House) -> None:
    await made_map(house, data={"a": "1"})
    await mutating(house, changing(LABEL))
    told = await house.ask("PATCH", f"{MAPS}/m", {"data": {"b": "2"}}, media="application/merge-patch+json")
    assert (told.json["metadata"]["labels"], told.json["data"]) == ({"x": "y"}, {"a": "1", "b": "2"})
    assert (await house.ask("DELETE", f"{MAPS}/m")).code == 200


async def test_what_a_policy_makes_is_checked_like_anything_else(house: House) -> None:
    await mutating(house, changing("Object{metadata: Object.metadata{labels: {'!': 'y'}}}"))
    told = await create_map(house)
    assert (told.code, told.json["details"]["causes"][0]["field"]) == (422, "metadata.labels")


FAILURES: list[tuple[str, bool, str]] = [
    (
        "Object{data: Object.data{a: object.data.zz}}",
        False,
        "expression 'Object{data: Object.data{a: object.data.zz}}' resulted in error: no such key: zz",
    ),
    ("[JSONPatch{op: 'remove', path: '/data/zz'}]", True, "JSON Patch: "),
    (
        "Object{metadata: Object.metadata{name: 'other'}}",
        False,
        "error applying patch: invalid ApplyConfiguration: metadata.name may not be set",
    ),
]


@pytest.mark.parametrize(("expression", "is_patch", "wanted"), FAILURES, ids=[one for one, _, _ in FAILURES])
async def test_failure_is_as_the_failure_policy_says(house: House, expression: str, is_patch: bool, wanted: str) -> None:
    await mutating(house, changing(expression, is_patch=is_patch))
    told = await create_map(house, data={"a": "1"})
    assert (told.code, told.json["reason"]) == (403, "Invalid")
    assert refusal(told).startswith(wanted)
    assert told.json["message"].startswith("policy 'p' with binding 'p-b' denied request: ")
    await house.ask("DELETE", f"{REGISTRATION}/mutatingadmissionpolicies/p")
    ignoring = changing(expression, is_patch=is_patch, failurePolicy="Ignore")
    assert (await write(house, "mutatingadmissionpolicies", ignoring)).code == 201
    assert (await made_map(house, data={"a": "1"}))["data"] == {"a": "1"}


async def test_atomic_lists_cannot_be_changed_in_part(house: House) -> None:
    tolerations = "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'x'}]}}"
    await mutating(house, changing(tolerations, match=PODS_ONLY))
    told = await house.ask("POST", PODS, POD)
    wanted = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations"
    assert refusal(told) == wanted


async def test_dry_run_is_mutated_and_not_stored(house: House) -> None:
    await mutating(house, changing(LABEL))
    told = await house.ask("POST", MAPS, {"metadata": {"name": "m"}}, query={"dryRun": "All"})
    assert (told.code, told.json["metadata"]["labels"]) == (201, {"x": "y"})
    assert (await house.ask("GET", f"{MAPS}/m")).code == 404


async def test_custom_kinds_are_mutated(house: House) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await house.ask("POST", path, {"metadata": {"name": "things.example.com"}, "spec": spec})).code == 201
    await mutating(
        house,
        changing(
            "Object{spec: Object.spec{n: object.spec.n + 1}}", match={"resourceRules": [rules("things", group="example.com")]}
        ),
    )
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 1}}
    told = await house.ask("POST", "/apis/example.com/v1/namespaces/default/things", thing)
    assert told.json["spec"] == {"n": 2}


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (changing("1"), "spec.mutations[0].applyConfiguration.expression", "must evaluate to Object but got int"),
    (
        changing("[1]", is_patch=True),
        "spec.mutations[0].jsonPatch.expression",
        "must evaluate to list(JSONPatch) but got list(int)",
    ),
    (changing("Object{"), "spec.mutations[0].applyConfiguration.expression", "Syntax error"),
    (changing("Nope{}"), "spec.mutations[0].applyConfiguration.expression", "undeclared reference to 'Nope'"),
    (changing("[JSONPatch{nope: 1}]", is_patch=True), "spec.mutations[0].jsonPatch.expression", "undefined field 'nope'"),
    (changing("Object{spec: Object.other{a: 1}}"), "spec.mutations[0].applyConfiguration.expression", 'expected "Object.spec"'),
    (changing("Object{}", reinvocationPolicy="Maybe"), "spec.reinvocationPolicy", "Unsupported value"),
    (policy(reinvocationPolicy="Never"), "spec.mutations", "must contain at least one item"),
    (
        policy(mutations=[{"patchType": "JSONPatch"}], reinvocationPolicy="Never"),
        "spec.mutations[0].jsonPatch.expression",
        "not specified",
    ),
]


@pytest.mark.parametrize(("made", "field", "wanted"), MISTAKES, ids=[f"{field} {wanted}" for _, field, wanted in MISTAKES])
async def test_policy_that_is_wrong_is_refused(house: House, made: Any, field: str, wanted: str) -> None:
    told = await write(house, "mutatingadmissionpolicies", made)
    assert told.code == 422, told.body
    found = {one["field"]: one["message"] for one in told.json["details"]["causes"]}
    assert wanted in found[field]


async def test_binding_elsewhere_leaves_it_alone(house: House) -> None:
    elsewhere = {**binding(matchResources={"namespaceSelector": {"matchLabels": {"x": "y"}}})}
    del elsewhere["spec"]["validationActions"]
    await mutating(house, changing(LABEL), elsewhere)
    assert "labels" not in (await made_map(house))["metadata"]

"""MutatingAdmissionPolicies: how they change an object, in which order, and when they are reinvoked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.admission_policies import (
    MAPS,
    REGISTRATION,
    binding,
    create_map,
    create_mutating,
    create_registration,
    create_validating,
    denial_message,
    mutating_policy,
    policy,
    rules,
    validating_policy,
)
from support.in_process_server import InProcessServer, running

PODS = "/api/v1/namespaces/default/pods"
PODS_ONLY = {"resourceRules": [rules("pods")]}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
LABEL = "Object{metadata: Object.metadata{labels: {'x': 'y'}}}"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(collects=False) as made:
        yield made


async def made_map(server: InProcessServer, name: str = "m", **object_: Any) -> dict[str, Any]:
    response = await create_map(server, name, **object_)
    assert response.code == 201, response.body
    result: dict[str, Any] = response.json
    return result


async def test_apply_configuration_is_merged(server: InProcessServer) -> None:
    await create_mutating(server, mutating_policy(LABEL))
    result = await made_map(server, metadata={"labels": {"a": "b"}}, data={"k": "v"})
    assert (result["metadata"]["labels"], result["data"]) == ({"a": "b", "x": "y"}, {"k": "v"})
    assert (await server.request("GET", f"{MAPS}/m")).json == result


async def test_items_of_a_list_are_merged_by_their_keys(server: InProcessServer) -> None:
    sidecar = (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'mesh', image: 'm', restartPolicy: 'Always'}]}}"
    )
    container = "Object.spec.containers{name: c.name, imagePullPolicy: 'Always'}"
    pull = f"Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {container})}}}}"
    await create_mutating(server, mutating_policy(sidecar, pull, match=PODS_ONLY))
    response = await server.request("POST", PODS, POD)
    assert response.code == 201, response.body
    spec = response.json["spec"]
    assert [(item["name"], item["image"]) for item in spec["initContainers"]] == [("mesh", "m")]
    assert [(item["name"], item["image"], item["imagePullPolicy"]) for item in spec["containers"]] == [("c", "i", "Always")]


async def test_several_items_can_be_added(server: InProcessServer) -> None:
    items = ", ".join(f"Object.spec.initContainers{{name: '{name}', image: 'i', args: ['x']}}" for name in "ab")
    await create_mutating(server, mutating_policy(f"Object{{spec: Object.spec{{initContainers: [{items}]}}}}", match=PODS_ONLY))
    response = await server.request("POST", PODS, POD)
    assert response.code == 201, response.body
    assert [(item["name"], item["args"]) for item in response.json["spec"]["initContainers"]] == [("a", ["x"]), ("b", ["x"])]


PATCHES: list[tuple[str, dict[str, str]]] = [
    ("[JSONPatch{op: 'add', path: '/data/b', value: '2'}]", {"a": "1", "b": "2"}),
    ("[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'remove', path: '/data/a'}]", {}),
    ("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x.y'), value: string(1 + 1)}]", {"a": "1", "x.y": "2"}),
    ("[JSONPatch{op: 'move', from: '/data/a', path: '/data/c'}]", {"c": "1"}),
    ("has(object.data.zz) ? [JSONPatch{op: 'remove', path: '/data/zz'}] : []", {"a": "1"}),
    ("object.data.transformList(k, v, JSONPatch{op: 'replace', path: '/data/' + k, value: v + v})", {"a": "11"}),
]


@pytest.mark.parametrize(("expression", "wanted"), PATCHES, ids=[item for item, _ in PATCHES])
async def test_json_patch(server: InProcessServer, expression: str, wanted: dict[str, str]) -> None:
    await create_mutating(server, mutating_policy(expression, is_patch=True))
    assert (await made_map(server, data={"a": "1"})).get("data", {}) == wanted


async def test_each_mutation_sees_what_those_before_it_made(server: InProcessServer) -> None:
    first = "Object{data: Object.data{a: '1'}}"
    second = "Object{data: Object.data{b: object.data.a + '2'}}"
    await create_mutating(server, mutating_policy(first, name="p1"))
    await create_mutating(server, mutating_policy(second, second.replace("b:", "c:").replace("data.a", "data.b"), name="p2"))
    assert (await made_map(server))["data"] == {"a": "1", "b": "12", "c": "122"}


async def test_variables_conditions_and_parameters(server: InProcessServer) -> None:
    await made_map(server, "owner", data={"team": "red"})
    made = mutating_policy(
        "Object{metadata: Object.metadata{labels: {'team': variables.team}}}",
        match={"resourceRules": [rules("secrets")]},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "team", "expression": "params.data.team"}],
        matchConditions=[{"name": "unlabelled", "expression": "!has(object.metadata.labels)"}],
    )
    ref = {"name": "owner", "parameterNotFoundAction": "Deny"}
    await create_mutating(server, made, {"metadata": {"name": "b"}, "spec": {"policyName": "p", "paramRef": ref}})
    path = "/api/v1/namespaces/default/secrets"
    assert (await server.request("POST", path, {"metadata": {"name": "a"}})).json["metadata"]["labels"] == {"team": "red"}
    response = await server.request("POST", path, {"metadata": {"name": "b", "labels": {"x": "y"}}})
    assert response.json["metadata"]["labels"] == {"x": "y"}


async def test_earlier_policy_is_reinvoked_if_needed(server: InProcessServer) -> None:
    count = "Object{data: Object.data{seen: string(size(object.?data.orValue({})))}}"
    await create_mutating(server, mutating_policy(count, name="p1", reinvocationPolicy="IfNeeded"))
    await create_mutating(server, mutating_policy("Object{data: Object.data{late: 'x'}}", name="p2"))
    assert (await made_map(server, data={"a": "1"}))["data"] == {"a": "1", "late": "x", "seen": "3"}
    assert (await server.request("DELETE", f"{REGISTRATION}/mutatingadmissionpolicies/p1")).code == 200
    assert (await create_registration(server, "mutatingadmissionpolicies", mutating_policy(count, name="p1"))).code == 201
    assert (await made_map(server, "n", data={"a": "1"}))["data"] == {"a": "1", "late": "x", "seen": "1"}


async def test_validating_policies_see_the_mutated_object(server: InProcessServer) -> None:
    await create_mutating(server, mutating_policy(LABEL))
    await create_validating(server, validating_policy("object.metadata.labels.x == 'y'"))
    assert (await create_map(server)).code == 201


async def test_update_and_patch_are_mutated_too(server: InProcessServer) -> None:
    await made_map(server, data={"a": "1"})
    await create_mutating(server, mutating_policy(LABEL))
    response = await server.request("PATCH", f"{MAPS}/m", {"data": {"b": "2"}}, media="application/merge-patch+json")
    assert (response.json["metadata"]["labels"], response.json["data"]) == ({"x": "y"}, {"a": "1", "b": "2"})
    assert (await server.request("DELETE", f"{MAPS}/m")).code == 200


async def test_mutated_object_is_validated(server: InProcessServer) -> None:
    await create_mutating(server, mutating_policy("Object{metadata: Object.metadata{labels: {'!': 'y'}}}"))
    response = await create_map(server)
    assert (response.code, response.json["details"]["causes"][0]["field"]) == (422, "metadata.labels")


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


@pytest.mark.parametrize(("expression", "is_patch", "wanted"), FAILURES, ids=[item for item, _, _ in FAILURES])
async def test_failure_policy(server: InProcessServer, expression: str, is_patch: bool, wanted: str) -> None:
    await create_mutating(server, mutating_policy(expression, is_patch=is_patch))
    response = await create_map(server, data={"a": "1"})
    assert (response.code, response.json["reason"]) == (403, "Invalid")
    assert denial_message(response).startswith(wanted)
    assert response.json["message"].startswith("policy 'p' with binding 'p-b' denied request: ")
    await server.request("DELETE", f"{REGISTRATION}/mutatingadmissionpolicies/p")
    ignoring = mutating_policy(expression, is_patch=is_patch, failurePolicy="Ignore")
    assert (await create_registration(server, "mutatingadmissionpolicies", ignoring)).code == 201
    assert (await made_map(server, data={"a": "1"}))["data"] == {"a": "1"}


async def test_atomic_lists_cannot_be_changed_in_part(server: InProcessServer) -> None:
    tolerations = "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'x'}]}}"
    await create_mutating(server, mutating_policy(tolerations, match=PODS_ONLY))
    response = await server.request("POST", PODS, POD)
    wanted = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations"
    assert denial_message(response) == wanted


async def test_dry_run_is_mutated_and_not_stored(server: InProcessServer) -> None:
    await create_mutating(server, mutating_policy(LABEL))
    response = await server.request("POST", MAPS, {"metadata": {"name": "m"}}, query={"dryRun": "All"})
    assert (response.code, response.json["metadata"]["labels"]) == (201, {"x": "y"})
    assert (await server.request("GET", f"{MAPS}/m")).code == 404


async def test_custom_kinds_are_mutated(server: InProcessServer) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await server.request("POST", path, {"metadata": {"name": "things.example.com"}, "spec": spec})).code == 201
    await create_mutating(
        server,
        mutating_policy(
            "Object{spec: Object.spec{n: object.spec.n + 1}}", match={"resourceRules": [rules("things", group="example.com")]}
        ),
    )
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 1}}
    response = await server.request("POST", "/apis/example.com/v1/namespaces/default/things", thing)
    assert response.json["spec"] == {"n": 2}


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (mutating_policy("1"), "spec.mutations[0].applyConfiguration.expression", "must evaluate to Object but got int"),
    (
        mutating_policy("[1]", is_patch=True),
        "spec.mutations[0].jsonPatch.expression",
        "must evaluate to list(JSONPatch) but got list(int)",
    ),
    (mutating_policy("Object{"), "spec.mutations[0].applyConfiguration.expression", "Syntax error"),
    (mutating_policy("Nope{}"), "spec.mutations[0].applyConfiguration.expression", "undeclared reference to 'Nope'"),
    (mutating_policy("[JSONPatch{nope: 1}]", is_patch=True), "spec.mutations[0].jsonPatch.expression", "undefined field 'nope'"),
    (
        mutating_policy("Object{spec: Object.other{a: 1}}"),
        "spec.mutations[0].applyConfiguration.expression",
        'expected "Object.spec"',
    ),
    (mutating_policy("Object{}", reinvocationPolicy="Maybe"), "spec.reinvocationPolicy", "Unsupported value"),
    (policy(reinvocationPolicy="Never"), "spec.mutations", "must contain at least one item"),
    (
        policy(mutations=[{"patchType": "JSONPatch"}], reinvocationPolicy="Never"),
        "spec.mutations[0].jsonPatch.expression",
        "not specified",
    ),
]


@pytest.mark.parametrize(("made", "field", "wanted"), MISTAKES, ids=[f"{field} {wanted}" for _, field, wanted in MISTAKES])
async def test_invalid_policy_is_refused(server: InProcessServer, made: Any, field: str, wanted: str) -> None:
    response = await create_registration(server, "mutatingadmissionpolicies", made)
    assert response.code == 422, response.body
    result = {item["field"]: item["message"] for item in response.json["details"]["causes"]}
    assert wanted in result[field]


async def test_binding_that_does_not_match_changes_nothing(server: InProcessServer) -> None:
    elsewhere = {**binding(matchResources={"namespaceSelector": {"matchLabels": {"x": "y"}}})}
    del elsewhere["spec"]["validationActions"]
    await create_mutating(server, mutating_policy(LABEL), elsewhere)
    assert "labels" not in (await made_map(server))["metadata"]

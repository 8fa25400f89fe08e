"""ValidatingAdmissionPolicies: which writes they are asked about, what they see, and what becomes of what they say."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.cel_authorizer import Attributes, Verdict
from support.admission_policies import (
    DEPLOYMENTS,
    MAPS,
    REGISTRATION,
    binding,
    create_map,
    policy,
    refusal,
    rules,
    validating,
    wanting,
    write,
)
from support.in_process_server import House, running

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(collects=False) as made:
        yield made


def deployment(replicas: int, name: str = "d") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    }


async def test_policy_refuses_in_the_words_of_kubernetes(house: House) -> None:
    match = {"resourceRules": [rules("deployments", group="apps")]}
    await validating(house, wanting("object.spec.replicas <= 5", match=match))
    told = await house.ask("POST", DEPLOYMENTS, deployment(6))
    text = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas <= 5"
    assert (told.code, told.json["reason"]) == (422, "Invalid")
    assert told.json["message"] == f'deployments.apps "d" is forbidden: {text}'
    assert told.json["details"] == {"name": "d", "group": "apps", "kind": "deployments", "causes": [{"message": text}]}
    assert (await house.ask("POST", DEPLOYMENTS, deployment(5))).code == 201
    patch = await house.ask("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": 7}}, media="application/merge-patch+json")
    assert patch.code == 422
    assert (await house.ask("GET", f"{DEPLOYMENTS}/d")).json["spec"]["replicas"] == 5


MESSAGES: list[tuple[dict[str, Any], int, str]] = [
    ({"message": "no "}, 422, "no"),
    ({"messageExpression": "'got ' + object.data.a"}, 422, "got 1"),
    ({"messageExpression": "object.data.zz", "message": "instead"}, 422, "instead"),
    ({"reason": "Forbidden", "message": "no"}, 403, "no"),
    ({"reason": "Unauthorized", "message": "no"}, 401, "no"),
    ({"reason": "RequestEntityTooLarge", "message": "no"}, 413, "no"),
]


@pytest.mark.parametrize(("more", "code", "wanted"), MESSAGES, ids=[str(more) for more, _, _ in MESSAGES])
async def test_message_and_reason(house: House, more: dict[str, Any], code: int, wanted: str) -> None:
    await validating(house, policy(validations=[{"expression": "object.data.a == '2'", **more}]))
    told = await create_map(house, data={"a": "1"})
    assert (told.code, refusal(told)) == (code, wanted)


SEEN = [
    "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
    "request.name == 'm' && request.namespace == 'default' && !has(request.subResource) && !request.dryRun",
    "'system:masters' in request.userInfo.groups",
    "oldObject == null && object.apiVersion == 'v1' && object.kind == 'ConfigMap'",
    "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'",
    "authorizer.requestResource.check('create').allowed() && authorizer.group('').resource('pods').check('get').allowed()",
    "variables.keys.all(k, k in variables.data) && size(variables.keys) == 1",
]


@pytest.mark.parametrize("expression", SEEN)
async def test_what_expressions_see(house: House, expression: str) -> None:
    variables = [{"name": "data", "expression": "object.data"}, {"name": "keys", "expression": "variables.data.map(k, k)"}]
    await validating(house, wanting(expression, variables=variables))
    told = await create_map(house, data={"a": "1"})
    assert told.code == 201, told.body


async def test_update_and_delete_see_the_old_object(house: House) -> None:
    match = {"resourceRules": [rules("configmaps", operations=("UPDATE", "DELETE"))]}
    both = "request.operation == 'DELETE' ? object == null && oldObject.data.a == 'free' : object.data.a != oldObject.data.a"
    await validating(house, wanting(both, match=match))
    assert (await create_map(house, data={"a": "1"})).code == 201
    assert (await house.ask("DELETE", f"{MAPS}/m")).code == 422
    assert (await house.ask("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "1"}})).code == 422
    assert (await house.ask("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "free"}})).code == 200
    assert (await house.ask("DELETE", f"{MAPS}/m")).code == 200


async def test_authorizer_is_asked_for_the_author(house: House) -> None:
    class Nobody:
        def decide(self, attributes: Attributes) -> Verdict:
            return Verdict(attributes.verb == "create" and attributes.resource == "configmaps")

    asked = []
    house.api.deciders = lambda user: asked.append(user.name) or Nobody()  # type: ignore[func-returns-value]
    await validating(
        house, wanting("authorizer.requestResource.check('create').allowed()", "!authorizer.path('/x').check('get').allowed()")
    )
    assert (await create_map(house)).code == 201
    assert asked
    await house.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")
    assert (await create_map(house, "n")).code == 201


async def test_failure_of_an_expression_is_as_the_failure_policy_says(house: House) -> None:
    await validating(house, wanting("object.data.zz == '1'", failurePolicy="Ignore"))
    assert (await create_map(house)).code == 201
    await house.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")
    assert (await write(house, "validatingadmissionpolicies", wanting("object.data.zz == '1'"))).code == 201
    told = await create_map(house, "n", data={"a": "1"})
    assert (told.code, refusal(told)) == (422, "expression 'object.data.zz == '1'' resulted in error: no such key: zz")


async def test_match_conditions(house: House) -> None:
    conditions = [
        {"name": "named", "expression": "object.metadata.name.startsWith('x')"},
        {"name": "b", "expression": "has(object.data)"},
    ]
    await validating(house, wanting("false", matchConditions=conditions))
    assert (await create_map(house, "m", data={"a": "1"})).code == 201
    assert (await create_map(house, "x")).code == 201
    assert (await create_map(house, "xx", data={"a": "1"})).code == 422


async def test_match_condition_that_fails_refuses_unless_another_is_false(house: House) -> None:
    conditions = [
        {"name": "a", "expression": "object.data.zz == '1'"},
        {"name": "b", "expression": "object.metadata.name != 'free'"},
    ]
    await validating(house, wanting("true", matchConditions=conditions))
    assert (await create_map(house, "free", data={"a": "1"})).code == 201
    told = await create_map(house, data={"a": "1"})
    assert (told.code, refusal(told)) == (422, "expression 'object.data.zz == '1'' resulted in error: no such key: zz")


async def test_warn_and_audit_do_not_refuse(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    annotations = [{"key": "was", "valueExpression": "'data ' + object.data.a"}, {"key": "not", "valueExpression": "null"}]
    await validating(house, wanting("false", auditAnnotations=annotations), binding(validationActions=["Warn", "Audit"]))
    told = await create_map(house, data={"a": "1"})
    assert told.code == 201
    assert told.headers["warning"] == (
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false\""
    )
    assert "validation.policy.admission.k8s.io/validation_failure" in caplog.text
    assert "p/was" in caplog.text
    assert "p/not" not in caplog.text


async def test_policy_without_a_binding_is_not_asked(house: House) -> None:
    assert (await write(house, "validatingadmissionpolicies", wanting("false"))).code == 201
    assert (await create_map(house)).code == 201
    assert house.api.admission.validators == ()
    assert (await write(house, "validatingadmissionpolicybindings", binding())).code == 201
    assert (await create_map(house, "n")).code == 422
    assert (await house.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/b")).code == 200
    assert house.api.admission.validators == ()


MATCHES: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("another resource", {"resourceRules": [rules("secrets")]}, {}, False),
    ("another operation", {"resourceRules": [rules("configmaps", operations=("UPDATE",))]}, {}, False),
    ("all resources", {"resourceRules": [rules("*", group="*")]}, {}, True),
    ("name", {"resourceRules": [rules("configmaps", resourceNames=["m"])]}, {}, True),
    ("another name", {"resourceRules": [rules("configmaps", resourceNames=["n"])]}, {}, False),
    ("excluded", {"resourceRules": [rules("*")], "excludeResourceRules": [rules("configmaps")]}, {}, False),
    (
        "excluded by name",
        {"resourceRules": [rules("*")], "excludeResourceRules": [rules("configmaps", resourceNames=["m"])]},
        {},
        False,
    ),
    (
        "other excluded",
        {"resourceRules": [rules("*")], "excludeResourceRules": [rules("configmaps", resourceNames=["n"])]},
        {},
        True,
    ),
    ("labels", {"resourceRules": [rules("configmaps")], "objectSelector": {"matchLabels": {"l": "1"}}}, {}, True),
    ("other labels", {"resourceRules": [rules("configmaps")], "objectSelector": {"matchLabels": {"l": "2"}}}, {}, False),
    (
        "namespace",
        {"resourceRules": [rules("configmaps")], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
        {},
        True,
    ),
    ("another namespace", {"resourceRules": [rules("configmaps")], "namespaceSelector": {"matchLabels": {"x": "y"}}}, {}, False),
    ("bound elsewhere", {"resourceRules": [rules("configmaps")]}, {"namespaceSelector": {"matchLabels": {"x": "y"}}}, False),
    ("bound to others", {"resourceRules": [rules("*")]}, {"resourceRules": [rules("secrets")]}, False),
]


@pytest.mark.parametrize(("_name", "match", "bound", "is_asked"), MATCHES, ids=[one[0] for one in MATCHES])
async def test_which_writes_are_meant(house: House, _name: str, match: Any, bound: Any, is_asked: bool) -> None:
    more = {"matchResources": bound} if bound else {}
    await validating(house, wanting("false", match=match), binding(**more))
    assert (await create_map(house, metadata={"labels": {"l": "1"}})).code == (422 if is_asked else 201)


async def test_policy_for_another_version_sees_the_object_in_that_version(house: House) -> None:
    rule = {**rules("horizontalpodautoscalers", group="autoscaling"), "apiVersions": ["v1"]}
    await validating(
        house,
        wanting(
            "object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage < 50",
            match={"resourceRules": [rule]},
        ),
    )
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    object_ = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert "failed expression" in refusal(await house.ask("POST", path, object_))
    metric["resource"]["target"]["averageUtilization"] = 40  # type: ignore[index]
    assert (await house.ask("POST", path, object_)).code == 201


async def test_subresources_are_meant_only_if_they_are_named(house: House) -> None:
    match = {"resourceRules": [rules("deployments/scale", group="apps")]}
    await validating(house, wanting("object.spec.replicas < 3", match=match))
    assert (await house.ask("POST", DEPLOYMENTS, deployment(5))).code == 201
    told = await house.ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}}, media="application/merge-patch+json")
    assert told.code == 422
    told = await house.ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, media="application/merge-patch+json")
    assert told.code == 200


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "match": {"resourceRules": [rules("secrets")]}}
SECRETS = "/api/v1/namespaces/default/secrets"


def referring(**ref: Any) -> dict[str, Any]:
    return binding(paramRef={"parameterNotFoundAction": "Deny", **ref})


async def test_parameter_by_name(house: House) -> None:
    await create_map(house, "limits", data={"name": "good"})
    await validating(house, wanting("object.metadata.name == params.data.name", **PARAMS), referring(name="limits"))
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "good"}})).code == 201
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "bad"}})).code == 422
    assert (await house.ask("PUT", f"{MAPS}/limits", {"metadata": {"name": "limits"}, "data": {"name": "bad"}})).code == 200
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "bad"}})).code == 201


async def test_parameters_by_selector_are_all_asked(house: House) -> None:
    for name, wanted in (("one", "a"), ("two", "b")):
        await create_map(house, name, metadata={"labels": {"l": "1"}}, data={"has": wanted})
    selected = referring(selector={"matchLabels": {"l": "1"}}, namespace="default")
    await validating(house, wanting("object.metadata.name.contains(params.data.has)", **PARAMS), selected)
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "ab"}})).code == 201
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "a"}})).code == 422


async def test_parameter_that_is_not_there(house: House) -> None:
    await validating(house, wanting("false", **PARAMS), referring(name="nope"))
    told = await house.ask("POST", SECRETS, {"metadata": {"name": "s"}})
    wanted = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert (told.code, refusal(told)) == (422, wanted)
    allowing = referring(name="nope", parameterNotFoundAction="Allow")
    assert (await house.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/b")).code == 200
    assert (await write(house, "validatingadmissionpolicybindings", allowing)).code == 201
    assert (await house.ask("POST", SECRETS, {"metadata": {"name": "s"}})).code == 201


async def test_too_many_parameters_are_a_failure_of_the_binding(house: House) -> None:
    for number in range(1001):
        await create_map(house, f"p{number}", metadata={"labels": {"l": "1"}})
    await validating(house, wanting("true", **PARAMS), referring(selector={"matchLabels": {"l": "1"}}))
    told = await house.ask("POST", SECRETS, {"metadata": {"name": "s"}})
    assert refusal(told) == "failed to configure binding: paramRef.selector selects more than 1000 objects"


async def test_policies_are_not_asked_about_policies(house: House) -> None:
    match = {"resourceRules": [rules("*", group="*", operations=("*",))]}
    await validating(house, wanting("false", match=match))
    assert (await create_map(house)).code == 422
    assert (await house.ask("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")).code == 200
    assert (await create_map(house)).code == 201


async def test_cost_of_a_policy_is_limited(house: House) -> None:
    dear = "object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != '')))"
    await validating(house, wanting(dear))
    told = await create_map(house, data={f"k{number}": "v" for number in range(200)})
    assert refusal(told) == f"expression '{dear}' resulted in error: operation cancelled: actual cost limit exceeded"


async def test_variables_made_of_each_other_hundreds_of_times_are_a_failure(house: House) -> None:
    variables = [{"name": f"v{at}", "expression": f"variables.v{at - 1} + 1" if at else "1"} for at in range(400)]
    await validating(house, wanting("variables.v399 == 400", "variables.v20 == 21", variables=variables))
    told = await create_map(house)
    assert (told.code, "nests too deeply" in refusal(told)) == (422, True)


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (wanting("object.x ="), "spec.validations[0].expression", "compilation failed: ERROR: <input>:1:10: Syntax error"),
    (wanting("nobody == 1"), "spec.validations[0].expression", "undeclared reference to 'nobody'"),
    (wanting("params.x == 1"), "spec.validations[0].expression", "undeclared reference to 'params'"),
    (wanting("request.nope == 1"), "spec.validations[0].expression", "undefined field 'nope'"),
    (wanting("variables.nope == 1"), "spec.validations[0].expression", "undefined field 'nope'"),
    (wanting("'a'"), "spec.validations[0].expression", "must evaluate to bool"),
    (wanting("true", variables=[{"name": "v", "expression": "("}]), "spec.variables[0].expression", "compilation failed"),
    (
        wanting("true", variables=[{"name": "a-b", "expression": "1"}]),
        "spec.variables[0].name",
        "name is not a valid CEL identifier",
    ),
    (
        wanting("true", matchConditions=[{"name": "c", "expression": "1"}]),
        "spec.matchConditions[0].expression",
        "must evaluate to bool",
    ),
    (
        wanting("true", auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
        "spec.auditAnnotations[0].valueExpression",
        "string or null_type",
    ),
    (
        policy(validations=[{"expression": "true", "messageExpression": "1"}]),
        "spec.validations[0].messageExpression",
        "must evaluate to string",
    ),
    (
        policy(validations=[{"expression": "true", "messageExpression": "authorizer == 1"}]),
        "spec.validations[0].messageExpression",
        "undeclared",
    ),
    (policy(validations=[{"expression": "true", "reason": "Nope"}]), "spec.validations[0].reason", "Unsupported value"),
    (policy(), "spec.validations", "must contain at least one item"),
    (wanting("true", match={"resourceRules": []}), "spec.matchConstraints.resourceRules", "Required value"),
    (wanting(*["true"] * 501), "spec.validations", "must have at most 500 items"),
    (
        wanting("true", variables=[{"name": f"v{at}", "expression": "1"} for at in range(501)]),
        "spec.variables",
        "at most 500 items",
    ),
    (
        wanting("true", matchConditions=[{"name": f"c{at}", "expression": "true"} for at in range(65)]),
        "spec.matchConditions",
        "must have at most 64 items",
    ),
    (
        wanting("true", auditAnnotations=[{"key": f"k{at}", "valueExpression": "''"} for at in range(21)]),
        "spec.auditAnnotations",
        "must not have more than 20 auditAnnotations",
    ),
]


@pytest.mark.parametrize(("made", "field", "wanted"), MISTAKES, ids=[f"{field} {wanted}" for _, field, wanted in MISTAKES])
async def test_policy_that_is_wrong_is_refused(house: House, made: Any, field: str, wanted: str) -> None:
    told = await write(house, "validatingadmissionpolicies", made)
    assert told.code == 422, told.body
    found = {one["field"]: one["message"] for one in told.json["details"]["causes"]}
    assert wanted in found[field]


BAD_BINDINGS: list[tuple[dict[str, Any], str]] = [
    (binding(validationActions=["Deny", "Warn"]), "spec.validationActions"),
    (binding(validationActions=["Deny", "Deny"]), "spec.validationActions[1]"),
    (binding(paramRef={"name": "x"}), "spec.paramRef.parameterNotFoundAction"),
    (binding(paramRef={"parameterNotFoundAction": "Deny"}), "spec.paramRef"),
    (binding(paramRef={"name": "x", "selector": {}, "parameterNotFoundAction": "Deny"}), "spec.paramRef.name"),
    (binding(to=""), "spec.policyName"),
]


@pytest.mark.parametrize(("made", "field"), BAD_BINDINGS, ids=[str(one[0]["spec"]) for one in BAD_BINDINGS])
async def test_binding_that_is_wrong_is_refused(house: House, made: Any, field: str) -> None:
    told = await write(house, "validatingadmissionpolicybindings", made)
    assert told.code == 422, told.body
    assert field in [one["field"] for one in told.json["details"]["causes"]]

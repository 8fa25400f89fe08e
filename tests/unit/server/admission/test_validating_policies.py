"""ValidatingAdmissionPolicies: which writes they match, what expressions see, and how bindings enforce them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.cel_authorizer import Attributes, AuthorizationDecision
from support.admission_policies import (
    DEPLOYMENTS,
    MAPS,
    REGISTRATION,
    binding,
    create_map,
    create_registration,
    create_validating,
    denial_message,
    policy,
    rules,
    validating_policy,
)
from support.in_process_server import InProcessServer, running

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(collects=False) as made:
        yield made


def deployment(replicas: int, name: str = "d") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    }


async def test_denial_has_kubernetes_text(server: InProcessServer) -> None:
    match = {"resourceRules": [rules("deployments", group="apps")]}
    await create_validating(server, validating_policy("object.spec.replicas <= 5", match=match))
    response = await server.request("POST", DEPLOYMENTS, deployment(6))
    text = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas <= 5"
    assert (response.code, response.json["reason"]) == (422, "Invalid")
    assert response.json["message"] == f'deployments.apps "d" is forbidden: {text}'
    assert response.json["details"] == {"name": "d", "group": "apps", "kind": "deployments", "causes": [{"message": text}]}
    assert (await server.request("POST", DEPLOYMENTS, deployment(5))).code == 201
    patch = await server.request("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": 7}}, media="application/merge-patch+json")
    assert patch.code == 422
    assert (await server.request("GET", f"{DEPLOYMENTS}/d")).json["spec"]["replicas"] == 5


MESSAGES: list[tuple[dict[str, Any], int, str]] = [
    ({"message": "no "}, 422, "no"),
    ({"messageExpression": "'got ' + object.data.a"}, 422, "got 1"),
    ({"messageExpression": "object.data.zz", "message": "instead"}, 422, "instead"),
    ({"reason": "Forbidden", "message": "no"}, 403, "no"),
    ({"reason": "Unauthorized", "message": "no"}, 401, "no"),
    ({"reason": "RequestEntityTooLarge", "message": "no"}, 413, "no"),
]


@pytest.mark.parametrize(("more", "code", "wanted"), MESSAGES, ids=[str(more) for more, _, _ in MESSAGES])
async def test_message_and_reason(server: InProcessServer, more: dict[str, Any], code: int, wanted: str) -> None:
    await create_validating(server, policy(validations=[{"expression": "object.data.a == '2'", **more}]))
    response = await create_map(server, data={"a": "1"})
    assert (response.code, denial_message(response)) == (code, wanted)


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
async def test_what_expressions_see(server: InProcessServer, expression: str) -> None:
    variables = [{"name": "data", "expression": "object.data"}, {"name": "keys", "expression": "variables.data.map(k, k)"}]
    await create_validating(server, validating_policy(expression, variables=variables))
    response = await create_map(server, data={"a": "1"})
    assert response.code == 201, response.body


async def test_update_and_delete_see_the_old_object(server: InProcessServer) -> None:
    match = {"resourceRules": [rules("configmaps", operations=("UPDATE", "DELETE"))]}
    both = "request.operation == 'DELETE' ? object == null && oldObject.data.a == 'free' : object.data.a != oldObject.data.a"
    await create_validating(server, validating_policy(both, match=match))
    assert (await create_map(server, data={"a": "1"})).code == 201
    assert (await server.request("DELETE", f"{MAPS}/m")).code == 422
    assert (await server.request("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "1"}})).code == 422
    assert (await server.request("PUT", f"{MAPS}/m", {"metadata": {"name": "m"}, "data": {"a": "free"}})).code == 200
    assert (await server.request("DELETE", f"{MAPS}/m")).code == 200


async def test_authorizer_variable_checks_the_user(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nobody:
        def decide(self, attributes: Attributes) -> AuthorizationDecision:
            return AuthorizationDecision(attributes.verb == "create" and attributes.resource == "configmaps")

    request = []
    monkeypatch.setattr(server.api.authorizer, "cel_authorizer", lambda user: request.append(user.name) or Nobody())  # type: ignore[func-returns-value]
    await create_validating(
        server,
        validating_policy("authorizer.requestResource.check('create').allowed()", "!authorizer.path('/x').check('get').allowed()"),
    )
    assert (await create_map(server)).code == 201
    assert request
    await server.request("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")
    assert (await create_map(server, "n")).code == 201


async def test_expression_failure_follows_the_failure_policy(server: InProcessServer) -> None:
    await create_validating(server, validating_policy("object.data.zz == '1'", failurePolicy="Ignore"))
    assert (await create_map(server)).code == 201
    await server.request("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")
    assert (
        await create_registration(server, "validatingadmissionpolicies", validating_policy("object.data.zz == '1'"))
    ).code == 201
    response = await create_map(server, "n", data={"a": "1"})
    assert (response.code, denial_message(response)) == (
        422,
        "expression 'object.data.zz == '1'' resulted in error: no such key: zz",
    )


async def test_match_conditions(server: InProcessServer) -> None:
    conditions = [
        {"name": "named", "expression": "object.metadata.name.startsWith('x')"},
        {"name": "b", "expression": "has(object.data)"},
    ]
    await create_validating(server, validating_policy("false", matchConditions=conditions))
    assert (await create_map(server, "m", data={"a": "1"})).code == 201
    assert (await create_map(server, "x")).code == 201
    assert (await create_map(server, "xx", data={"a": "1"})).code == 422


async def test_match_condition_that_fails_refuses_unless_another_is_false(server: InProcessServer) -> None:
    conditions = [
        {"name": "a", "expression": "object.data.zz == '1'"},
        {"name": "b", "expression": "object.metadata.name != 'free'"},
    ]
    await create_validating(server, validating_policy("true", matchConditions=conditions))
    assert (await create_map(server, "free", data={"a": "1"})).code == 201
    response = await create_map(server, data={"a": "1"})
    assert (response.code, denial_message(response)) == (
        422,
        "expression 'object.data.zz == '1'' resulted in error: no such key: zz",
    )


async def test_warn_and_audit_do_not_refuse(server: InProcessServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    annotations = [{"key": "was", "valueExpression": "'data ' + object.data.a"}, {"key": "not", "valueExpression": "null"}]
    await create_validating(
        server, validating_policy("false", auditAnnotations=annotations), binding(validationActions=["Warn", "Audit"])
    )
    response = await create_map(server, data={"a": "1"})
    assert response.code == 201
    assert response.headers["warning"] == (
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false\""
    )
    [record] = [record for record in caplog.records if record.getMessage() == "admission annotations"]
    annotated = vars(record)["facts"]["annotations"]
    assert "validation.policy.admission.k8s.io/validation_failure" in annotated
    assert "p/was" in annotated
    assert "p/not" not in annotated


async def test_policy_without_a_binding_does_not_run(server: InProcessServer) -> None:
    assert (await create_registration(server, "validatingadmissionpolicies", validating_policy("false"))).code == 201
    assert (await create_map(server)).code == 201
    assert server.api.admission.chain.validators == ()
    assert (await create_registration(server, "validatingadmissionpolicybindings", binding())).code == 201
    assert (await create_map(server, "n")).code == 422
    assert (await server.request("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/b")).code == 200
    assert server.api.admission.chain.validators == ()


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
async def test_matching_of_writes(server: InProcessServer, _name: str, match: Any, bound: Any, is_asked: bool) -> None:
    more = {"matchResources": bound} if bound else {}
    await create_validating(server, validating_policy("false", match=match), binding(**more))
    assert (await create_map(server, metadata={"labels": {"l": "1"}})).code == (422 if is_asked else 201)


async def test_policy_for_another_version_sees_the_object_in_that_version(server: InProcessServer) -> None:
    rule = {**rules("horizontalpodautoscalers", group="autoscaling"), "apiVersions": ["v1"]}
    await create_validating(
        server,
        validating_policy(
            "object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage < 50",
            match={"resourceRules": [rule]},
        ),
    )
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    object_ = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert "failed expression" in denial_message(await server.request("POST", path, object_))
    metric["resource"]["target"]["averageUtilization"] = 40  # type: ignore[index]
    assert (await server.request("POST", path, object_)).code == 201


async def test_subresources_match_only_if_named(server: InProcessServer) -> None:
    match = {"resourceRules": [rules("deployments/scale", group="apps")]}
    await create_validating(server, validating_policy("object.spec.replicas < 3", match=match))
    assert (await server.request("POST", DEPLOYMENTS, deployment(5))).code == 201
    response = await server.request(
        "PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}}, media="application/merge-patch+json"
    )
    assert response.code == 422
    response = await server.request(
        "PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, media="application/merge-patch+json"
    )
    assert response.code == 200


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "match": {"resourceRules": [rules("secrets")]}}
SECRETS = "/api/v1/namespaces/default/secrets"


def referring(**ref: Any) -> dict[str, Any]:
    return binding(paramRef={"parameterNotFoundAction": "Deny", **ref})


async def test_parameter_by_name(server: InProcessServer) -> None:
    await create_map(server, "limits", data={"name": "good"})
    await create_validating(
        server, validating_policy("object.metadata.name == params.data.name", **PARAMS), referring(name="limits")
    )
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "good"}})).code == 201
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "bad"}})).code == 422
    assert (await server.request("PUT", f"{MAPS}/limits", {"metadata": {"name": "limits"}, "data": {"name": "bad"}})).code == 200
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "bad"}})).code == 201


async def test_policy_runs_for_each_selected_parameter(server: InProcessServer) -> None:
    for name, wanted in (("one", "a"), ("two", "b")):
        await create_map(server, name, metadata={"labels": {"l": "1"}}, data={"has": wanted})
    selected = referring(selector={"matchLabels": {"l": "1"}}, namespace="default")
    await create_validating(server, validating_policy("object.metadata.name.contains(params.data.has)", **PARAMS), selected)
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "ab"}})).code == 201
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "a"}})).code == 422


async def test_missing_parameter(server: InProcessServer) -> None:
    await create_validating(server, validating_policy("false", **PARAMS), referring(name="nope"))
    response = await server.request("POST", SECRETS, {"metadata": {"name": "s"}})
    wanted = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert (response.code, denial_message(response)) == (422, wanted)
    allowing = referring(name="nope", parameterNotFoundAction="Allow")
    assert (await server.request("DELETE", f"{REGISTRATION}/validatingadmissionpolicybindings/b")).code == 200
    assert (await create_registration(server, "validatingadmissionpolicybindings", allowing)).code == 201
    assert (await server.request("POST", SECRETS, {"metadata": {"name": "s"}})).code == 201


async def test_too_many_parameters_are_a_failure_of_the_binding(server: InProcessServer) -> None:
    for number in range(1001):
        await create_map(server, f"p{number}", metadata={"labels": {"l": "1"}})
    await create_validating(server, validating_policy("true", **PARAMS), referring(selector={"matchLabels": {"l": "1"}}))
    response = await server.request("POST", SECRETS, {"metadata": {"name": "s"}})
    assert denial_message(response) == "failed to configure binding: paramRef.selector selects more than 1000 objects"


async def test_policies_do_not_apply_to_policies(server: InProcessServer) -> None:
    match = {"resourceRules": [rules("*", group="*", operations=("*",))]}
    await create_validating(server, validating_policy("false", match=match))
    assert (await create_map(server)).code == 422
    assert (await server.request("DELETE", f"{REGISTRATION}/validatingadmissionpolicies/p")).code == 200
    assert (await create_map(server)).code == 201


async def test_cost_of_a_policy_is_limited(server: InProcessServer) -> None:
    dear = "object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != '')))"
    await create_validating(server, validating_policy(dear))
    response = await create_map(server, data={f"k{number}": "v" for number in range(200)})
    assert denial_message(response) == f"expression '{dear}' resulted in error: operation cancelled: actual cost limit exceeded"


async def test_deeply_nested_variables_fail(server: InProcessServer) -> None:
    variables = [{"name": f"v{at}", "expression": f"variables.v{at - 1} + 1" if at else "1"} for at in range(400)]
    await create_validating(server, validating_policy("variables.v399 == 400", "variables.v20 == 21", variables=variables))
    response = await create_map(server)
    assert (response.code, "nests too deeply" in denial_message(response)) == (422, True)


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (validating_policy("object.x ="), "spec.validations[0].expression", "compilation failed: ERROR: <input>:1:10: Syntax error"),
    (validating_policy("nobody == 1"), "spec.validations[0].expression", "undeclared reference to 'nobody'"),
    (validating_policy("params.x == 1"), "spec.validations[0].expression", "undeclared reference to 'params'"),
    (validating_policy("request.nope == 1"), "spec.validations[0].expression", "undefined field 'nope'"),
    (validating_policy("variables.nope == 1"), "spec.validations[0].expression", "undefined field 'nope'"),
    (validating_policy("'a'"), "spec.validations[0].expression", "must evaluate to bool"),
    (validating_policy("true", variables=[{"name": "v", "expression": "("}]), "spec.variables[0].expression", "compilation failed"),
    (
        validating_policy("true", variables=[{"name": "a-b", "expression": "1"}]),
        "spec.variables[0].name",
        "name is not a valid CEL identifier",
    ),
    (
        validating_policy("true", matchConditions=[{"name": "c", "expression": "1"}]),
        "spec.matchConditions[0].expression",
        "must evaluate to bool",
    ),
    (
        validating_policy("true", auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
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
    (validating_policy("true", match={"resourceRules": []}), "spec.matchConstraints.resourceRules", "Required value"),
    (validating_policy(*["true"] * 501), "spec.validations", "must have at most 500 items"),
    (
        validating_policy("true", variables=[{"name": f"v{at}", "expression": "1"} for at in range(501)]),
        "spec.variables",
        "at most 500 items",
    ),
    (
        validating_policy("true", matchConditions=[{"name": f"c{at}", "expression": "true"} for at in range(65)]),
        "spec.matchConditions",
        "must have at most 64 items",
    ),
    (
        validating_policy("true", auditAnnotations=[{"key": f"k{at}", "valueExpression": "''"} for at in range(21)]),
        "spec.auditAnnotations",
        "must not have more than 20 auditAnnotations",
    ),
]


@pytest.mark.parametrize(("made", "field", "wanted"), MISTAKES, ids=[f"{field} {wanted}" for _, field, wanted in MISTAKES])
async def test_invalid_policy_is_refused(server: InProcessServer, made: Any, field: str, wanted: str) -> None:
    response = await create_registration(server, "validatingadmissionpolicies", made)
    assert response.code == 422, response.body
    result = {one["field"]: one["message"] for one in response.json["details"]["causes"]}
    assert wanted in result[field]


BAD_BINDINGS: list[tuple[dict[str, Any], str]] = [
    (binding(validationActions=["Deny", "Warn"]), "spec.validationActions"),
    (binding(validationActions=["Deny", "Deny"]), "spec.validationActions[1]"),
    (binding(paramRef={"name": "x"}), "spec.paramRef.parameterNotFoundAction"),
    (binding(paramRef={"parameterNotFoundAction": "Deny"}), "spec.paramRef"),
    (binding(paramRef={"name": "x", "selector": {}, "parameterNotFoundAction": "Deny"}), "spec.paramRef.name"),
    (binding(to=""), "spec.policyName"),
]


@pytest.mark.parametrize(("made", "field"), BAD_BINDINGS, ids=[str(one[0]["spec"]) for one in BAD_BINDINGS])
async def test_invalid_binding_is_refused(server: InProcessServer, made: Any, field: str) -> None:
    response = await create_registration(server, "validatingadmissionpolicybindings", made)
    assert response.code == 422, response.body
    assert field in [one["field"] for one in response.json["details"]["causes"]]

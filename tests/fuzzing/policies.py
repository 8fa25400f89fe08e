"""Admission policies and webhook configurations with all sorts of CEL expressions, which apply to the writes of all clients."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzing import definitions, values

EXPRESSIONS = (
    *definitions.RULES,
    *(
        "object.metadata.name != 'x'",
        "object.data.all(k, object.data[k].size() < 9)",
        "oldObject == null",
        "request.userInfo.username == ''",
    ),
    *(
        "variables.v == 1",
        "params.data.a == 'b'",
        "namespaceObject.metadata.name == 'default'",
        "authorizer.group('').resource('pods')",
    ),
    *(
        "request.operation in ['CREATE']",
        "object.spec.replicas <= 5",
        "has(object.metadata.labels)",
        "object.metadata.labels['a'] == 'b'",
    ),
)
MUTATIONS = (
    *("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", "Object{data: {'a': 'b'}}", "Object{}", "object", "1"),
    *("[JSONPatch{op: 'add', path: '/data/x', value: 'y'}]", "[JSONPatch{op: 'remove', path: '/kind'}]", "[]", "Object{spec: 1}"),
)
GROUP = "admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}


def expression(chance: Random) -> str:
    text = chance.choice(EXPRESSIONS)
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.1 else text


def validating(chance: Random) -> Any:
    """A policy that looks at ConfigMaps."""
    checks = [{"expression": expression(chance), "message": "no"} for _ in range(chance.choice((1, 1, 3, 20)))]
    return _policy(chance, "ValidatingAdmissionPolicy", {"validations": checks, **_annotations(chance)})


def mutating(chance: Random) -> Any:
    """A policy that changes ConfigMaps."""
    text = chance.choice(MUTATIONS)
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
    if text.startswith("["):
        change = {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
    return _policy(
        chance, "MutatingAdmissionPolicy", {"mutations": [change], "reinvocationPolicy": chance.choice(("Never", "IfNeeded"))}
    )


def binding(chance: Random, kind: str) -> Any:
    """What makes a policy count."""
    spec: dict[str, Any] = {"policyName": "fuzz"}
    if kind == "ValidatingAdmissionPolicy":
        spec["validationActions"] = chance.choice((["Deny"], ["Warn"], ["Audit", "Warn"], ["Deny", "Warn"]))
    if chance.random() < 0.2:
        spec["paramRef"] = {
            "name": chance.choice("ab"),
            "namespace": "default",
            "parameterNotFoundAction": chance.choice(("Deny", "Allow")),
        }
    return _meant(chance, {"apiVersion": GROUP, "kind": f"{kind}Binding", "metadata": {"name": "fuzz"}, "spec": spec})


def _policy(chance: Random, kind: str, parts: dict[str, Any]) -> Any:
    spec = {"failurePolicy": chance.choice(("Fail", "Ignore")), "matchConstraints": {"resourceRules": [RULE]}, **parts}
    if chance.random() < 0.3:
        spec["variables"] = [{"name": chance.choice(("v", "v", "w", "")), "expression": expression(chance)}]
    if chance.random() < 0.3:
        spec["matchConditions"] = [{"name": "m", "expression": expression(chance)}]
    if chance.random() < 0.2:
        spec["paramKind"] = {"apiVersion": "v1", "kind": chance.choice(("ConfigMap", "Nonsense"))}
    return _meant(chance, {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "fuzz"}, "spec": spec})


def _annotations(chance: Random) -> dict[str, Any]:
    return {"auditAnnotations": [{"key": "a", "valueExpression": expression(chance)}]} if chance.random() < 0.2 else {}


def _meant(chance: Random, made: dict[str, Any]) -> Any:
    return values.spoiled(chance, made) if chance.random() < 0.15 else made

"""Webhooks, policies and their bindings, and APIServices: whom a server asks, and about what."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import WEBHOOK, sample

Causes = list[tuple[str, str]]
RULE = WEBHOOK["rules"][0]
POLICY = ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")


def causes(problems: Any) -> Causes:
    return sorted({(one.field, one.reason.removeprefix("FieldValue")) for one in problems})


def refused(kind: str, **changes: Any) -> Causes:
    key, object_ = sample(kind, **changes)
    return causes(validation.create(GroupVersionKind(*key), object_))


def policy(**changes: Any) -> Causes:
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}], **changes}
    return causes(validation.create(GroupVersionKind(*POLICY), {"metadata": {"name": "p"}, "spec": spec}))


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param(["pods", "pods/status", "*/scale"], {}, id="good"),
        pytest.param(["pods", "*"], {}, id="all-in-the-end"),
        pytest.param(["*", "pods/status"], {}, id="all-and-a-part"),
        pytest.param(["*", "pods"], {"": "Invalid"}, id="all-and-one"),
        pytest.param(["*/*", "pods"], {"": "Invalid"}, id="all-parts-and-one"),
        pytest.param(["pods/*", "pods/status"], {"[1]": "Invalid"}, id="all-parts-of-one"),
        pytest.param(["*/status", "pods/status"], {"[1]": "Invalid"}, id="a-part-of-all"),
        pytest.param([""], {"[0]": "Required"}, id="empty"),
    ],
)
def test_resources_of_rules(resources: list[str], expected: dict[str, str]) -> None:
    rule = {**RULE, "resources": resources}
    told = {f"rules[0].resources{index}": reason for index, reason in expected.items()}
    found = refused("ValidatingWebhookConfiguration", webhooks__0__rules=[rule])
    assert found == [(f"webhooks[0].{field}", reason) for field, reason in told.items()]
    found = policy(matchConstraints={"resourceRules": [rule]})
    assert found == [(f"spec.matchConstraints.resourceR{field[1:]}", reason) for field, reason in told.items()]


def test_a_version_in_a_rule_is_not_empty() -> None:
    found = refused("MutatingWebhookConfiguration", webhooks__0__rules=[{**RULE, "apiVersions": [""]}])
    assert found == [("webhooks[0].rules[0].apiVersions[0]", "Required")]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["v1", "v9"], {}),
        (["v1", "v1"], {"[1]": "Invalid"}),
        (["v1", "V_"], {"[1]": "Invalid"}),
        (["v9"], {"": "Invalid"}),
        ([], {"": "Required"}),
    ],
    ids=["newer", "twice", "odd", "none-that-is-sent", "none"],
)
def test_versions_of_reviews(versions: list[str], expected: dict[str, str]) -> None:
    found = refused("ValidatingWebhookConfiguration", webhooks__0__admissionReviewVersions=versions)
    assert found == [(f"webhooks[0].admissionReviewVersions{index}", reason) for index, reason in expected.items()]


@pytest.mark.parametrize(("path", "is_good"), [("/", True), ("/a/b.c/", True), ("a", False), ("/a//b", False), ("/a/B_", False)])
def test_paths_of_services(path: str, *, is_good: bool) -> None:
    found = refused("ValidatingWebhookConfiguration", webhooks__0__clientConfig__service__path=path)
    assert found == ([] if is_good else [("webhooks[0].clientConfig.service.path", "Invalid")])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"apiVersion": "v1", "kind": "ConfigMap"}, {}),
        ({"apiVersion": "example.com/v1beta1", "kind": "Limit"}, {}),
        ({"apiVersion": "a/b/c", "kind": "a b"}, {"apiVersion": "Invalid", "kind": "Invalid"}),
        ({"apiVersion": "A_/v1", "kind": "K"}, {"apiVersion": "Invalid"}),
        ({"apiVersion": "a/V_", "kind": "K"}, {"apiVersion": "Invalid"}),
        ({"apiVersion": "a/", "kind": "K"}, {"apiVersion": "Invalid"}),
    ],
    ids=["core", "group", "three", "bad-group", "bad-version", "no-version"],
)
def test_kinds_of_parameters(kind: dict[str, str], expected: dict[str, str]) -> None:
    assert policy(paramKind=kind) == [(f"spec.paramKind.{field}", reason) for field, reason in expected.items()]


def test_names_of_objects_in_a_policy() -> None:
    found = policy(matchConstraints={"resourceRules": [{**RULE, "resourceNames": ["a", "a", "b/c"]}]})
    at = "spec.matchConstraints.resourceRules[0].resourceNames"
    assert found == [(f"{at}[1]", "Duplicate"), (f"{at}[2]", "Invalid")]


def test_many_annotations_are_invalid_in_number() -> None:
    annotations = [{"key": f"k{one}", "valueExpression": "'a'"} for one in range(21)]
    assert policy(auditAnnotations=annotations) == [("spec.auditAnnotations", "Invalid")]


def test_actions_are_blamed_one_by_one() -> None:
    found = refused("ValidatingAdmissionPolicyBinding", spec__validationActions=["Deny", "Deny", "Shout"])
    assert found == [("spec.validationActions[1]", "Duplicate"), ("spec.validationActions[2]", "NotSupported")]


def test_parameters_are_named_or_selected() -> None:
    ref = {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}
    found = refused("ValidatingAdmissionPolicyBinding", spec__paramRef=ref)
    assert found == [("spec.paramRef.name", "Forbidden"), ("spec.paramRef.selector", "Forbidden")]


SERVICE = {"name": "s", "namespace": "n", "port": 443}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"spec__service": SERVICE, "spec__caBundle": "AAAA"}, [], id="elsewhere"),
        pytest.param({"spec__service": SERVICE, "spec__insecureSkipTLSVerify": True}, [], id="unverified"),
        pytest.param({"spec__caBundle": "AAAA"}, [("spec.caBundle", "Invalid")], id="here-with-certificates"),
        pytest.param({"spec__insecureSkipTLSVerify": True}, [("spec.insecureSkipTLSVerify", "Invalid")], id="here-unverified"),
        pytest.param(
            {"spec__service": {"port": 0}},
            [("spec.service.name", "Required"), ("spec.service.namespace", "Required"), ("spec.service.port", "Invalid")],
            id="nowhere",
        ),
        pytest.param(
            {"spec__service": SERVICE, "spec__caBundle": "AAAA", "spec__insecureSkipTLSVerify": True},
            [("spec.insecureSkipTLSVerify", "Invalid")],
            id="verified-and-not",
        ),
    ],
)
def test_api_services(changes: dict[str, Any], expected: Causes) -> None:
    assert refused("APIService", **changes) == expected

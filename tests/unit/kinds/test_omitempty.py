from __future__ import annotations

import copy
import threading

import pytest

from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.kinds import omitempty
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import field_numbers


def schema(group: str, kind: str, version: str = "v1") -> Schema:
    found = catalog.schema(group, version, kind)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("group", "kind", "given", "left"),
    [
        ("", "ConfigMap", {"metadata": {"labels": {}, "finalizers": []}, "data": {}}, {"metadata": {}}),
        ("", "ConfigMap", {"data": {"a": ""}, "immutable": False}, {"data": {"a": ""}, "immutable": False}),
        ("apps", "Deployment", {"spec": {"replicas": 0, "paused": False}}, {"spec": {"replicas": 0}}),
        ("apps", "Deployment", {"spec": {"selector": {"matchLabels": {}}}}, {"spec": {"selector": {}}}),
        (
            "",
            "Pod",
            {"spec": {"volumes": [{"name": "v", "emptyDir": {"medium": ""}}]}},
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        ),
        (
            "",
            "Pod",
            {"spec": {"containers": [{"name": "", "image": "", "resources": {}}]}},
            {"spec": {"containers": [{"name": "", "resources": {}}]}},
        ),
        (
            "",
            "Pod",
            {"spec": {"securityContext": {"runAsUser": 0}, "affinity": {}}},
            {"spec": {"securityContext": {"runAsUser": 0}, "affinity": {}}},
        ),
        ("rbac.authorization.k8s.io", "Role", {"rules": []}, {}),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            {"spec": {"podSelector": {}, "egress": [{}]}},
            {"spec": {"podSelector": {}, "egress": [{}]}},
        ),
        ("resource.k8s.io", "ResourceSlice", {"spec": {"devices": [{"name": "d", "attributes": {"a": {"bool": False}}}]}}, None),
    ],
)
def test_values_that_go_treats_as_absent_are_dropped(group: str, kind: str, given: Object, left: Object | None) -> None:
    object_ = copy.deepcopy(given)
    omitempty.drop(object_, schema(group, kind))
    assert object_ == (given if left is None else left)


@pytest.mark.parametrize(
    ("group", "kind", "given", "full"),
    [
        ("", "ConfigMap", {}, {"metadata": {}}),
        ("rbac.authorization.k8s.io", "Role", {}, {"metadata": {}, "rules": None}),
        (
            "policy",
            "PodDisruptionBudget",
            {"metadata": {}, "spec": {}, "status": None},
            {
                "metadata": {},
                "spec": {},
                "status": dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0),
            },
        ),
        (
            "apps",
            "Deployment",
            {},
            {
                "metadata": {},
                "spec": {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
                "status": {},
            },
        ),
        (
            "",
            "Pod",
            {"metadata": {}, "spec": {"containers": [{"name": "c"}]}, "status": {"conditions": [{"type": "a", "status": "b"}]}},
            {
                "metadata": {},
                "spec": {"containers": [{"name": "c", "resources": {}}]},
                "status": {"conditions": [{"type": "a", "status": "b", "lastProbeTime": None, "lastTransitionTime": None}]},
            },
        ),
    ],
)
def test_what_go_always_writes_is_written(group: str, kind: str, given: Object, full: Object) -> None:
    object_ = copy.deepcopy(given)
    omitempty.write(object_, schema(group, kind))
    assert object_ == full


def test_objects_made_from_nothing_share_nothing() -> None:
    one: Object = {}
    other: Object = {}
    omitempty.write(one, schema("apps", "Deployment"))
    omitempty.write(other, schema("apps", "Deployment"))
    one["spec"]["template"]["metadata"]["labels"] = {"a": "b"}
    assert other["spec"]["template"]["metadata"] == {}


def test_types_that_hold_themselves_are_followed_all_the_way_down() -> None:
    inner = {"type": "object", "required": [], "nullable": False, "properties": {"b": {"title": "", "default": {}}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"a": inner}}}}]
    definition: Object = {"spec": {"versions": versions}}
    omitempty.drop(definition, schema("apiextensions.k8s.io", "CustomResourceDefinition"))
    found = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]
    assert found == {"type": "object", "properties": {"b": {"default": {}}}}


def test_what_has_no_tags_is_left_alone() -> None:
    object_: Object = {"a": None, "b": {"c": []}}
    omitempty.drop(object_, Schema())
    omitempty.write(object_, Schema())
    assert object_ == {"a": None, "b": {"c": []}}


def test_kind_used_by_two_threads_at_once_lost_always_written_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """One makes a Deployment and is held up in the middle of it; the other, who needs some of the same structs, makes a Pod."""
    pod: Object = {"spec": {"containers": [{"name": "c", "env": [{"name": "X", "valueFrom": {"resourceFieldRef": {}}}]}]}}
    expected = copy.deepcopy(pod)
    omitempty.write(expected, schema("", "Pod"))
    monkeypatch.setattr(omitempty, "_structs", {})
    flat, is_within, goes_on = omitempty._flat, threading.Event(), threading.Event()

    def slowly(definition: str) -> tuple[field_numbers.Field, ...]:
        if definition.endswith(".Container") and threading.current_thread() is slow:
            is_within.set()
            goes_on.wait(0.1)  # or until the other is done, which it is not if it has to wait
        return flat(definition)

    monkeypatch.setattr(omitempty, "_flat", slowly)
    slow = threading.Thread(target=lambda: omitempty.write({}, schema("apps", "Deployment")))
    slow.start()
    is_within.wait()
    omitempty.write({}, schema("", "Pod"))
    goes_on.set()
    slow.join()
    omitempty.write(pod, schema("", "Pod"))
    assert pod == expected
    assert pod["spec"]["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"]["divisor"] == "0"

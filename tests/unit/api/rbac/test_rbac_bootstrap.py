"""The bootstrap roles of a new server equal those of a new Kubernetes cluster, and reconciling them keeps what users added."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from probate.api.rbac import bootstrap_roles, rule_resolver
from probate.api.rbac.bootstrap_roles import BootstrapObject

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "bootstrap-rbac.json").read_text())


def bootstrap_object(resource: str, name: str) -> BootstrapObject:
    return copy.deepcopy(
        next(
            item for item in bootstrap_roles.bootstrap_objects() if item[0] == resource and item.object["metadata"]["name"] == name
        )
    )


@pytest.mark.parametrize("resource", rule_resolver.RESOURCES)
def test_bootstrap_objects_equal_the_recorded_ones(resource: str) -> None:
    ours = [_short(item.object) for item in bootstrap_roles.bootstrap_objects() if item.resource == resource]
    by_name = {(item.get("namespace", ""), item["name"]): item for item in ours}
    recorded = {(item.get("namespace", ""), item["name"]): item for item in RECORDED[resource]}
    assert {name: by_name.get(name) for name in recorded} == recorded
    assert all("probate" in json.dumps(by_name[name]) for name in by_name.keys() - recorded.keys())


def _short(object_: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in object_["metadata"].items() if name != "annotations"}
    return meta | {name: value for name, value in object_.items() if name not in {"metadata", "apiVersion", "kind"}}


def test_a_complete_object_is_not_changed() -> None:
    for desired in bootstrap_roles.bootstrap_objects():
        assert bootstrap_roles.reconcile(desired, desired.object) is None


def test_a_removed_rule_is_restored_and_user_rules_stay() -> None:
    view = bootstrap_object(rule_resolver.CLUSTER_ROLES, "system:basic-user")
    own = {"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"]}
    reconciled = bootstrap_roles.reconcile(view, {**view.object, "rules": [own]})
    assert reconciled is not None
    assert reconciled["rules"] == [own, *view.object["rules"]]


def test_a_removed_subject_is_restored() -> None:
    binding = bootstrap_object(rule_resolver.CLUSTER_BINDINGS, "system:discovery")
    reconciled = bootstrap_roles.reconcile(binding, {**binding.object, "subjects": [{"kind": "User", "name": "x"}]})
    assert reconciled is not None
    assert reconciled["subjects"] == [{"kind": "User", "name": "x"}, *binding.object["subjects"]]


def test_the_autoupdate_annotation_turns_reconciliation_off() -> None:
    role = bootstrap_object(rule_resolver.CLUSTER_ROLES, "view")
    role.object["metadata"]["annotations"][bootstrap_roles.AUTO_UPDATE] = "false"
    assert bootstrap_roles.reconcile(role, {**role.object, "rules": [], "aggregationRule": None}) is None

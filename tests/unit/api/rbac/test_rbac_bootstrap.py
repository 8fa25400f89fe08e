"""The roles of a fresh server are those of a fresh cluster of Kubernetes, and are completed without losing what others added."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from probate.api.rbac import bootstrap_roles, grants
from probate.api.rbac.bootstrap_roles import Seed

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "bootstrap-rbac.json").read_text())


def seed(resource: str, name: str) -> Seed:
    return copy.deepcopy(
        next(one for one in bootstrap_roles.seeds() if one[0] == resource and one.object["metadata"]["name"] == name)
    )


@pytest.mark.parametrize("resource", grants.RESOURCES)
def test_as_recorded(resource: str) -> None:
    ours = [_short(one.object) for one in bootstrap_roles.seeds() if one.resource == resource]
    by_name = {(one.get("namespace", ""), one["name"]): one for one in ours}
    recorded = {(one.get("namespace", ""), one["name"]): one for one in RECORDED[resource]}
    assert {name: by_name.get(name) for name in recorded} == recorded
    assert all("probate" in json.dumps(by_name[name]) for name in by_name.keys() - recorded.keys())


def _short(object_: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in object_["metadata"].items() if name != "annotations"}
    return meta | {name: value for name, value in object_.items() if name not in {"metadata", "apiVersion", "kind"}}


def test_what_lacks_nothing_is_left_alone() -> None:
    for one in bootstrap_roles.seeds():
        assert bootstrap_roles.mended(one, one.object) is None


def test_a_rule_that_somebody_took_away_comes_back_and_theirs_stays() -> None:
    view = seed(grants.CLUSTER_ROLES, "system:basic-user")
    own = {"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"]}
    mended = bootstrap_roles.mended(view, {**view.object, "rules": [own]})
    assert mended is not None
    assert mended["rules"] == [own, *view.object["rules"]]


def test_a_subject_that_somebody_took_away_comes_back() -> None:
    binding = seed(grants.CLUSTER_BINDINGS, "system:discovery")
    mended = bootstrap_roles.mended(binding, {**binding.object, "subjects": [{"kind": "User", "name": "x"}]})
    assert mended is not None
    assert mended["subjects"] == [{"kind": "User", "name": "x"}, *binding.object["subjects"]]


def test_who_does_not_want_that_says_so() -> None:
    role = seed(grants.CLUSTER_ROLES, "view")
    role.object["metadata"]["annotations"][bootstrap_roles.AUTO_UPDATE] = "false"
    assert bootstrap_roles.mended(role, {**role.object, "rules": [], "aggregationRule": None}) is None

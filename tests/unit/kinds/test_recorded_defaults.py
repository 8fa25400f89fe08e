"""Objects recorded from Kubernetes 1.36: what was sent, and what was stored. Ours must be the same.

Left out is only what the server allocates: addresses of services and ports on nodes. Uids and times are compared by their shape.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.gvk import GroupVersion, GroupVersionKind
from probate.api.objects import Object
from probate.kinds import defaults as defaulting
from probate.kinds import strategy as preparation
from probate.kinds.core.pods.priority import Priorities

_UID = "8c1d6b78-b17d-4367-a2f4-11a769ebf19f"
_NOW = "2026-01-01T00:00:00Z"
_RECORDED: list[Object] = json.loads((Path(__file__).parents[2] / "data" / "defaults.json").read_text())
_IDS = [f"{one['stored']['kind']}-{number}" for number, one in enumerate(_RECORDED)]


def identity(recorded: Object) -> tuple[str, str, str]:
    group_version = GroupVersion.parse(recorded["stored"]["apiVersion"])
    return group_version.group, group_version.version, recorded["stored"]["kind"]


def sent(recorded: Object) -> Object:
    identified = {"apiVersion": recorded["stored"]["apiVersion"], "kind": recorded["stored"]["kind"], "metadata": {"name": "NAME"}}
    return {**copy.deepcopy(recorded["input"]), **identified}


def without_allocated(object_: Object) -> Object:
    spec = object_.get("spec", {})
    for key in ("clusterIP", "clusterIPs"):
        if spec.get(key) not in ("None", ["None"]):
            spec.pop(key, None)
    for port in spec.get("ports", []) if object_["kind"] == "Service" else []:
        port.pop("nodePort", None)
    return object_


def blurred(object_: Object) -> object:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", json.dumps(object_))
    return json.loads(re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text))


@pytest.mark.parametrize("recorded", _RECORDED, ids=_IDS)
def test_a_new_object_is_stored_as_kubernetes_stores_it(recorded: Object) -> None:
    object_ = sent(recorded)
    defaulting.apply(GroupVersionKind(*identity(recorded)), object_)
    preparation.create(GroupVersionKind(*identity(recorded)), object_, uid=_UID, now=_NOW)
    if object_["kind"] == "Pod":
        assert not Priorities().admit(object_)
    assert object_["metadata"].pop("generation", None) == recorded["generation"]
    assert object_["metadata"].pop("name") == "NAME"
    assert blurred(without_allocated(object_)) == blurred(without_allocated(copy.deepcopy(recorded["stored"])))


@pytest.mark.parametrize("recorded", _RECORDED, ids=_IDS)
def test_a_stored_object_is_read_as_it_is(recorded: Object) -> None:
    object_ = copy.deepcopy(recorded["stored"])
    defaulting.apply(GroupVersionKind(*identity(recorded)), object_)
    assert object_ == recorded["stored"]


@pytest.mark.parametrize("recorded", _RECORDED, ids=_IDS)
def test_sending_a_stored_object_back_changes_nothing(recorded: Object) -> None:
    old = copy.deepcopy(recorded["stored"])
    if recorded["generation"] is not None:
        old["metadata"]["generation"] = recorded["generation"]
    new = copy.deepcopy(old)
    preparation.update(GroupVersionKind(*identity(recorded)), new, old)
    assert new == old
    preparation.update_status(GroupVersionKind(*identity(recorded)), new, old, now=_NOW)
    assert new == old


def damaged(data: st.DataObject, value: Any) -> Any:
    """The value, with some of its parts gone or replaced by something else."""
    if data.draw(st.integers(0, 11)) == 0:
        return data.draw(st.sampled_from([None, {}, [], "", 0, False, "text", [None], {"a": None}]))
    if isinstance(value, dict):
        return {key: damaged(data, inner) for key, inner in value.items() if data.draw(st.integers(0, 7))}
    return [damaged(data, inner) for inner in value] if isinstance(value, list) else value


@given(st.sampled_from(_RECORDED), st.data())
def test_damaged_objects_do_no_harm_and_are_read_once(recorded: Object, data: st.DataObject) -> None:
    object_ = {key: damaged(data, value) for key, value in recorded["stored"].items()}
    old = {key: damaged(data, value) for key, value in recorded["stored"].items()}
    defaulting.apply(GroupVersionKind(*identity(recorded)), object_)
    once = copy.deepcopy(object_)
    defaulting.apply(GroupVersionKind(*identity(recorded)), object_)
    assert object_ == once
    preparation.update(GroupVersionKind(*identity(recorded)), object_, old)
    preparation.update_status(GroupVersionKind(*identity(recorded)), object_, old, now=_NOW)
    preparation.create(GroupVersionKind(*identity(recorded)), object_, uid=_UID, now=_NOW)

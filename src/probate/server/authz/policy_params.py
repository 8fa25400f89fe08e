"""Policies with parameters: who has a policy look at objects must be able to read them, for what it finds it may tell."""

from __future__ import annotations

from typing import Any

from probate.api.gvk import GroupVersion
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import ALL, Ask
from probate.api.rbac.users import User
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
_POLICIES = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}
"""Of what a binding is."""


async def check(api: Api, user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Forbidden` if the policy, or its binding, would read for its author what they may not `get`."""
    if user.is_master:
        return
    field = "paramRef" if at.resource.plural in _POLICIES else "paramKind"
    wanted, before = ((one or {}).get("spec", {}).get(field) for one in (new, old))
    if not wanted or wanted == before:
        return
    if field == "paramKind":
        ask, why = _ask(api, wanted), 'must have "get" permission on all objects of the referenced paramKind'
    else:
        ask, why = await _ask_bound(api, at, new["spec"]), 'must have "get" permission on the params that the binding refers to'
    if not await api.access.allows(user, ask):
        raise forbidden_message.refusal(user, ask, why=f"user {user.name} {why}")


def _ask(api: Api, kind: Object, namespace: str = "", name: str = ALL) -> Ask:
    version = GroupVersion.parse(str(kind.get("apiVersion") or ""))
    found = api.catalog.find_kind(version.group, version.version, str(kind.get("kind") or ""))
    return Ask("get", version.group, found.plural if found is not None else ALL, "", namespace, name)


async def _ask_bound(api: Api, at: Target, spec: Object) -> Ask:
    """What a binding reads: of any kind, if its policy is not there yet."""
    ref = spec["paramRef"]
    namespace, name = str(ref.get("namespace") or ""), str(ref.get("name") or "") or ALL
    policies = api.catalog.find(GROUP, at.resource.version, _POLICIES[at.resource.plural])
    name_of_policy = str(spec.get("policyName") or "")
    record = (
        await api.store.read(storage_keys.of(policies, "", name_of_policy)) if policies is not None and name_of_policy else None
    )
    kind = None if policies is None or record is None else object_codec.loaded(record, policies)["spec"].get("paramKind")
    return _ask(api, kind, namespace, name) if kind else Ask("get", ALL, ALL, "", namespace, name)

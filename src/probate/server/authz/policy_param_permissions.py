"""Authorizes parameters of admission policies: the author of a policy needs `get` on them, because policies can reveal them."""

from __future__ import annotations

from probate.api.gvk import GroupVersion
from probate.api.objects import Object
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import ALL, ResourceAttributes
from probate.api.rbac.users import User
from probate.server.authz.authorizer import Authorizer
from probate.server.codec import object_codec
from probate.server.kind_rules.contract import ServedKinds
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Store

GROUP = "admissionregistration.k8s.io"
_POLICIES = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}
"""The policy resource of each binding resource."""


class PolicyParamCheck:
    """The check of policies and their bindings."""

    def __init__(self, authorizer: Authorizer, kinds: ServedKinds, store: Store) -> None:
        self._authorizer = authorizer
        self._kinds = kinds
        self._store = store

    async def check(self, user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Forbidden` if the policy or binding would read parameters that its author may not `get`."""
        if user.is_superuser:
            return
        field = "paramRef" if at.resource.plural in _POLICIES else "paramKind"
        param, before = ((object_ or {}).get("spec", {}).get(field) for object_ in (new, old))
        if not param or param == before:
            return
        if field == "paramKind":
            ask, why = self._ask(param), 'must have "get" permission on all objects of the referenced paramKind'
        else:
            ask = await self._ask_for_binding(at, new["spec"])
            why = 'must have "get" permission on the params that the binding refers to'
        if not await self._authorizer.allows(user, ask):
            raise forbidden_message.forbidden_error(user, ask, purpose=f"user {user.name} {why}")

    def _ask(self, kind: Object, namespace: str = "", name: str = ALL) -> ResourceAttributes:
        version = GroupVersion.parse(str(kind.get("apiVersion") or ""))
        resource = self._kinds.catalog.find_kind(version.group, version.version, str(kind.get("kind") or ""))
        return ResourceAttributes("get", version.group, resource.plural if resource is not None else ALL, "", namespace, name)

    async def _ask_for_binding(self, at: Target, spec: Object) -> ResourceAttributes:
        """Returns the right to read a binding's parameters: to read any kind, if its policy does not exist yet."""
        ref = spec["paramRef"]
        namespace, name = str(ref.get("namespace") or ""), str(ref.get("name") or "") or ALL
        policies = self._kinds.catalog.find(GROUP, at.resource.version, _POLICIES[at.resource.plural])
        policy_name = str(spec.get("policyName") or "")
        record = (
            await self._store.read(storage_keys.object_key(policies, "", policy_name))
            if policies is not None and policy_name
            else None
        )
        kind = None if policies is None or record is None else object_codec.loaded(record, policies)["spec"].get("paramKind")
        return self._ask(kind, namespace, name) if kind else ResourceAttributes("get", ALL, ALL, "", namespace, name)

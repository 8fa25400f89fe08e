"""Mutating policies: one after the other they change what is written; and once more, if others have changed what they saw."""

from __future__ import annotations

from typing import Any

from probate.api.apply.schema_shapes import DEDUCED, Shape
from probate.api.field_errors import Problem
from probate.api.policies import compiled_policy, validation
from probate.api.policies import mutation as machinery
from probate.core import errors
from probate.core.errors import Details
from probate.server.admission import phases
from probate.server.admission.attributes import Attributes
from probate.server.admission.chain import Place
from probate.server.admission.policies import cel_variables, policy_params
from probate.server.admission.policies.match_conditions import MEDIUM
from probate.server.admission.policies.policy_bindings import Bound, Policies
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

MEMORY = "mutatingadmissionpolicies"


class MutatingPolicies:
    """May change what is written."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._policies = Policies(api, Place.MUTATING_POLICIES, self, "mutating")

    def wants(self, operation: str, at: Target) -> bool:
        return operation != "DELETE" and bool(self._policies.about(operation, at))

    async def mutate(self, write: Attributes) -> None:
        seen: dict[str, Any] = write.memory.setdefault(MEMORY, {"again": set(), "asked": set(), "left": None})
        if write.is_again and write.object is not seen["left"]:
            seen["again"] |= seen["asked"]
        namespace: Object | None = None
        for bound in await self._policies.meant(write):
            namespace = namespace or await self._policies.namespace(write)
            for given in await self._params(bound, write):
                await self._invoke(bound, write, namespace, given, seen)
        seen["left"] = write.object

    async def _params(self, bound: Bound, write: Attributes) -> list[Object | None]:
        spec = bound.policy.spec
        try:
            return await policy_params.collected(
                self._api, spec.get("paramKind"), bound.binding.spec.get("paramRef"), write.namespace
            )
        except validation.Trouble as trouble:
            _give_up(bound, write, f"failed to configure binding: {trouble}")
            return []

    async def _invoke(
        self, bound: Bound, write: Attributes, namespace: Object | None, given: Object | None, seen: dict[str, Any]
    ) -> None:
        key = (bound.policy.name, bound.binding.name, _identity(given))
        if write.object is None or (write.is_again and key not in seen["again"]):
            return
        try:
            has_changed = await self._api.apart(max(MEDIUM, write.size), lambda: self._change(bound, write, namespace, given))
        except validation.Trouble as trouble:
            _give_up(bound, write, str(trouble))
            return
        if has_changed:
            seen["again"] |= seen["asked"]
            write.wants_again = True
        if bound.policy.spec.get("reinvocationPolicy") == "IfNeeded":
            seen["asked"].add(key)

    def _change(self, bound: Bound, write: Attributes, namespace: Object | None, given: Object | None) -> bool:
        """Whether the policy has changed the object. Begun anew elsewhere if it takes long, so it changes nothing until its end."""
        policy, before = bound.policy.compiled(), write.object
        shown = cel_variables.shown(write, bound.resource)
        about = cel_variables.inputs(self._api, write, shown, namespace, given)
        if policy.conditions and not validation.is_meant(policy.conditions, about):
            return False
        changed = self._mutated(policy, about, shown)
        if changed == shown.object:
            return False
        if shown.resource is not write.at.resource and shown.kind == shown.resource.group_version_kind:
            changed = phases.in_version(changed, shown.resource, write.at.resource)
        _put(write, changed)
        return write.object != before

    def _mutated(self, policy: compiled_policy.Policy, about: validation.Inputs, shown: cel_variables.Shown) -> Object:
        """Each mutation sees what those before it have made."""
        object_, shape = about.object or {}, self._shape(shown)
        for mutation in policy.mutations:
            evaluator = validation.Evaluator(policy.variables, about._replace(object=object_))
            object_ = machinery.mutated(mutation, object_, evaluator, shape)
        return object_

    def _shape(self, shown: cel_variables.Shown) -> Shape:
        if shown.kind != shown.resource.group_version_kind:
            return DEDUCED
        return self._api.kinds.rules(shown.resource).shape()


def _put(write: Attributes, changed: Object) -> None:
    try:
        write.put(changed)
    except (errors.BadRequest, errors.Invalid) as error:
        raise validation.Trouble(f"the object that it makes is not of its kind: {error}") from None


def _identity(given: Object | None) -> tuple[str, str]:
    meta = (given or {}).get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _give_up(bound: Bound, write: Attributes, why: str) -> None:
    """Refuse the write, unless the policy's failures are to be ignored."""
    if bound.policy.spec.get("failurePolicy") == "Ignore":
        return
    told = f"policy '{bound.policy.name}' with binding '{bound.binding.name}' denied request: {why}"
    resource = write.at.resource
    details = Details(write.name, resource.group, resource.plural, causes=(Problem("", "", told),))
    raise errors.Denied(told, details, code=403, reason="Invalid")

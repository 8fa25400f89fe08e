"""Policies with their bindings, and which of them are about a write.

What is configured is compiled when it is first asked, where it is asked: on a thread, if it takes long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.policies import compiled_policy
from probate.server.admission.attributes import Attributes
from probate.server.admission.chain import Place, Plugin
from probate.server.admission.policies.policy_match import Scope, labels_of, scope
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
EXEMPT = frozenset(f"{sort}admission{what}" for sort in ("validating", "mutating") for what in ("policies", "policybindings"))


class Held(NamedTuple):
    """A policy as it is configured."""

    name: str
    spec: Object
    scope: Scope
    compiled: Callable[[], compiled_policy.Policy]


class Binding(NamedTuple):
    """A binding as it is configured."""

    name: str
    spec: Object
    scope: Scope


class Bound(NamedTuple):
    """A policy under one of its bindings, and the version in which it wants to see the write."""

    policy: Held
    binding: Binding
    resource: Resource


class Policies:
    """Those of one sort. `plugin` has its say while there are any."""

    def __init__(self, api: Api, place: Place, plugin: Plugin, sort: str) -> None:
        self._api = api
        self._place = place
        self._plugin = plugin
        self._policies: dict[str, Held] = {}
        self._bindings: dict[str, list[Binding]] = {}  # by the policies that they name, in the order of their own names
        self._catalog: Catalog | None = None
        self._known: dict[tuple[str, str, str, str, str], list[Bound]] = {}
        api.configured.tell(GROUP, "v1", f"{sort}admissionpolicies", self._told_policies)
        api.configured.tell(GROUP, "v1", f"{sort}admissionpolicybindings", self._told_bindings)

    def _told_policies(self, objects: dict[str, Object]) -> None:
        before, self._policies = self._policies, {}
        for one in objects.values():
            name = str(one["metadata"]["name"])
            known = before.get(name)
            is_same = known is not None and known.spec == one.get("spec")
            self._policies[name] = known if known is not None and is_same else _held(name, one)
        self._arrange()

    def _told_bindings(self, objects: dict[str, Object]) -> None:
        self._bindings = {}
        for one in sorted(map(_binding, objects.values()), key=lambda one: one.name):
            self._bindings.setdefault(str(one.spec.get("policyName") or ""), []).append(one)
        self._arrange()

    def _arrange(self) -> None:
        self._catalog = None
        if self._bindings.keys() & self._policies.keys():
            self._api.admission.wake(self._place, self._plugin)
        else:
            self._api.admission.rest(self._place)

    def about(self, operation: str, at: Target) -> list[Bound]:
        """Those whose rules are about such a write, remembered for as long as kinds and configurations are the same."""
        if self._catalog is not self._api.catalog:
            self._catalog, self._known = self._api.catalog, {}
        one = at.resource
        key = (operation, one.group, one.version, one.plural, at.subresource)
        found = self._known.get(key)
        if found is None:
            is_exempt = one.group == GROUP and one.plural in EXEMPT
            found = self._known[key] = [] if is_exempt else self._find(operation, at)
        return found

    def _find(self, operation: str, at: Target) -> list[Bound]:
        found: list[Bound] = []
        catalog = self._api.catalog
        for _, policy in sorted(self._policies.items()):
            resource = policy.scope.resource_for(operation, at, catalog)
            bindings = self._bindings.get(policy.name, ()) if resource is not None else ()
            meant = (one for one in bindings if one.scope.resource_for(operation, at, catalog) is not None)
            found += [Bound(policy, one, resource) for one in meant if resource is not None]
        return found

    async def meant(self, write: Attributes) -> list[Bound]:
        """Those that are about this very write: its name and labels are as they want them."""
        about = self.about(write.operation, write.at)
        if not about:
            return []
        namespace = await self._labels(write) if any(_looks_at_namespaces(one) for one in about) else {}
        return [
            one for one in about if all(self._is_meant(part, write, namespace) for part in (one.policy.scope, one.binding.scope))
        ]

    def _is_meant(self, part: Scope, write: Attributes, namespace: dict[str, str]) -> bool:
        is_named = part.names(write.operation, write.at, self._api.catalog, write.name)
        return is_named and part.selects(write, namespace)

    async def _labels(self, write: Attributes) -> dict[str, str]:
        if write.at.resource.group_resource == storage_keys.NAMESPACES:
            return labels_of(write.object or write.old or {})
        found = await self._api.store.read(storage_keys.of_namespace(write.namespace)) if write.namespace else None
        return (object_codec.meta(found.value).labels or {}) if found is not None else {}

    async def namespace(self, write: Attributes) -> Object | None:
        """The namespace of the object, as expressions see it; None if it is in none."""
        resource = self._api.catalog.find("", "v1", "namespaces")
        if not write.at.resource.is_namespaced or not write.namespace or resource is None:
            return None
        found = await self._api.store.read(storage_keys.of_namespace(write.namespace))
        return None if found is None else object_codec.served(found, resource)


def _held(name: str, object_: Object) -> Held:
    spec = object_.get("spec") or {}
    return Held(name, spec, scope(spec.get("matchConstraints")), functools.cache(lambda: compiled_policy.compiled(object_)))


def _binding(object_: Object) -> Binding:
    spec = object_.get("spec") or {}
    return Binding(str(object_["metadata"]["name"]), spec, scope(spec.get("matchResources")))


def _looks_at_namespaces(bound: Bound) -> bool:
    return not (bound.policy.scope.namespaces.is_everything and bound.binding.scope.namespaces.is_everything)

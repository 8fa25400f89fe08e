"""Indexes policies and their bindings, and finds those that match a write.

A policy is compiled when it first runs, and where it runs: on a thread, if it takes long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.policies import compiled_policy
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.policies.policy_match import MatchResources, compile_match, labels_of
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Store

GROUP = "admissionregistration.k8s.io"
_EXEMPT_KINDS = ("policies", "policybindings")
EXEMPT = frozenset(f"{policy_type}admission{kind}" for policy_type in ("validating", "mutating") for kind in _EXEMPT_KINDS)


class ConfiguredPolicy(NamedTuple):
    """A policy as configured."""

    name: str
    spec: Object
    scope: MatchResources
    compiled: Callable[[], compiled_policy.CompiledPolicy]


class ConfiguredBinding(NamedTuple):
    """A binding as configured."""

    name: str
    spec: Object
    scope: MatchResources


class BoundPolicy(NamedTuple):
    """A policy with one of its bindings, and the version in which the policy sees the write."""

    policy: ConfiguredPolicy
    binding: ConfiguredBinding
    resource: Resource


class PolicyIndex:
    """The policies of one type, `validating` or `mutating`, and their bindings."""

    def __init__(self, policy_type: str, store: Store, kinds: KindRegistry) -> None:
        self._policy_type = policy_type
        self._store = store
        self._kinds = kinds
        self._on_change: Callable[[], None] = lambda: None
        self._policies: dict[str, ConfiguredPolicy] = {}
        self._bindings: dict[str, list[ConfiguredBinding]] = {}  # by policy name, in the order of their own names
        self._catalog: Catalog | None = None
        self._cached: dict[tuple[str, str, str, str, str], list[BoundPolicy]] = {}

    def subscribe_to(self, configuration: PluginConfiguration, on_change: Callable[[], None]) -> None:
        """Follows the policies and their bindings. `on_change` is called after each change."""
        self._on_change = on_change
        configuration.subscribe(GroupResource(GROUP, f"{self._policy_type}admissionpolicies"), self._set_policies)
        configuration.subscribe(GroupResource(GROUP, f"{self._policy_type}admissionpolicybindings"), self._set_bindings)

    def _set_policies(self, objects: dict[str, Object]) -> None:
        before, self._policies = self._policies, {}
        for policy_object in objects.values():
            name = str(policy_object["metadata"]["name"])
            cached = before.get(name)
            is_same = cached is not None and cached.spec == policy_object.get("spec")
            self._policies[name] = cached if cached is not None and is_same else _configured_policy(name, policy_object)
        self._update()

    def _set_bindings(self, objects: dict[str, Object]) -> None:
        self._bindings = {}
        for binding in sorted(map(_configured_binding, objects.values()), key=lambda binding: binding.name):
            self._bindings.setdefault(str(binding.spec.get("policyName") or ""), []).append(binding)
        self._update()

    def _update(self) -> None:
        self._catalog = None
        self._on_change()

    @property
    def has_bound_policy(self) -> bool:
        """Whether any policy has a binding."""
        return bool(self._bindings.keys() & self._policies.keys())

    def candidates(self, operation: str, at: Target) -> list[BoundPolicy]:
        """Returns the policies whose rules match the write.

        Fast path: cached until the served resources or the configuration change.
        """
        if self._catalog is not self._kinds.catalog:
            self._catalog, self._cached = self._kinds.catalog, {}
        resource = at.resource
        key = (operation, resource.group, resource.version, resource.plural, at.subresource)
        bound = self._cached.get(key)
        if bound is None:
            is_exempt = resource.group == GROUP and resource.plural in EXEMPT
            bound = self._cached[key] = [] if is_exempt else self._find(operation, at)
        return bound

    def _find(self, operation: str, at: Target) -> list[BoundPolicy]:
        bound: list[BoundPolicy] = []
        catalog = self._kinds.catalog
        for _, policy in sorted(self._policies.items()):
            resource = policy.scope.resource_for(operation, at, catalog)
            bindings = self._bindings.get(policy.name, ()) if resource is not None else ()
            matching = (binding for binding in bindings if binding.scope.resource_for(operation, at, catalog) is not None)
            bound += [BoundPolicy(policy, binding, resource) for binding in matching if resource is not None]
        return bound

    async def matching(self, write: Attributes) -> list[BoundPolicy]:
        """Returns the policies that match this write by name and labels too."""
        candidates = self.candidates(write.operation, write.at)
        if not candidates:
            return []
        namespace = await self._namespace_labels(write) if any(_has_namespace_selector(bound) for bound in candidates) else {}
        return [
            item
            for item in candidates
            if self._matches(item.policy.scope, write, namespace) and self._matches(item.binding.scope, write, namespace)
        ]

    def _matches(self, match: MatchResources, write: Attributes, namespace: dict[str, str]) -> bool:
        is_named = match.matches_name(write, self._kinds.catalog)
        return is_named and match.matches_labels(write, namespace)

    async def _namespace_labels(self, write: Attributes) -> dict[str, str]:
        if write.at.resource.group_resource == storage_keys.NAMESPACES:
            return labels_of(write.object or write.old or {})
        record = await self._store.read(storage_keys.namespace_key(write.namespace)) if write.namespace else None
        return (object_codec.meta(record.value).labels or {}) if record is not None else {}

    async def namespace(self, write: Attributes) -> Object | None:
        """Returns the namespace of the write as expressions see it, or None if the object is cluster-scoped."""
        resource = self._kinds.catalog.find("", "v1", "namespaces")
        if not write.at.resource.is_namespaced or not write.namespace or resource is None:
            return None
        record = await self._store.read(storage_keys.namespace_key(write.namespace))
        return None if record is None else object_codec.served(record, resource)


def _configured_policy(name: str, object_: Object) -> ConfiguredPolicy:
    spec = object_.get("spec") or {}
    compiled = functools.cache(lambda: compiled_policy.compile_policy(object_))
    return ConfiguredPolicy(name, spec, compile_match(spec.get("matchConstraints")), compiled)


def _configured_binding(object_: Object) -> ConfiguredBinding:
    spec = object_.get("spec") or {}
    return ConfiguredBinding(str(object_["metadata"]["name"]), spec, compile_match(spec.get("matchResources")))


def _has_namespace_selector(bound: BoundPolicy) -> bool:
    return not (bound.policy.scope.namespaces.is_everything and bound.binding.scope.namespaces.is_everything)

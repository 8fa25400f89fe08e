"""Type-checks the expressions of ValidatingAdmissionPolicies against the kinds that they match.

Admission compiles expressions for objects of any kind. This controller compiles each once more for each kind that the policy's
rules name, and writes type errors to `status.typeChecking`. The policy is in force all the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

from probate.api.catalog import Catalog, Resource
from probate.api.cel.schema_types import Declarations
from probate.api.crds import resources
from probate.api.objects import Object
from probate.api.policies.expression_check import type_warnings
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import Client, GroupVersionResource
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.core import work_limits
from probate.kinds.builtin import catalog
from probate.lib.cel.types import Type

TITLE = "validatingadmissionpolicy-status-controller"
POLICIES = GroupVersionResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
MAX_KINDS = 10
"""Kinds that one policy is checked for, as in Kubernetes."""
MAX_EFFORT = 20_000
"""Steps of checking one policy, which runs on the event loop. A policy that takes more is not checked."""


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [PolicyStatus(context).workers]


class PolicyStatus:
    """Writes the status of each policy once for each generation."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._policies = context.informers.for_resource(POLICIES)
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._policies.add_event_handler(self._on_change)

    def _on_change(self, _: Object | None, new: Object | None) -> None:
        if new is not None and not _is_checked(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: NamespacedName) -> None:
        policy = self._policies.get(name)
        if policy is None or _is_checked(policy):
            return
        kinds = await self._kinds(policy)
        try:
            with work_limits.WorkLimit(MAX_EFFORT):
                warnings = type_warnings(policy, kinds)
        except work_limits.TooMuchWork:
            warnings = []
        type_checking = {"expressionWarnings": warnings or None}  # None removes earlier warnings
        status = {"observedGeneration": policy["metadata"].get("generation", 0), "typeChecking": type_checking}
        await self._policies.patch(name, {"status": status}, "status")

    async def _kinds(self, policy: Object) -> dict[str, Type]:
        kinds: dict[str, Type] = {}
        for group, version, plural in itertools.islice(_resources(policy), MAX_KINDS):
            resource = _builtin().find(group, version, plural) or await _custom(self._client, group, version, plural=plural)
            declared = Declarations(is_lenient=True).of(resource.load_schema(), is_root=True) if resource is not None else None
            if resource is not None and declared is not None:
                kinds[f"{resource.group_version}, Kind={resource.kind}"] = declared
        return kinds


def _is_checked(policy: Object) -> bool:
    return bool((policy.get("status") or {}).get("observedGeneration") == policy["metadata"].get("generation"))


def _resources(policy: Object) -> Iterator[tuple[str, str, str]]:
    """Yields the resources that the rules name, without those that a `*` matches."""
    constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
    found: dict[tuple[str, str, str], None] = {}
    for rule in constraints.get("resourceRules") or ():
        parts = [rule.get(field) or () for field in ("apiGroups", "apiVersions", "resources")]
        found |= dict.fromkeys(one for one in itertools.product(*parts) if not any("*" in part or "/" in part for part in one))
    return iter(found)


@cache
def _builtin() -> Catalog:
    return catalog.load()


async def _custom(client: Client, group: str, version: str, *, plural: str) -> Resource | None:
    crd = await client.get(CRDS, "", f"{plural}.{group}") if group else None
    versions = resources.served_resources(crd) if crd is not None else []
    return next((resource for resource in versions if resource.version == version), None)

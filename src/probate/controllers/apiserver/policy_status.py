"""The status of validating policies: whether their expressions fit the types of the kinds that they are about.

Expressions of policies are compiled for objects of any kind. Here each is compiled once more for each kind that the policy's rules
name, and what does not fit is told in `status.typeChecking`: the policy is in force all the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

from probate.api.catalog import Catalog, Resource
from probate.api.cel.schema_types import Declarations
from probate.api.crds import resources
from probate.api.policies.expression_check import type_warnings
from probate.client.informers import Name, name_of
from probate.client.objects import Client, Kind, Object
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.core import work_limits
from probate.kinds.builtin import catalog
from probate.lib.cel.types import Type

TITLE = "validatingadmissionpolicy-status-controller"
POLICIES = Kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions")
MAX_KINDS = 10
"""For which one policy is checked, as in Kubernetes."""
MAX_EFFORT = 20_000
"""Steps of checking one policy: it is done on the loop. What takes more is not checked."""


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informer where to look."""
    return [PolicyChecks(means).workers]


class PolicyChecks:
    """Writes the status of each policy once for each generation."""

    def __init__(self, means: Means) -> None:
        self._client = means.client
        self._policies = means.informers.of(POLICIES)
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._policies.listen(self._take)

    def _take(self, _: Object | None, new: Object | None) -> None:
        if new is not None and not _is_checked(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: Name) -> None:
        policy = self._policies.get(name)
        if policy is None or _is_checked(policy):
            return
        kinds = await self._kinds(policy)
        try:
            with work_limits.limited(MAX_EFFORT):
                warnings = type_warnings(policy, kinds)
        except work_limits.TooMuch:
            warnings = []
        checked = {"expressionWarnings": warnings or None}  # those of before go
        status = {"observedGeneration": policy["metadata"].get("generation", 0), "typeChecking": checked}
        await self._policies.patch(name, {"status": status}, "status")

    async def _kinds(self, policy: Object) -> dict[str, Type]:
        found: dict[str, Type] = {}
        for group, version, plural in itertools.islice(_named(policy), MAX_KINDS):
            resource = _builtin().find(group, version, plural) or await _custom(self._client, group, version, plural)
            declared = Declarations(is_lenient=True).of(resource.load_schema(), is_root=True) if resource is not None else None
            if resource is not None and declared is not None:
                found[f"{resource.group_version}, Kind={resource.kind}"] = declared
        return found


def _is_checked(policy: Object) -> bool:
    return bool((policy.get("status") or {}).get("observedGeneration") == policy["metadata"].get("generation"))


def _named(policy: Object) -> Iterator[tuple[str, str, str]]:
    """The resources that the rules name: not those they mean by a `*`."""
    constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
    seen: dict[tuple[str, str, str], None] = {}
    for rule in constraints.get("resourceRules") or ():
        parts = [rule.get(field) or () for field in ("apiGroups", "apiVersions", "resources")]
        seen |= dict.fromkeys(one for one in itertools.product(*parts) if not any("*" in part or "/" in part for part in one))
    return iter(seen)


@cache
def _builtin() -> Catalog:
    return catalog.load()


async def _custom(client: Client, group: str, version: str, plural: str) -> Resource | None:
    definition = await client.get(DEFINITIONS, "", f"{plural}.{group}") if group else None
    found = resources.resources(definition) if definition is not None else []
    return next((one for one in found if one.version == version), None)

"""A number of equal pods, kept: what ReplicaSets and ReplicationControllers do alike.

Each look compares what is wanted with the pods there are, and makes or deletes the difference. Pods that have ended, or are on
their way out, do not count. While the owner itself is being deleted nothing is made or deleted any more: its pods are the
collector's, and only the status follows what happens to them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate.api.selectors.label_selectors import LabelSelector
from probate.api.timestamps import timestamp
from probate.client.informers import Name, controller_of
from probate.client.objects import Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import deletion_order, owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.owner_kinds import PODS, OwnerKind, namespace_of
from probate.controllers.workloads.owner_lookup import Routing
from probate.controllers.workloads.owner_selectors import SelectorOf
from probate.core import errors

FAILURE = "ReplicaFailure"


class Flavour(NamedTuple):
    """In what the two kinds differ."""

    kind: OwnerKind
    selector_of: SelectorOf
    component: str
    """Who events say they are from."""
    counts_terminating: bool


class Trouble(NamedTuple):
    """Why the number of pods could not be made what it should be."""

    reason: str
    failures: list[errors.ApiError]


class Replicas:
    """The controller of one of the kinds."""

    def __init__(self, flavour: Flavour, means: Means) -> None:
        self._flavour = flavour
        self._kind = flavour.kind
        self._clock = means.clock
        self._tell = flavour.kind.voice(means.events, flavour.component)
        self._pods = means.informers.of(PODS)
        self._owners = means.informers.of(flavour.kind.resource)
        self._claims = Claims(flavour.kind, means.client, self._pods)
        self.workers = Workers(flavour.component, self._sync, means.clock)
        Routing(flavour.kind, self._owners, flavour.selector_of, self.workers.add).listen(self._pods)

    async def _sync(self, name: Name) -> float | None:
        owner = self._owners.get(name)
        if owner is None:
            return None
        selector = self._flavour.selector_of(owner)
        is_match = functools.partial(owner_selectors.matches, selector)
        candidates = [pod for pod in self._claims.candidates(owner) if pod_template.is_active(pod)]
        ours = await self._claims.claim(owner, candidates, is_match)
        trouble = None if is_deleting(owner) else await self._manage(owner, ours)
        again = await self._describe(owner, selector, trouble)
        if trouble is not None:
            raise ExceptionGroup(f"the number of pods of {name} is not what it should be", trouble.failures)
        is_more_to_do = not is_deleting(owner) and abs(len(ours) - owner["spec"]["replicas"]) > slow_start.MOST
        return 0.0 if is_more_to_do else again

    async def _manage(self, owner: Object, ours: list[Object]) -> Trouble | None:
        """Make or delete what makes the difference."""
        surplus = len(ours) - owner["spec"]["replicas"]
        if surplus < 0:
            return await self._make(owner, min(-surplus, slow_start.MOST))
        if surplus > 0:
            doomed = deletion_order.in_order(ours, self._related(owner), self._clock.now())[: min(surplus, slow_start.MOST)]
            failures = await together(doomed, functools.partial(self._delete, owner))
            return Trouble("FailedDelete", failures) if failures else None
        return None

    async def _make(self, owner: Object, number: int) -> Trouble | None:
        pod = pod_template.from_template(owner["spec"]["template"], owner, self._kind)
        done = await slow_start.slowly([pod] * number, functools.partial(self._create, owner))
        # Nothing can be made in a namespace that is being deleted, not even an event, and that is no failure. (RS-5)
        failures = [one for one in done.failures if not has_cause(one, "NamespaceTerminating")]
        return Trouble("FailedCreate", failures) if failures else None

    async def _create(self, owner: Object, pod: Object) -> None:
        try:
            made = await self._pods.create(namespace_of(owner), pod)
        except errors.ApiError as error:
            self._tell(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self._tell(owner, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    async def _delete(self, owner: Object, pod: Object) -> None:
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._tell(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self._tell(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _related(self, owner: Object) -> list[Object]:
        """The pods of all that share the owner's own controller: other versions of the same application."""
        above = controller_of(owner)
        peers = self._owners.controlled_by(above["uid"]) if above is not None else [owner]
        return [pod for peer in peers for pod in self._pods.controlled_by(peer["metadata"]["uid"])]

    async def _describe(self, owner: Object, selector: LabelSelector, trouble: Trouble | None) -> float | None:
        """Write down how things stand. Returns when that will be different without anything happening."""
        ours = [pod for pod in self._pods.controlled_by(owner["metadata"]["uid"]) if owner_selectors.matches(selector, pod)]
        status = status_of(owner, ours, trouble, self._clock.now(), self._flavour)
        if status != owner.get("status"):
            await self._owners.update({**owner, "status": status}, "status")
        return next_availability(owner, ours, self._clock.now())


def status_of(owner: Object, ours: list[Object], trouble: Trouble | None, now: float, flavour: Flavour) -> Object:
    """The status of an owner that has these pods."""
    spec, before = owner["spec"], owner.get("status") or {}
    active = [pod for pod in ours if pod_template.is_active(pod)]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    min_ready = spec.get("minReadySeconds") or 0
    counts = {
        "fullyLabeledReplicas": sum((pod["metadata"].get("labels") or {}).items() >= labels.items() for pod in active),
        "readyReplicas": sum(pod_template.is_ready(pod) for pod in active),
        "availableReplicas": sum(pod_template.available_in(pod, min_ready, now) == 0 for pod in active),
    }
    status = {"replicas": len(active), **{name: count for name, count in counts.items() if count}}
    if flavour.counts_terminating:
        status["terminatingReplicas"] = sum(pod_template.is_terminating(pod) for pod in ours)
    told = _conditions(before.get("conditions") or [], trouble, now)
    return {**status, "observedGeneration": owner["metadata"]["generation"], **({"conditions": told} if told else {})}


def next_availability(owner: Object, ours: list[Object], now: float) -> float | None:
    """In how many seconds the next pod that is ready counts as available."""
    min_ready = owner["spec"].get("minReadySeconds") or 0
    waits = [pod_template.available_in(pod, min_ready, now) for pod in ours if pod_template.is_active(pod)]
    return min((wait for wait in waits if wait), default=None)


def _conditions(before: list[Object], trouble: Trouble | None, now: float) -> list[Object]:
    if trouble is None:
        return conditions.without(before, FAILURE)
    return conditions.put(before, conditions.made(FAILURE, "True", trouble.reason, str(trouble.failures[0])), timestamp(now))

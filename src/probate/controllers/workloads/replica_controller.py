"""The reconciler of ReplicaSets and ReplicationControllers: it keeps a number of equal pods.

Each sync compares the desired number with the existing pods, and creates or deletes the difference. Pods that are finished or being
deleted do not count. While the owner itself is being deleted, the controller creates and deletes nothing: the garbage collector
deletes the pods, and only the status is updated.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.selectors.label_selectors import LabelSelector
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName, controller_of
from probate.client.objects import is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import deletion_order, owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.owner_kinds import PODS, OwnerKind, namespace_of
from probate.controllers.workloads.owner_lookup import OwnerEnqueuer
from probate.controllers.workloads.owner_selectors import SelectorOf
from probate.core import errors

REPLICA_FAILURE = "ReplicaFailure"


class ReplicaKind(NamedTuple):
    """How the two kinds differ."""

    kind: OwnerKind
    selector_of: SelectorOf
    component: str
    """The component that events name as their source."""
    counts_terminating: bool


class ReplicaFailure(NamedTuple):
    """Why pods could not be created or deleted: the content of the ReplicaFailure condition."""

    reason: str
    failures: list[errors.ApiError]


class ReplicaSetController:
    """The controller of one of the two kinds."""

    def __init__(self, replica_kind: ReplicaKind, context: Context) -> None:
        self._replica_kind = replica_kind
        self._kind = replica_kind.kind
        self._clock = context.clock
        self._record_event = replica_kind.kind.event_recorder(context.events, replica_kind.component)
        self._pods = context.informers.for_resource(PODS)
        self._owners = context.informers.for_resource(replica_kind.kind.resource)
        self._ref_manager = ControllerRefManager(replica_kind.kind, context.client, self._pods)
        self.workers = Workers(replica_kind.component, self._sync, context.clock)
        OwnerEnqueuer(replica_kind.kind, self._owners, replica_kind.selector_of, enqueue=self.workers.add).listen(self._pods)

    async def _sync(self, name: NamespacedName) -> float | None:
        owner = self._owners.get(name)
        if owner is None:
            return None
        selector = self._replica_kind.selector_of(owner)
        is_match = functools.partial(owner_selectors.matches, selector)
        candidates = [pod for pod in self._ref_manager.candidates(owner) if pod_template.is_active(pod)]
        claimed = await self._ref_manager.claim(owner, candidates, is_match)
        failure = None if is_deleting(owner) else await self._manage(owner, claimed)
        requeue_after = await self._update_status(owner, selector, failure)
        if failure is not None:
            raise ExceptionGroup(f"pods of {name} could not be created or deleted", failure.failures)
        is_burst_limited = not is_deleting(owner) and abs(len(claimed) - owner["spec"]["replicas"]) > slow_start.BURST_REPLICAS
        return 0.0 if is_burst_limited else requeue_after

    async def _manage(self, owner: Object, claimed: list[Object]) -> ReplicaFailure | None:
        """Creates or deletes the difference between the desired and the existing pods."""
        surplus = len(claimed) - owner["spec"]["replicas"]
        if surplus < 0:
            return await self._create_pods(owner, min(-surplus, slow_start.BURST_REPLICAS))
        if surplus > 0:
            to_delete = deletion_order.sort_for_deletion(claimed, self._related(owner), self._clock.now())[
                : min(surplus, slow_start.BURST_REPLICAS)
            ]
            failures = await for_each(to_delete, functools.partial(self._delete, owner))
            return ReplicaFailure("FailedDelete", failures) if failures else None
        return None

    async def _create_pods(self, owner: Object, number: int) -> ReplicaFailure | None:
        pod = pod_template.pod_from_template(owner["spec"]["template"], owner, self._kind)
        result = await slow_start.slow_start_batch([pod] * number, functools.partial(self._create, owner))
        # A terminating namespace accepts no new objects, not even events; that is not an error. (RS-5)
        failures = [error for error in result.failures if not is_terminating(error)]
        return ReplicaFailure("FailedCreate", failures) if failures else None

    async def _create(self, owner: Object, pod: Object) -> None:
        try:
            created = await self._pods.create(namespace_of(owner), pod)
        except errors.ApiError as error:
            self._record_event(owner, "Warning", "FailedCreate", message=f"Error creating: {error}")
            raise
        self._record_event(owner, "Normal", "SuccessfulCreate", message=f"Created pod: {created['metadata']['name']}")

    async def _delete(self, owner: Object, pod: Object) -> None:
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._record_event(owner, "Warning", "FailedDelete", message=f"Error deleting: {error}")
            raise
        self._record_event(owner, "Normal", "SuccessfulDelete", message=f"Deleted pod: {pod['metadata']['name']}")

    def _related(self, owner: Object) -> list[Object]:
        """Returns the pods of all ReplicaSets that share this owner's controller: the other versions of the application."""
        controller = controller_of(owner)
        peers = self._owners.controlled_by(controller["uid"]) if controller is not None else [owner]
        return [pod for peer in peers for pod in self._pods.controlled_by(peer["metadata"]["uid"])]

    async def _update_status(self, owner: Object, selector: LabelSelector, failure: ReplicaFailure | None) -> float | None:
        """Updates the status. Returns in how many seconds it changes by time alone."""
        pods = [pod for pod in self._pods.controlled_by(owner["metadata"]["uid"]) if owner_selectors.matches(selector, pod)]
        status = status_of(owner, pods, failure, now=self._clock.now(), replica_kind=self._replica_kind)
        if status != owner.get("status"):
            await self._owners.update({**owner, "status": status}, "status")
        return next_availability(owner, pods, self._clock.now())


def status_of(
    owner: Object, pods: list[Object], failure: ReplicaFailure | None, *, now: float, replica_kind: ReplicaKind
) -> Object:
    """Returns the status of an owner that has these pods."""
    spec, before = owner["spec"], owner.get("status") or {}
    active = [pod for pod in pods if pod_template.is_active(pod)]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    min_ready = spec.get("minReadySeconds") or 0
    counts = {
        "fullyLabeledReplicas": sum((pod["metadata"].get("labels") or {}).items() >= labels.items() for pod in active),
        "readyReplicas": sum(pod_template.is_ready(pod) for pod in active),
        "availableReplicas": sum(pod_template.seconds_until_available(pod, min_ready, now) == 0 for pod in active),
    }
    status = {"replicas": len(active), **{name: count for name, count in counts.items() if count}}
    if replica_kind.counts_terminating:
        status["terminatingReplicas"] = sum(pod_template.is_terminating(pod) for pod in pods)
    status_conditions = _conditions(before.get("conditions") or [], failure, now)
    return {
        **status,
        "observedGeneration": owner["metadata"]["generation"],
        **({"conditions": status_conditions} if status_conditions else {}),
    }


def next_availability(owner: Object, pods: list[Object], now: float) -> float | None:
    """Returns in how many seconds the next ready pod becomes available."""
    min_ready = owner["spec"].get("minReadySeconds") or 0
    waits = [pod_template.seconds_until_available(pod, min_ready, now) for pod in pods if pod_template.is_active(pod)]
    return min((wait for wait in waits if wait), default=None)


def _conditions(before: list[Object], failure: ReplicaFailure | None, now: float) -> list[Object]:
    if failure is None:
        return conditions.without(before, REPLICA_FAILURE)
    return conditions.replace(
        before,
        conditions.new_condition(REPLICA_FAILURE, "True", reason=failure.reason, message=str(failure.failures[0])),
        format_time(now),
    )

"""The scheduler: binds every pending pod to a node as soon as one fits.

It works in rounds. A round takes the due pods, highest priority first, selects a node for each from the node cache, and then sends
all bindings concurrently. A pod that fits nowhere gets a PodScheduled=False condition, and is due again after a change that could
help it. Among equal pods, the first one that fits nowhere decides for all others of the round, because nodes only fill up during a
round. If preemption helps, pods of a lower priority are evicted and the pod is nominated for their node.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from probate.api import tenants
from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.client.resources import NAMESPACES, NODES, PODS, is_deleting, is_pod_finished, node_name_of
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.scheduler import pod_affinity, volume_constraints
from probate.controllers.scheduler.decide import ScheduleResult, select_node
from probate.controllers.scheduler.node_cache import NodeCache, priority_of
from probate.controllers.scheduler.preemption_victims import Nomination, Preemptor
from probate.controllers.scheduler.unschedulable import UnschedulableReporter, nominated_node
from probate.controllers.scheduler.volume_constraints import PodVolumes, VolumeConstraints
from probate.core import errors
from probate.core.logs import facts

COMPONENT = "default-scheduler"
BINDINGS = GroupVersionResource("", "v1", "bindings")
ROUND_KEY = NamespacedName("", "round")
MAX_PODS_PER_ROUND = 500
"""The maximum number of pods of a round."""

log = logging.getLogger(__name__)


class Assignment(NamedTuple):
    """A pod, and the node selected for it."""

    pod: Object
    node: str


class UnschedulablePod(NamedTuple):
    """A pod that fits nowhere, why, and the result of preemption."""

    pod: Object
    message: str
    nomination: Nomination


def start(context: Context) -> list[Workers]:
    """Returns the scheduler's only worker queue. Informer events enqueue a round."""
    return [Scheduler(context).workers]


class Scheduler:
    """Binds pods to nodes."""

    def __init__(self, context: Context) -> None:
        self._client, self._clock = context.client, context.clock
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Pod")
        self._pods = context.informers.for_resource(PODS)
        self._namespaces = context.informers.for_resource(NAMESPACES)
        self._volumes = VolumeConstraints(context)
        self._cache = NodeCache()
        self._reporter = UnschedulableReporter(context, self._record_event)
        self._preemptor = Preemptor(context, self._cache, self._namespace_labels, record_event=self._record_event)
        self._due: dict[NamespacedName, None] = {}
        self._unschedulable: dict[NamespacedName, None] = {}  # pods for which the last attempt found no node
        self._constrained: dict[NamespacedName, None] = {}  # the subset with constraints on other pods
        self.workers = Workers(COMPONENT, self._run_round, context.clock, at_once=1)
        self._pods.add_event_handler(self._on_pod_change)
        context.informers.for_resource(NODES).add_event_handler(self._on_node_change)
        self._volumes.listen(self._wake)

    def _on_pod_change(self, old: Object | None, new: Object | None) -> None:
        self._cache.update_pod(old, new)
        pod = new or old
        if pod is None:
            return
        if new is None or not _is_schedulable(new):
            self._due.pop(name_of(pod), None)
            self._unmark_unschedulable(name_of(pod))
            if self._cache.remove_nomination(pod):
                self._wake()
        elif old is None or not _is_schedulable(old) or _scheduling_fields(old) != _scheduling_fields(new):
            self._unmark_unschedulable(name_of(new))
            self._due[name_of(new)] = None
            self.workers.add(ROUND_KEY)
        if new is not None and _is_schedulable(new) and nominated_node(new):
            self._cache.nominate(new, nominated_node(new))
        if _uses_resources(old) != _uses_resources(new):
            self._wake_affected(is_release=not _uses_resources(new))

    def _on_node_change(self, old: Object | None, new: Object | None) -> None:
        node = new or old
        if node is None:
            return
        self._cache.update_node(node["metadata"]["name"], new)
        if new is not None and (old is None or _node_fields(old) != _node_fields(new)):
            self._wake()

    def _wake(self) -> None:
        """Makes all unschedulable pods due again: a change could help any of them."""
        self._due |= self._unschedulable
        self._unschedulable.clear()
        self._constrained.clear()
        if self._due:
            self.workers.add(ROUND_KEY)

    def _wake_affected(self, *, is_release: bool) -> None:
        """Handles a pod that takes or releases resources. Released resources may help any pod; otherwise only pods with
        constraints on other pods become due.
        """
        if is_release:
            self._wake()
            return
        for name in list(self._constrained):
            self._unmark_unschedulable(name)
            self._due[name] = None
            self.workers.add(ROUND_KEY)

    def _mark_unschedulable(self, pod: Object) -> None:
        self._unschedulable[name_of(pod)] = None
        if pod_affinity.has_pod_constraints(pod):
            self._constrained[name_of(pod)] = None

    def _unmark_unschedulable(self, name: NamespacedName) -> None:
        self._unschedulable.pop(name, None)
        self._constrained.pop(name, None)

    async def _run_round(self, _: NamespacedName) -> float | None:
        pods = [pod for name in self._due if (pod := self._pods.get(name)) is not None and not self._cache.is_assumed(pod)]
        self._due.clear()
        pods = _in_order(pods)
        self._due.update(dict.fromkeys(name_of(pod) for pod in pods[MAX_PODS_PER_ROUND:]))
        assigned, unschedulable, waiting_for_claims = self._decide(pods[:MAX_PODS_PER_ROUND])
        failures = [
            *await for_each(waiting_for_claims, self._bind_claims),
            *await for_each(assigned, self._bind),
            *await for_each(unschedulable, self._report_unschedulable),
        ]
        if failures:
            raise ExceptionGroup("pods could not be bound", failures)
        return 0.0 if assigned or self._due else None

    def _decide(self, pods: list[Object]) -> tuple[list[Assignment], list[UnschedulablePod], list[Assignment]]:
        """Returns the assignments, the unschedulable pods, and the assignments whose claims have to be bound first."""
        assigned, unschedulable, waiting_for_claims = [], [], []
        results_by_key: dict[bytes, ScheduleResult] = {}
        hopeless_keys: set[bytes] = set()  # keys of pods that preemption cannot help
        for pod in pods:
            key = _equivalence_key(pod)
            volumes = self._volumes.of(pod)
            result = (None if nominated_node(pod) else results_by_key.get(key)) or self._select_node(pod, volumes)
            if not result.node:
                self._mark_unschedulable(pod)
                unschedulable.append(
                    UnschedulablePod(pod, result.message, self._nominate(pod, key, volumes, hopeless_keys=hopeless_keys))
                )
                if not pod_affinity.has_pod_constraints(pod):
                    results_by_key[key] = result
            elif volumes.unbound_claims:
                self._mark_unschedulable(pod)
                waiting_for_claims.append(Assignment(pod, result.node))
            else:
                self._cache.assume(pod, result.node)
                assigned.append(Assignment(pod, result.node))
        return assigned, unschedulable, waiting_for_claims

    def _select_node(self, pod: Object, volumes: volume_constraints.PodVolumes) -> ScheduleResult:
        if volumes.rejection:
            return ScheduleResult(message=volumes.rejection)
        return select_node(pod, self._cache, self._namespace_labels, volume_rejection=volumes.rejection_by)

    def _nominate(self, pod: Object, key: bytes, volumes: PodVolumes, *, hopeless_keys: set[bytes]) -> Nomination:
        """Returns the result of preemption for the pod."""
        if volumes.rejection or (key in hopeless_keys and not nominated_node(pod)):
            return Nomination()
        nomination = self._preemptor.nominate(pod, volumes.rejection_by)
        if nomination.node == "":
            hopeless_keys.add(key)
        return nomination

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        namespace_object = self._namespaces.get(NamespacedName("", namespace)) or {"metadata": {}}
        labels: Mapping[str, str] = namespace_object["metadata"].get("labels") or {}
        return labels

    async def _bind(self, assignment: Assignment) -> None:
        pod, node = assignment
        meta = {name: pod["metadata"][name] for name in ("name", "namespace", "uid")}
        try:
            await self._client.create(
                BINDINGS, meta["namespace"], {"metadata": meta, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
            )
        except (errors.Conflict, errors.NotFound) as error:  # the pod changed; if it is still pending, its next event makes it due
            log.info("scheduler could not bind pod", extra=facts(pod=str(name_of(pod)), error=str(error)))
            if self._cache.is_assumed(pod):
                self._cache.remove_pod(pod)
        except errors.ApiError:
            self._cache.remove_pod(pod)
            self._due[name_of(pod)] = None
            raise
        else:
            self._record_event(
                pod, "Normal", "Scheduled", message=f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
            )

    async def _bind_claims(self, assignment: Assignment) -> None:
        """Requests binding of the pod's claims."""
        claims = self._volumes.of(assignment.pod).unbound_claims
        for claim in claims:
            await volume_constraints.set_selected_node(self._volumes.claims, claim, assignment.node)

    async def _report_unschedulable(self, unschedulable: UnschedulablePod) -> None:
        """Reports why the pod is unschedulable, and evicts the victims if preemption helps."""
        pod, message, nomination = unschedulable
        await self._reporter.report(pod, message, nomination.node)
        if nomination.victims:
            try:
                await self._preemptor.evict_victims(pod, nomination)
            except errors.ApiError:
                self._due[name_of(pod)] = None
                raise


def _in_order(pods: list[Object]) -> list[Object]:
    """Returns the pods by priority. Those of tenants take turns: tenants choose their priorities, and none may delay the others."""
    turns: Counter[str] = Counter()
    ordered: list[tuple[int, Object]] = []
    for pod in sorted(pods, key=lambda pod: -priority_of(pod)):
        tenant = tenants.tenant_of(pod)
        ordered.append((turns[tenant] if tenant else 0, pod))
        turns[tenant] += 1
    return [pod for _, pod in sorted(ordered, key=lambda one: one[0])]


def _is_schedulable(pod: Object) -> bool:
    """Returns whether the pod waits for a node from this scheduler."""
    spec = pod["spec"]
    is_open = not node_name_of(pod) and not spec.get("schedulingGates") and not is_deleting(pod) and not is_pod_finished(pod)
    return is_open and (spec.get("schedulerName") or COMPONENT) == COMPONENT


def _scheduling_fields(pod: Object) -> tuple[Object, Object]:
    return pod["spec"], pod["metadata"].get("labels") or {}


def _uses_resources(pod: Object | None) -> bool:
    return pod is not None and bool(node_name_of(pod)) and not is_pod_finished(pod)


def _node_fields(node: Object) -> tuple[object, ...]:
    """Returns what decides which pods fit on the node."""
    status = node.get("status") or {}
    return node["metadata"].get("labels"), node["spec"], status.get("allocatable") or status.get("capacity")


def _equivalence_key(pod: Object) -> bytes:
    """Returns a key that is equal for pods that fit on the same nodes."""
    meta = pod["metadata"]
    return orjson.dumps([meta["namespace"], meta.get("labels") or {}, pod["spec"]], option=orjson.OPT_SORT_KEYS)

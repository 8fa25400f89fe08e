"""The DaemonSet controller: each sync examines every node, takes the next steps of an update, and writes the status.

A DaemonSet that is being deleted is not synced: the garbage collector deletes its pods. (DS-1)
"""

from __future__ import annotations

import functools

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource, is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import controller_revisions, owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.controller_revisions import RevisionHistory, UpdateRevision
from probate.controllers.workloads.daemonsets import daemonset_status, decide, placement
from probate.controllers.workloads.daemonsets.decide import NodePods, UpdateLimits
from probate.controllers.workloads.daemonsets.failed_pod_backoff import FailedPodBackoff
from probate.controllers.workloads.daemonsets.placement import REVISION_LABEL
from probate.controllers.workloads.owner_kinds import DAEMON_SET, PODS, namespace_of
from probate.controllers.workloads.owner_lookup import OwnerEnqueuer
from probate.core import errors

COMPONENT = "daemonset-controller"
NODES = GroupVersionResource("", "v1", "nodes")


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [DaemonSetController(context).workers]


class DaemonSetController:
    """Reconciles DaemonSets with their pods."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = DAEMON_SET.event_recorder(context.events, COMPONENT)
        self._pods = context.informers.for_resource(PODS)
        self._daemon_sets = context.informers.for_resource(DAEMON_SET.resource)
        self._nodes = context.informers.for_resource(NODES)
        self._ref_manager = ControllerRefManager(DAEMON_SET, context.client, self._pods)
        self._revisions = RevisionHistory(DAEMON_SET, context)
        self._backoff = FailedPodBackoff()
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        enqueuer = OwnerEnqueuer(DAEMON_SET, self._daemon_sets, owner_selectors.label_selector, enqueue=self.workers.add)
        enqueuer.listen(self._pods)
        enqueuer.listen_to_revisions(self._revisions.revisions)  # (DS-3)
        self._daemon_sets.add_event_handler(self._on_deletion)
        self._nodes.add_event_handler(self._on_node_change)

    def _on_deletion(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is None:
            self._backoff.forget(old["metadata"]["uid"])

    def _on_node_change(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the DaemonSets whose placement on the node changed. Changes of the node's health enqueue none."""
        for daemon_set in self._daemon_sets:
            before = placement.node_placement(daemon_set, old) if old is not None else None
            if before != (placement.node_placement(daemon_set, new) if new is not None else None):
                self.workers.add(name_of(daemon_set))

    async def _sync(self, name: NamespacedName) -> float | None:
        daemon_set = self._daemon_sets.get(name)
        if daemon_set is None or is_deleting(daemon_set):
            return None
        selector = owner_selectors.label_selector(daemon_set)
        if selector.is_everything:  # (DS-5)
            self._record_event(
                daemon_set,
                "Warning",
                "SelectingAll",
                message="This daemon set is selecting all pods. A non-empty selector is required.",
            )
            return None
        is_match = functools.partial(owner_selectors.matches, selector)
        revisions = await self._revisions.claim(daemon_set, selector, release_unmatched=True)  # (DS-2)
        claimed = await self._ref_manager.claim(daemon_set, self._ref_manager.candidates(daemon_set), is_match)
        update = await self._revisions.ensure_revision(daemon_set, revisions, label=REVISION_LABEL)
        await self._deduplicate_revisions(revisions, claimed, update.revision)
        update_hash = controller_revisions.hash_of(update.revision)
        waits, failures = await self._manage_pods(daemon_set, self._node_pods(daemon_set), update_hash)
        await self._delete_old_revisions(daemon_set, update.revision)
        requeue_after = await self._update_status(daemon_set, update)
        if failures:
            raise ExceptionGroup(f"pods of {name} could not be created or deleted", failures)
        return min((seconds for seconds in (*waits, requeue_after) if seconds is not None), default=None)

    def _node_pods(self, daemon_set: Object) -> list[NodePods]:
        pods = self._pods.controlled_by(daemon_set["metadata"]["uid"])
        return decide.node_pods(daemon_set, self._nodes, pods)

    async def _deduplicate_revisions(self, revisions: list[Object], pods: list[Object], desired: Object) -> None:
        """Deduplicates revisions with equal data: one stays, and the pods of the others get its label. (DS-3)"""
        for duplicate in revisions:
            if duplicate["metadata"]["uid"] == desired["metadata"]["uid"] or duplicate.get("data") != desired["data"]:
                continue
            for pod in (pod for pod in pods if decide.is_updated(pod, controller_revisions.hash_of(duplicate))):
                await self._pods.patch(
                    name_of(pod), {"metadata": {"labels": {REVISION_LABEL: controller_revisions.hash_of(desired)}}}
                )
            await self._revisions.delete([duplicate])

    async def _manage_pods(
        self, daemon_set: Object, nodes: list[NodePods], update_hash: str
    ) -> tuple[list[float], list[errors.ApiError]]:
        """Creates and deletes pods towards the desired state. Returns in how many seconds there is more to do, and the errors."""
        limits = decide.update_limits(daemon_set, sum(node.placement.should_run for node in nodes))
        is_available = functools.partial(self._is_available, daemon_set)
        existing_nodes = {node["metadata"]["name"] for node in self._nodes}
        changes = decide.plan_placement(nodes, existing_nodes, limits, update_hash=update_hash, is_available=is_available)
        finished, waits = self._finished_due(daemon_set, changes.finished)
        failures = await self._apply(daemon_set, update_hash, changes.creates, deletes=[*changes.deletes, *finished])
        if failures or limits == UpdateLimits(0, 0):
            return waits, failures
        update_changes = decide.plan_update(self._node_pods(daemon_set), limits, update_hash, is_available=is_available)
        return waits, await self._apply(daemon_set, update_hash, update_changes.creates, deletes=update_changes.deletes)

    def _finished_due(self, daemon_set: Object, finished: list[Object]) -> tuple[list[Object], list[float]]:
        """Returns the finished pods that may be replaced now, and in how many seconds the others may be."""
        due, waits, now, uid = list[Object](), list[float](), self._clock.now(), daemon_set["metadata"]["uid"]
        for pod in finished:
            node, name = placement.target_node(pod), pod["metadata"]["name"]
            wait = self._backoff.remaining(uid, node, now)
            if wait:
                waits.append(wait)
                continue
            self._backoff.record_replacement(uid, node, now)
            due.append(pod)
            if pod_template.phase(pod) == "Failed":
                message = f"Found failed daemon pod {namespace_of(pod)}/{name} on node {node}, will try to kill it"
                self._record_event(daemon_set, "Warning", "FailedDaemonPod", message=message)
            else:
                message = f"Found succeeded daemon pod {namespace_of(pod)}/{name} on node {node}, will try to delete it"
                self._record_event(daemon_set, "Normal", "SucceededDaemonPod", message=message)
        return due, waits

    async def _apply(
        self, daemon_set: Object, update_hash: str, creates: list[str], *, deletes: list[Object]
    ) -> list[errors.ApiError]:
        result = await slow_start.slow_start_batch(creates, functools.partial(self._create_pod, daemon_set, update_hash))
        failures = await for_each(deletes, functools.partial(self._delete, daemon_set))
        return [error for error in [*result.failures, *failures] if not is_terminating(error)]

    async def _create_pod(self, daemon_set: Object, update_hash: str, node: str) -> None:
        try:
            created = await self._pods.create(namespace_of(daemon_set), placement.new_pod(daemon_set, update_hash, node))
        except errors.ApiError as error:
            self._record_event(daemon_set, "Warning", "FailedCreate", message=f"Error creating: {error}")
            raise
        self._record_event(daemon_set, "Normal", "SuccessfulCreate", message=f"Created pod: {created['metadata']['name']}")

    async def _delete(self, daemon_set: Object, pod: Object) -> None:
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._record_event(daemon_set, "Warning", "FailedDelete", message=f"Error deleting: {error}")
            raise
        self._record_event(daemon_set, "Normal", "SuccessfulDelete", message=f"Deleted pod: {pod['metadata']['name']}")

    async def _delete_old_revisions(self, daemon_set: Object, desired: Object) -> None:
        """Deletes the oldest revisions beyond the limit. Revisions that a pod still uses stay, and no other is deleted in their
        place. (DS-4)
        """
        uid, limit = daemon_set["metadata"]["uid"], daemon_set["spec"].get("revisionHistoryLimit")
        used = {(pod["metadata"].get("labels") or {}).get(REVISION_LABEL) for pod in self._pods.controlled_by(uid)}
        old = [
            revision
            for revision in self._revisions.revisions.controlled_by(uid)
            if revision["metadata"]["uid"] != desired["metadata"]["uid"]
        ]
        unused = [
            revision
            for revision in controller_revisions.sort_revisions(old)
            if controller_revisions.hash_of(revision) not in used and not is_deleting(revision)
        ]
        await self._revisions.delete(unused[: max(0, len(old) - (10 if limit is None else limit))])

    async def _update_status(self, daemon_set: Object, update: UpdateRevision) -> float | None:
        """Updates the status. Returns in how many seconds it changes by time alone."""
        is_available, update_hash = functools.partial(self._is_available, daemon_set), controller_revisions.hash_of(update.revision)
        nodes, min_ready = self._node_pods(daemon_set), daemon_set["spec"].get("minReadySeconds") or 0
        new = daemonset_status.status_of(daemon_set, nodes, update_hash, collisions=update.collisions, is_available=is_available)
        if new != daemon_set.get("status"):
            await self._daemon_sets.update({**daemon_set, "status": new}, "status")
        waits = [pod_template.seconds_until_available(pod, min_ready, self._clock.now()) for node in nodes for pod in node.active]
        return min((wait for wait in waits if wait), default=None)

    def _is_available(self, daemon_set: Object, pod: Object) -> bool:
        return pod_template.seconds_until_available(pod, daemon_set["spec"].get("minReadySeconds") or 0, self._clock.now()) == 0

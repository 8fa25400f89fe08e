"""The Deployment controller: it replaces the pods of one template version by those of the next, either in a rolling update or after
all old pods have ended (Recreate).

Each sync claims the ReplicaSets, decides their sizes by `replica_counts`, applies them, and writes the status. A ReplicaSet that is
being deleted is not changed, because its own controller would not act on the change. Its pods still count. If it has the desired
template, its replacement is created only after it is gone. A ReplicaSet without a controller that has the desired template and is
in foreground deletion is adopted, so that the Deployment waits for it too.
"""

from __future__ import annotations

import functools
from typing import Any

from probate.api.objects import Object
from probate.client.informers import NamespacedName, controller_of, name_of
from probate.client.objects import is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors, pod_template
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.deployments import progress, replica_counts, replica_sets, revision_history, revisions
from probate.controllers.workloads.deployments.replica_counts import Sizes
from probate.controllers.workloads.deployments.replica_sets import ReplicaSets, desired_replicas
from probate.controllers.workloads.owner_kinds import DEPLOYMENT, PODS, REPLICA_SET, namespace_of
from probate.controllers.workloads.owner_lookup import OwnerEnqueuer
from probate.core import errors

COMPONENT = "deployment-controller"


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [DeploymentController(context).workers]


class DeploymentUpdate:
    """The status and annotations that this sync writes."""

    def __init__(self, deployment: Object) -> None:
        self.deployment = deployment
        before = deployment.get("status") or {}
        self.conditions = list(before.get("conditions") or [])
        self.collisions: int | None = before.get("collisionCount")
        self.annotations: dict[str, str] = dict(revisions.annotations_of(deployment))

    def to_object(self, status: Object) -> Object:
        """Returns the Deployment with this status and these annotations."""
        meta = {**self.deployment["metadata"], **({"annotations": self.annotations} if self.annotations else {})}
        return {**self.deployment, "metadata": meta, "status": status}


class DeploymentController:
    """Reconciles Deployments with their ReplicaSets."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = DEPLOYMENT.event_recorder(context.events, COMPONENT)
        self._client = context.client
        self._pods = context.informers.for_resource(PODS)
        self._replica_sets = context.informers.for_resource(REPLICA_SET.resource)
        self._deployments = context.informers.for_resource(DEPLOYMENT.resource)
        self._ref_manager = ControllerRefManager(DEPLOYMENT, context.client, self._replica_sets)
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        OwnerEnqueuer(DEPLOYMENT, self._deployments, owner_selectors.label_selector, enqueue=self.workers.add).listen(
            self._replica_sets
        )

    async def _sync(self, name: NamespacedName) -> float | None:
        deployment = self._deployments.get(name)
        if deployment is None:
            return None
        selector = owner_selectors.label_selector(deployment)
        if selector.is_everything:
            self._record_event(
                deployment,
                "Warning",
                "SelectingAll",
                message="This deployment is selecting all pods. A non-empty selector is required.",
            )
            return None
        is_match = functools.partial(owner_selectors.matches, selector)
        adopts_deleting = functools.partial(replica_sets.should_adopt_deleting, deployment)
        candidates = self._ref_manager.candidates(deployment)
        claimed = await self._ref_manager.claim(deployment, candidates, is_match, adopts_deleting=adopts_deleting)
        return await self._roll(DeploymentUpdate(deployment), replica_sets.classify(deployment, claimed))

    async def _roll(self, update: DeploymentUpdate, owned: ReplicaSets) -> float | None:
        deployment, now = update.deployment, self._clock.now()
        if is_deleting(deployment):
            return await self._update_status(update, owned)
        update.conditions = progress.with_pause(deployment, update.conditions, now)
        owned = await self._sync_revision(update, owned)
        if deployment["spec"].get("paused"):
            owned = await self._scale(update, owned, replica_counts.scaled_sizes(deployment, owned))
            await self._delete_old_replica_sets(update, owned)
            return await self._update_status(update, owned)
        if replica_counts.is_scaling_event(deployment, owned):
            owned = await self._scale(update, owned, replica_counts.scaled_sizes(deployment, owned))
            return await self._update_status(update, owned)
        owned = await (self._rolling_update if replica_counts.is_rolling_update(deployment) else self._recreate)(update, owned)
        return await self._update_status(update, owned, is_rollout=True)

    async def _rolling_update(self, update: DeploymentUpdate, owned: ReplicaSets) -> ReplicaSets:
        """Advances a rolling update by one step: scales up first, then down."""
        owned = await self._ensure_new_replica_set(update, owned)
        if owned.new is None or owned.is_new_deleting:
            return owned
        limits = replica_counts.rollout_limits(update.deployment)
        new_size = replica_counts.new_replica_set_size(owned, limits, desired_replicas(owned.new), is_rolling_update=True)
        if new_size != desired_replicas(owned.new):
            return await self._scale(update, owned, {owned.new["metadata"]["name"]: new_size})
        return await self._scale(update, owned, replica_counts.old_replica_set_sizes(owned, limits))

    async def _recreate(self, update: DeploymentUpdate, owned: ReplicaSets) -> ReplicaSets:
        """Advances a Recreate update: all old pods end before the first new one is created."""
        owned = await self._scale(update, owned, replica_counts.zero_old_sizes(owned))
        if self._is_old_running(owned):
            return owned
        owned = await self._ensure_new_replica_set(update, owned)
        if owned.new is None or owned.is_new_deleting:
            return owned
        return await self._scale(update, owned, {owned.new["metadata"]["name"]: update.deployment["spec"]["replicas"]})

    def _is_old_running(self, owned: ReplicaSets) -> bool:
        if replica_sets.total(owned.old, "replicas"):
            return True
        old = [pod for replica_set in owned.old for pod in self._pods.controlled_by(replica_set["metadata"]["uid"])]
        return not all(pod_template.is_finished(pod) for pod in old)

    async def _sync_revision(self, update: DeploymentUpdate, owned: ReplicaSets) -> ReplicaSets:
        """Sets the revision annotations of the new ReplicaSet, if it exists, and of the Deployment."""
        deployment, new = update.deployment, owned.new
        if new is None or owned.is_new_deleting:
            return owned
        annotations = revisions.new_replica_set_annotations(deployment, new, revisions.next_revision(owned.old))
        min_ready = deployment["spec"].get("minReadySeconds") or 0
        if annotations != revisions.annotations_of(new) or min_ready != (new["spec"].get("minReadySeconds") or 0):
            new = await self._update_replica_set(new, annotations, minReadySeconds=min_ready)
        update.annotations[revisions.REVISION] = annotations[revisions.REVISION]
        if progress.progress_deadline(deployment) is not None and not any(
            condition["type"] == progress.PROGRESSING for condition in update.conditions
        ):
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            update.conditions = progress.with_progressing(
                update.conditions, "True", reason="FoundNewReplicaSet", message=message, now=self._clock.now()
            )
        return owned.replace(new)

    async def _ensure_new_replica_set(self, update: DeploymentUpdate, owned: ReplicaSets) -> ReplicaSets:
        """Creates the new ReplicaSet if it does not exist."""
        if owned.new is not None:
            return owned
        deployment = update.deployment
        new, limits = replica_sets.new_replica_set(deployment), replica_counts.rollout_limits(deployment)
        initial_size = replica_counts.new_replica_set_size(
            owned, limits, 0, is_rolling_update=replica_counts.is_rolling_update(deployment)
        )
        annotations = revisions.new_replica_set_annotations(deployment, new, revisions.next_revision(owned.old))
        new["metadata"] |= {
            "annotations": {**annotations, **revisions.size_annotations(limits.replicas, limits.max_pods)},
            "ownerReferences": [DEPLOYMENT.reference(deployment)],
        }
        new["spec"]["replicas"] = initial_size
        try:
            created = await self._replica_sets.create(namespace_of(deployment), new)
        except errors.AlreadyExists:
            return owned._replace(new=await self._existing_replica_set(update, new))
        except errors.ApiError as error:
            if not is_terminating(error):
                await self._report_create_failure(update, owned, error)
            raise
        if initial_size:
            self._record_scaling(deployment, created, 0)
        update.annotations[revisions.REVISION] = annotations[revisions.REVISION]
        if progress.progress_deadline(deployment) is not None:
            message = f'Created new replica set "{created["metadata"]["name"]}"'
            update.conditions = progress.with_progressing(
                update.conditions, "True", reason="NewReplicaSetCreated", message=message, now=self._clock.now()
            )
        return owned._replace(new=created)

    async def _existing_replica_set(self, update: DeploymentUpdate, desired: Object) -> Object | None:
        """Handles an existing ReplicaSet of that name: returns it if it is the desired one, or counts a collision so that the
        next attempt uses another name.
        """
        deployment, name = update.deployment, desired["metadata"]["name"]
        existing = await self._client.get(REPLICA_SET.resource, namespace_of(deployment), name)
        if existing is not None:
            controller = controller_of(existing) or {}
            if controller.get("uid") == deployment["metadata"]["uid"] and replica_sets.is_same_template(existing, deployment):
                return existing
            update.collisions = (update.collisions or 0) + 1
        self.workers.add(name_of(deployment))
        return None

    async def _scale(self, update: DeploymentUpdate, owned: ReplicaSets, sizes: Sizes) -> ReplicaSets:
        """Scales the ReplicaSets, and records the desired size and the limit in their annotations."""
        limits = replica_counts.rollout_limits(update.deployment)
        size_annotations = revisions.size_annotations(limits.replicas, limits.max_pods)
        for replica_set in owned.not_deleting:
            before, after = desired_replicas(replica_set), sizes.get(replica_set["metadata"]["name"], desired_replicas(replica_set))
            annotations = revisions.annotations_of(replica_set)
            if after == before and (not before or size_annotations.items() <= annotations.items()):
                continue
            updated = await self._update_replica_set(replica_set, {**annotations, **size_annotations}, replicas=after)
            if after != before:
                self._record_scaling(update.deployment, updated, before)
            owned = owned.replace(updated)
        return owned

    async def _update_replica_set(self, replica_set: Object, annotations: dict[str, str], **spec: Any) -> Object:
        meta = {**replica_set["metadata"], "annotations": annotations}
        return await self._replica_sets.update({**replica_set, "metadata": meta, "spec": {**replica_set["spec"], **spec}})

    async def _delete_old_replica_sets(self, update: DeploymentUpdate, owned: ReplicaSets) -> None:
        for replica_set in revision_history.replica_sets_to_delete(update.deployment, owned):
            await self._replica_sets.delete(replica_set)

    async def _update_status(self, update: DeploymentUpdate, owned: ReplicaSets, *, is_rollout: bool = False) -> float | None:
        """Updates the status. Returns in how many seconds it changes by time alone."""
        deployment, now = update.deployment, self._clock.now()
        status = progress.status_of(deployment, owned, update.conditions, now=now, collisions=update.collisions)
        if is_rollout:
            if progress.is_complete(deployment, status):
                await self._delete_old_replica_sets(update, owned)
            status = progress.with_progress(deployment, owned, status, now=now)
        if status != deployment.get("status") or update.annotations != revisions.annotations_of(deployment):
            await self._deployments.update(update.to_object(status), "status")
        return progress.seconds_until_deadline(deployment, status, now) if is_rollout else None

    async def _report_create_failure(self, update: DeploymentUpdate, owned: ReplicaSets, error: errors.ApiError) -> None:
        self._record_event(update.deployment, "Warning", "FailedCreate", message=f"Failed to create new replica set: {error}")
        if progress.progress_deadline(update.deployment) is not None:
            update.conditions = progress.with_progressing(
                update.conditions, "False", reason="ReplicaSetCreateError", message=str(error), now=self._clock.now()
            )
        await self._update_status(update, owned)

    def _record_scaling(self, deployment: Object, replica_set: Object, before: int) -> None:
        direction = "up" if desired_replicas(replica_set) > before else "down"
        message = (
            f"Scaled {direction} replica set {replica_set['metadata']['name']} from {before} to {desired_replicas(replica_set)}"
        )
        self._record_event(deployment, "Normal", "ScalingReplicaSet", message=message)

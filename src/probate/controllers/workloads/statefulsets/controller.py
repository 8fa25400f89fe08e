"""The StatefulSet controller: each sync takes the next steps, and writes the status.

For a StatefulSet that is being deleted it takes no steps: the garbage collector deletes the pods and claims. (SS-3, STS-9)
"""

from __future__ import annotations

import functools

from probate.api.objects import Object
from probate.api.selectors.label_selectors import LabelSelector
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import controller_revisions, owner_selectors, slow_start
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.controller_revisions import RevisionHistory
from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET, namespace_of
from probate.controllers.workloads.owner_lookup import OwnerEnqueuer
from probate.controllers.workloads.statefulsets import decide, ordinals, statefulset_status, volume_claims
from probate.controllers.workloads.statefulsets.ordinals import ordinal
from probate.controllers.workloads.statefulsets.statefulset_status import Revisions
from probate.core import errors

COMPONENT = "statefulset-controller"


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [StatefulSetController(context).workers]


class StatefulSetController:
    """Reconciles StatefulSets with their pods and persistent volume claims."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = STATEFUL_SET.event_recorder(context.events, COMPONENT)
        self._pods = context.informers.for_resource(PODS)
        self._stateful_sets = context.informers.for_resource(STATEFUL_SET.resource)
        self._claims = context.informers.for_resource(volume_claims.CLAIMS)
        self._ref_manager = ControllerRefManager(STATEFUL_SET, context.client, self._pods)
        self._revisions = RevisionHistory(STATEFUL_SET, context)
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        enqueuer = OwnerEnqueuer(STATEFUL_SET, self._stateful_sets, owner_selectors.label_selector, enqueue=self.workers.add)
        enqueuer.listen(self._pods, self._revisions.revisions)
        self._claims.add_event_handler(self._on_claim_change)

    def _on_claim_change(self, old: Object | None, new: Object | None) -> None:
        claim = new or old
        if claim is None or (old is not None and new is not None and not is_deleting(new)):
            return
        for stateful_set in self._stateful_sets.in_namespace(namespace_of(claim)):
            if volume_claims.may_be_claim_of(claim["metadata"]["name"], stateful_set):
                self.workers.add(name_of(stateful_set))

    async def _sync(self, name: NamespacedName) -> float | None:
        stateful_set = self._stateful_sets.get(name)
        if stateful_set is None:
            return None
        selector = owner_selectors.label_selector(stateful_set)
        history = await self._revisions.claim(stateful_set, selector, release_unmatched=False)  # (SS-2)
        is_match = functools.partial(_is_member, stateful_set, selector)
        pods = await self._ref_manager.claim(stateful_set, self._ref_manager.candidates(stateful_set), is_match)
        if is_deleting(stateful_set):
            return await self._update_status(stateful_set, pods, _recorded_revisions(stateful_set))
        update = await self._revisions.ensure_revision(stateful_set, history)
        update_revision = update.revision
        by_name = {revision["metadata"]["name"]: revision for revision in [*history, update_revision]}
        current_revision = by_name.get((stateful_set.get("status") or {}).get("currentRevision", ""), update_revision)
        failures = await self._manage_pods(stateful_set, pods, current_revision, update_revision=update_revision)
        revisions = Revisions(_name(current_revision), _name(update_revision), update.collisions)
        pods = [pod for pod in self._pods.controlled_by(stateful_set["metadata"]["uid"]) if is_match(pod)]
        requeue_after = await self._update_status(stateful_set, pods, revisions)
        await self._delete_old_revisions(stateful_set, list(by_name.values()), pods, revisions=revisions)
        if failures:
            raise ExceptionGroup(f"pods of {name} could not be created or deleted", failures)
        return requeue_after

    async def _manage_pods(
        self, stateful_set: Object, pods: list[Object], current_revision: Object, *, update_revision: Object
    ) -> list[errors.ApiError]:
        """Creates and deletes pods towards the desired state. Returns the errors."""
        changes = decide.plan_changes(decide.classify_pods(stateful_set, pods), _name(update_revision), self._clock.now())
        failures = await for_each(changes.updates, functools.partial(self._maintain_pod, stateful_set))
        if failures:
            return failures
        revisions = [
            current_revision if decide.uses_current_revision(stateful_set, index) else update_revision for index in changes.creates
        ]
        result = await slow_start.slow_start_batch(
            [*zip(changes.creates, revisions, strict=True)], functools.partial(self._create_pod, stateful_set)
        )
        failures = await for_each(changes.deletes, functools.partial(self._delete, stateful_set))
        return [error for error in [*result.failures, *failures] if not is_terminating(error)]

    async def _create_pod(self, stateful_set: Object, assignment: tuple[int, Object]) -> None:
        index, revision = assignment
        pod = ordinals.new_pod(stateful_set, controller_revisions.template_of(revision), _name(revision), index=index)
        name = _name(pod)
        claims = [claim for claim in map(self._claims.get, volume_claims.claim_names(stateful_set, index)) if claim is not None]
        if volume_claims.retention_policy(stateful_set).deletes_with_pod and any(
            volume_claims.is_owned_by_former_pod(claim, name) for claim in claims
        ):
            return  # the garbage collector deletes the claim first; its deletion enqueues the StatefulSet (STS-8)
        try:
            for claim in (claim for claim in claims if is_deleting(claim)):
                raise errors.Conflict(f"the claim {_name(claim)} is being deleted")
            await self._ensure_claims(stateful_set, index)
            created = await self._pods.create(namespace_of(stateful_set), pod)
        except errors.ApiError as error:
            self._record_event(
                stateful_set,
                "Warning",
                "FailedCreate",
                message=f"create Pod {name} in StatefulSet {_name(stateful_set)} failed error: {error}",
            )
            raise
        self._record_event(
            stateful_set, "Normal", "SuccessfulCreate", message=f"create Pod {name} in StatefulSet {_name(stateful_set)} successful"
        )
        await self._update_claim_owners(stateful_set, created)

    async def _ensure_claims(self, stateful_set: Object, index: int) -> None:
        """Creates the missing claims."""
        for claim in volume_claims.new_claims(stateful_set, index):
            name = claim["metadata"]["name"]
            if self._claims.get(NamespacedName(namespace_of(stateful_set), name)) is None:
                await self._claims.create(namespace_of(stateful_set), claim)
                message = f"create Claim {name} Pod {_name(stateful_set)}-{index} in StatefulSet {_name(stateful_set)} success"
                self._record_event(stateful_set, "Normal", "SuccessfulCreate", message=message)

    async def _maintain_pod(self, stateful_set: Object, pod: Object) -> None:
        """Updates a pod's labels, claims and claim owners. (STS-7)"""
        index = ordinal(pod, stateful_set)
        if index is None or (is_deleting(pod) and index in ordinals.desired_ordinals(stateful_set)):
            return
        labels = ordinals.identity_labels(pod["metadata"]["name"], index)
        if not labels.items() <= (pod["metadata"].get("labels") or {}).items():
            await self._pods.patch(name_of(pod), {"metadata": {"uid": pod["metadata"]["uid"], "labels": labels}})
        if pod["status"].get("phase") == "Pending" and index in ordinals.desired_ordinals(stateful_set):
            await self._ensure_claims(stateful_set, index)
        await self._update_claim_owners(stateful_set, pod)

    async def _update_claim_owners(self, stateful_set: Object, pod: Object) -> None:
        index = ordinal(pod, stateful_set) or 0
        for claim in filter(None, map(self._claims.get, volume_claims.claim_names(stateful_set, index))):
            ownership = volume_claims.desired_ownership(
                claim, stateful_set, pod, is_desired=index in ordinals.desired_ordinals(stateful_set)
            )
            if ownership.is_contested:
                message = (
                    f"claim {_name(claim)} has another controller: it is deleted neither with the StatefulSet nor with its pod"
                )
                self._record_event(stateful_set, "Warning", "ConflictingController", message=message)
            if ownership.references is not None:
                await self._claims.update({**claim, "metadata": {**claim["metadata"], "ownerReferences": ownership.references}})

    async def _delete(self, stateful_set: Object, pod: Object) -> None:
        name = pod["metadata"]["name"]
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._record_event(
                stateful_set,
                "Warning",
                "FailedDelete",
                message=f"delete Pod {name} in StatefulSet {_name(stateful_set)} failed error: {error}",
            )
            raise
        self._record_event(
            stateful_set, "Normal", "SuccessfulDelete", message=f"delete Pod {name} in StatefulSet {_name(stateful_set)} successful"
        )

    async def _update_status(self, stateful_set: Object, pods: list[Object], revisions: Revisions) -> float | None:
        """Updates the status. Returns in how many seconds it changes by time alone."""
        status = statefulset_status.status_of(stateful_set, pods, revisions, now=self._clock.now())
        if status != stateful_set.get("status"):
            await self._stateful_sets.update({**stateful_set, "status": status}, "status")
        return statefulset_status.next_availability(stateful_set, pods, self._clock.now())

    async def _delete_old_revisions(
        self, stateful_set: Object, history: list[Object], pods: list[Object], *, revisions: Revisions
    ) -> None:
        """Deletes the oldest unused revisions beyond the limit. (SS-4)"""
        limit = stateful_set["spec"].get("revisionHistoryLimit")
        limit = 10 if limit is None else limit
        if limit < 0:
            return
        used = {revisions.current, revisions.update, *map(ordinals.pod_revision, pods)}
        unused = [revision for revision in controller_revisions.sort_revisions(history) if revision["metadata"]["name"] not in used]
        await self._revisions.delete(unused[: max(0, len(unused) - limit)])


def _is_member(stateful_set: Object, selector: LabelSelector, pod: Object) -> bool:
    return ordinal(pod, stateful_set) is not None and owner_selectors.matches(selector, pod)


def _recorded_revisions(stateful_set: Object) -> Revisions:
    status = stateful_set.get("status") or {}
    return Revisions(status.get("currentRevision", ""), status.get("updateRevision", ""), status.get("collisionCount"))


def _name(object_: Object) -> str:
    name: str = object_["metadata"]["name"]
    return name

"""Deployments: pods of one version, replaced by those of the next while the application goes on, or after it has stopped.

Each look finds the ReplicaSets there are, decides by `rollout` what they are to be, changes that, and writes down how things stand.
A ReplicaSet that is being deleted is waited for: its pods count, but it is not touched, and if it is the one that is wanted,
another one comes only after it. (Its controller does nothing for it any more, so a change would change nothing.) One that has no
owner, has the wanted template and is deleted in the foreground is adopted, so that it is waited for too.
"""

from __future__ import annotations

import functools
from typing import Any

from probate.client.informers import Name, controller_of, name_of
from probate.client.objects import Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors, pod_template
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.deployments import progress, replica_sets, revision_history, revisions, scaling
from probate.controllers.workloads.deployments.replica_sets import Family, size
from probate.controllers.workloads.deployments.scaling import Sizes
from probate.controllers.workloads.owner_kinds import DEPLOYMENT, PODS, REPLICA_SET, namespace_of
from probate.controllers.workloads.owner_lookup import Routing
from probate.core import errors

COMPONENT = "deployment-controller"


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Deployments(means).workers]


class Draft:
    """What the deployment says of itself after this look."""

    def __init__(self, deployment: Object) -> None:
        self.deployment = deployment
        before = deployment.get("status") or {}
        self.conditions = list(before.get("conditions") or [])
        self.collisions: int | None = before.get("collisionCount")
        self.annotations: dict[str, str] = dict(revisions.of(deployment))

    def written(self, status: Object) -> Object:
        """The deployment as it is to be written."""
        meta = {**self.deployment["metadata"], **({"annotations": self.annotations} if self.annotations else {})}
        return {**self.deployment, "metadata": meta, "status": status}


class Deployments:
    """The controller of Deployments."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = DEPLOYMENT.voice(means.events, COMPONENT)
        self._client = means.client
        self._pods = means.informers.of(PODS)
        self._replica_sets = means.informers.of(REPLICA_SET.resource)
        self._deployments = means.informers.of(DEPLOYMENT.resource)
        self._claims = Claims(DEPLOYMENT, means.client, self._replica_sets)
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        Routing(DEPLOYMENT, self._deployments, owner_selectors.of_expressions, self.workers.add).listen(self._replica_sets)

    async def _sync(self, name: Name) -> float | None:
        deployment = self._deployments.get(name)
        if deployment is None:
            return None
        selector = owner_selectors.of_expressions(deployment)
        if selector.is_everything:
            self._tell(
                deployment, "Warning", "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required."
            )
            return None
        is_match = functools.partial(owner_selectors.matches, selector)
        adopts_deleting = functools.partial(replica_sets.is_awaited_by, deployment)
        candidates = self._claims.candidates(deployment)
        claimed = await self._claims.claim(deployment, candidates, is_match, adopts_deleting=adopts_deleting)
        return await self._roll(Draft(deployment), replica_sets.of(deployment, claimed))

    async def _roll(self, draft: Draft, members: Family) -> float | None:
        deployment, now = draft.deployment, self._clock.now()
        if is_deleting(deployment):
            return await self._describe(draft, members)
        draft.conditions = progress.with_pause(deployment, draft.conditions, now)
        members = await self._name_version(draft, members)
        if deployment["spec"].get("paused"):
            members = await self._resize(draft, members, scaling.scaled(deployment, members))
            await self._forget_old(draft, members)
            return await self._describe(draft, members)
        if scaling.is_scaled(deployment, members):
            members = await self._resize(draft, members, scaling.scaled(deployment, members))
            return await self._describe(draft, members)
        members = await (self._overlap if scaling.is_rolling(deployment) else self._replace)(draft, members)
        return await self._describe(draft, members, progresses=True)

    async def _overlap(self, draft: Draft, members: Family) -> Family:
        """A rolling update, one step further: first up, then down."""
        members = await self._have_new(draft, members)
        if members.new is None or members.is_awaited:
            return members
        wanted = scaling.bounds(draft.deployment)
        grown = scaling.of_new(members, wanted, size(members.new), overlaps=True)
        if grown != size(members.new):
            return await self._resize(draft, members, {members.new["metadata"]["name"]: grown})
        return await self._resize(draft, members, scaling.of_old(members, wanted))

    async def _replace(self, draft: Draft, members: Family) -> Family:
        """All old pods end before the first new one begins."""
        members = await self._resize(draft, members, scaling.of_none(members))
        if self._is_old_running(members):
            return members
        members = await self._have_new(draft, members)
        if members.new is None or members.is_awaited:
            return members
        return await self._resize(draft, members, {members.new["metadata"]["name"]: draft.deployment["spec"]["replicas"]})

    def _is_old_running(self, members: Family) -> bool:
        if replica_sets.total(members.old, "replicas"):
            return True
        old = [pod for one in members.old for pod in self._pods.controlled_by(one["metadata"]["uid"])]
        return not all(pod_template.is_finished(pod) for pod in old)

    async def _name_version(self, draft: Draft, members: Family) -> Family:
        """Make the new ReplicaSet, if there is one, say which version it is, and the deployment likewise."""
        deployment, new = draft.deployment, members.new
        if new is None or members.is_awaited:
            return members
        described = revisions.for_new(deployment, new, revisions.next_revision(members.old))
        min_ready = deployment["spec"].get("minReadySeconds") or 0
        if described != revisions.of(new) or min_ready != (new["spec"].get("minReadySeconds") or 0):
            new = await self._change(new, described, minReadySeconds=min_ready)
        draft.annotations[revisions.REVISION] = described[revisions.REVISION]
        if progress.deadline(deployment) is not None and not any(one["type"] == progress.PROGRESSING for one in draft.conditions):
            found = f'Found new replica set "{new["metadata"]["name"]}"'
            draft.conditions = progress.put(draft.conditions, "True", "FoundNewReplicaSet", found, self._clock.now())
        return members.replace(new)

    async def _have_new(self, draft: Draft, members: Family) -> Family:
        """Make the new ReplicaSet if there is none."""
        if members.new is not None:
            return members
        deployment = draft.deployment
        new, wanted = replica_sets.new_member(deployment), scaling.bounds(deployment)
        number = scaling.of_new(members, wanted, 0, overlaps=scaling.is_rolling(deployment))
        described = revisions.for_new(deployment, new, revisions.next_revision(members.old))
        new["metadata"] |= {
            "annotations": {**described, **revisions.for_size(wanted.replicas, wanted.most)},
            "ownerReferences": [DEPLOYMENT.reference(deployment)],
        }
        new["spec"]["replicas"] = number
        try:
            made = await self._replica_sets.create(namespace_of(deployment), new)
        except errors.AlreadyExists:
            return members._replace(new=await self._met(draft, new))
        except errors.ApiError as error:
            if not has_cause(error, "NamespaceTerminating"):
                await self._describe_failure(draft, members, error)
            raise
        if number:
            self._tell_scaling(deployment, made, 0)
        draft.annotations[revisions.REVISION] = described[revisions.REVISION]
        if progress.deadline(deployment) is not None:
            said = f'Created new replica set "{made["metadata"]["name"]}"'
            draft.conditions = progress.put(draft.conditions, "True", "NewReplicaSetCreated", said, self._clock.now())
        return members._replace(new=made)

    async def _met(self, draft: Draft, wanted: Object) -> Object | None:
        """Something of that name is there already. It is the one we wanted, or the next one gets another name."""
        deployment, name = draft.deployment, wanted["metadata"]["name"]
        there = await self._client.get(REPLICA_SET.resource, namespace_of(deployment), name)
        if there is not None:
            above = controller_of(there) or {}
            if above.get("uid") == deployment["metadata"]["uid"] and replica_sets.is_same_template(there, deployment):
                return there
            draft.collisions = (draft.collisions or 0) + 1
        self.workers.add(name_of(deployment))
        return None

    async def _resize(self, draft: Draft, members: Family, wanted: Sizes) -> Family:
        """Give the ReplicaSets their sizes, and note for what they got them."""
        limits = scaling.bounds(draft.deployment)
        noted = revisions.for_size(limits.replicas, limits.most)
        for one in members.living:
            before, after = size(one), wanted.get(one["metadata"]["name"], size(one))
            described = revisions.of(one)
            if after == before and (not before or noted.items() <= described.items()):
                continue
            changed = await self._change(one, {**described, **noted}, replicas=after)
            if after != before:
                self._tell_scaling(draft.deployment, changed, before)
            members = members.replace(changed)
        return members

    async def _change(self, replica_set: Object, described: dict[str, str], **spec: Any) -> Object:
        meta = {**replica_set["metadata"], "annotations": described}
        return await self._replica_sets.update({**replica_set, "metadata": meta, "spec": {**replica_set["spec"], **spec}})

    async def _forget_old(self, draft: Draft, members: Family) -> None:
        for one in revision_history.outdated(draft.deployment, members):
            await self._replica_sets.delete(one)

    async def _describe(self, draft: Draft, members: Family, *, progresses: bool = False) -> float | None:
        """Write down how things stand. Returns when that will be different without anything happening."""
        deployment, now = draft.deployment, self._clock.now()
        status = progress.status_of(deployment, members, draft.conditions, now, draft.collisions)
        if progresses:
            if progress.is_complete(deployment, status):
                await self._forget_old(draft, members)
            status = progress.with_progress(deployment, members, status, now)
        if status != deployment.get("status") or draft.annotations != revisions.of(deployment):
            await self._deployments.update(draft.written(status), "status")
        return progress.stuck_in(deployment, status, now) if progresses else None

    async def _describe_failure(self, draft: Draft, members: Family, error: errors.ApiError) -> None:
        self._tell(draft.deployment, "Warning", "FailedCreate", f"Failed to create new replica set: {error}")
        if progress.deadline(draft.deployment) is not None:
            draft.conditions = progress.put(draft.conditions, "False", "ReplicaSetCreateError", str(error), self._clock.now())
        await self._describe(draft, members)

    def _tell_scaling(self, deployment: Object, changed: Object, before: int) -> None:
        way = "up" if size(changed) > before else "down"
        message = f"Scaled {way} replica set {changed['metadata']['name']} from {before} to {size(changed)}"
        self._tell(deployment, "Normal", "ScalingReplicaSet", message)

"""The controller of StatefulSets: each look takes the next steps, and writes down how things stand.

A set that is being deleted takes none: its pods and claims are the collector's then. (SS-3, STS-9)
"""

from __future__ import annotations

import functools

from probate.api.selectors.label_selectors import LabelSelector
from probate.client.informers import Name, name_of
from probate.client.objects import Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import controller_revisions, owner_selectors, slow_start
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.controller_revisions import History
from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET, namespace_of
from probate.controllers.workloads.owner_lookup import Routing
from probate.controllers.workloads.statefulsets import decide, ordinals, statefulset_status, volume_claims
from probate.controllers.workloads.statefulsets.ordinals import ordinal
from probate.controllers.workloads.statefulsets.statefulset_status import Versions
from probate.core import errors

COMPONENT = "statefulset-controller"


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [StatefulSets(means).workers]


class StatefulSets:
    """The controller of StatefulSets."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = STATEFUL_SET.voice(means.events, COMPONENT)
        self._pods = means.informers.of(PODS)
        self._sets = means.informers.of(STATEFUL_SET.resource)
        self._storage = means.informers.of(volume_claims.CLAIMS)
        self._claims = Claims(STATEFUL_SET, means.client, self._pods)
        self._history = History(STATEFUL_SET, means)
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        routing = Routing(STATEFUL_SET, self._sets, owner_selectors.of_expressions, self.workers.add)
        routing.listen(self._pods, self._history.revisions)
        self._storage.listen(self._take_claim)

    def _take_claim(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is None or (old is not None and new is not None and not is_deleting(new)):
            return
        for set_ in self._sets.within(namespace_of(one)):
            if volume_claims.may_be_claim_of(one["metadata"]["name"], set_):
                self.workers.add(name_of(set_))

    async def _sync(self, name: Name) -> float | None:
        set_ = self._sets.get(name)
        if set_ is None:
            return None
        selector = owner_selectors.of_expressions(set_)
        known = await self._history.claim(set_, selector, releases=False)  # (SS-2)
        is_match = functools.partial(_is_member, set_, selector)
        ours = await self._claims.claim(set_, self._claims.candidates(set_), is_match)
        if is_deleting(set_):
            return await self._describe(set_, ours, _written_versions(set_))
        version = await self._history.have(set_, known)
        updated = version.revision
        there = {one["metadata"]["name"]: one for one in [*known, updated]}
        current = there.get((set_.get("status") or {}).get("currentRevision", ""), updated)
        failures = await self._step(set_, ours, current, updated)
        names = Versions(_name(current), _name(updated), version.collisions)
        ours = [pod for pod in self._pods.controlled_by(set_["metadata"]["uid"]) if is_match(pod)]
        again = await self._describe(set_, ours, names)
        await self._forget_old(set_, list(there.values()), ours, names)
        if failures:
            raise ExceptionGroup(f"the pods of {name} are not what they should be", failures)
        return again

    async def _step(self, set_: Object, ours: list[Object], current: Object, updated: Object) -> list[errors.ApiError]:
        """Go on towards what is wanted. Returns what went wrong."""
        planned = decide.plan(decide.crowd(set_, ours), _name(updated), self._clock.now())
        failures = await together(planned.kept, functools.partial(self._tend, set_))
        if failures:
            return failures
        revisions = [current if decide.is_old_version(set_, number) else updated for number in planned.makes]
        made = await slow_start.slowly([*zip(planned.makes, revisions, strict=True)], functools.partial(self._make, set_))
        failures = await together(planned.deletes, functools.partial(self._delete, set_))
        return [one for one in [*made.failures, *failures] if not has_cause(one, "NamespaceTerminating")]

    async def _make(self, set_: Object, what: tuple[int, Object]) -> None:
        number, revision = what
        pod = ordinals.new_pod(set_, controller_revisions.template_of(revision), _name(revision), number)
        name = _name(pod)
        there = [one for one in map(self._storage.get, volume_claims.claim_names(set_, number)) if one is not None]
        if volume_claims.policy(set_).goes_with_pod and any(volume_claims.is_of_another_pod(one, name) for one in there):
            return  # the collector takes the claim, and then it is our turn (STS-8)
        try:
            for claim in (one for one in there if is_deleting(one)):
                raise errors.Conflict(f"the claim {_name(claim)} is being deleted")
            await self._have_claims(set_, number)
            made = await self._pods.create(namespace_of(set_), pod)
        except errors.ApiError as error:
            self._tell(set_, "Warning", "FailedCreate", f"create Pod {name} in StatefulSet {_name(set_)} failed error: {error}")
            raise
        self._tell(set_, "Normal", "SuccessfulCreate", f"create Pod {name} in StatefulSet {_name(set_)} successful")
        await self._see_to_owners(set_, made)

    async def _have_claims(self, set_: Object, number: int) -> None:
        """Make the claims that are missing."""
        for claim in volume_claims.new_claims(set_, number):
            name = claim["metadata"]["name"]
            if self._storage.get(Name(namespace_of(set_), name)) is None:
                await self._storage.create(namespace_of(set_), claim)
                told = f"create Claim {name} Pod {_name(set_)}-{number} in StatefulSet {_name(set_)} success"
                self._tell(set_, "Normal", "SuccessfulCreate", told)

    async def _tend(self, set_: Object, pod: Object) -> None:
        """Keep a pod what it should be: its labels, its claims, and who those go with. (STS-7)"""
        number = ordinal(pod, set_)
        if number is None or (is_deleting(pod) and number in ordinals.ordinals(set_)):
            return
        wanted = ordinals.identity(pod["metadata"]["name"], number)
        if not wanted.items() <= (pod["metadata"].get("labels") or {}).items():
            await self._pods.patch(name_of(pod), {"metadata": {"uid": pod["metadata"]["uid"], "labels": wanted}})
        if pod["status"].get("phase") == "Pending" and number in ordinals.ordinals(set_):
            await self._have_claims(set_, number)
        await self._see_to_owners(set_, pod)

    async def _see_to_owners(self, set_: Object, pod: Object) -> None:
        number = ordinal(pod, set_) or 0
        for claim in filter(None, map(self._storage.get, volume_claims.claim_names(set_, number))):
            wanted = volume_claims.ownership(claim, set_, pod, is_wanted=number in ordinals.ordinals(set_))
            if wanted.is_contested:
                told = f"somebody else controls the claim {_name(claim)}: it goes neither with the set nor with its pod"
                self._tell(set_, "Warning", "ConflictingController", told)
            if wanted.references is not None:
                await self._storage.update({**claim, "metadata": {**claim["metadata"], "ownerReferences": wanted.references}})

    async def _delete(self, set_: Object, pod: Object) -> None:
        name = pod["metadata"]["name"]
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._tell(set_, "Warning", "FailedDelete", f"delete Pod {name} in StatefulSet {_name(set_)} failed error: {error}")
            raise
        self._tell(set_, "Normal", "SuccessfulDelete", f"delete Pod {name} in StatefulSet {_name(set_)} successful")

    async def _describe(self, set_: Object, ours: list[Object], names: Versions) -> float | None:
        """Write down how things stand. Returns when that will be different without anything happening."""
        new = statefulset_status.status_of(set_, ours, names, self._clock.now())
        if new != set_.get("status"):
            await self._sets.update({**set_, "status": new}, "status")
        return statefulset_status.next_availability(set_, ours, self._clock.now())

    async def _forget_old(self, set_: Object, known: list[Object], ours: list[Object], names: Versions) -> None:
        """Delete the oldest revisions that nobody uses, beyond the limit. (SS-4)"""
        limit = set_["spec"].get("revisionHistoryLimit")
        limit = 10 if limit is None else limit
        if limit < 0:
            return
        used = {names.current, names.updated, *map(ordinals.revision, ours)}
        unused = [one for one in controller_revisions.in_order(known) if one["metadata"]["name"] not in used]
        await self._history.forget(unused[: max(0, len(unused) - limit)])


def _is_member(set_: Object, selector: LabelSelector, pod: Object) -> bool:
    return ordinal(pod, set_) is not None and owner_selectors.matches(selector, pod)


def _written_versions(set_: Object) -> Versions:
    said = set_.get("status") or {}
    return Versions(said.get("currentRevision", ""), said.get("updateRevision", ""), said.get("collisionCount"))


def _name(object_: Object) -> str:
    name: str = object_["metadata"]["name"]
    return name

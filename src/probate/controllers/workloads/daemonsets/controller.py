"""The controller of DaemonSets: each look sees to every node, takes the next steps of an update, and writes down how things stand.

One that is being deleted is not looked at: its pods are the collector's. (DS-1)
"""

from __future__ import annotations

import functools

from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import controller_revisions, owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.controller_revisions import History, Version
from probate.controllers.workloads.daemonsets import daemonset_status, decide, placement
from probate.controllers.workloads.daemonsets.decide import Bounds, Place
from probate.controllers.workloads.daemonsets.failed_pod_backoff import Patience
from probate.controllers.workloads.daemonsets.placement import HASH
from probate.controllers.workloads.owner_kinds import DAEMON_SET, PODS, namespace_of
from probate.controllers.workloads.owner_lookup import Routing
from probate.core import errors

COMPONENT = "daemonset-controller"
NODES = Kind("", "v1", "nodes")


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [DaemonSets(means).workers]


class DaemonSets:
    """The controller of DaemonSets."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = DAEMON_SET.voice(means.events, COMPONENT)
        self._pods = means.informers.of(PODS)
        self._sets = means.informers.of(DAEMON_SET.resource)
        self._nodes = means.informers.of(NODES)
        self._claims = Claims(DAEMON_SET, means.client, self._pods)
        self._history = History(DAEMON_SET, means)
        self._patience = Patience()
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        routing = Routing(DAEMON_SET, self._sets, owner_selectors.of_expressions, self.workers.add)
        routing.listen(self._pods)
        routing.listen_to_history(self._history.revisions)  # (DS-3)
        self._sets.listen(self._take_end)
        self._nodes.listen(self._take_node)

    def _take_end(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is None:
            self._patience.forget(old["metadata"]["uid"])

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        """A node concerns the sets for which it is another one than before. How it fares concerns none."""
        for set_ in self._sets:
            before = placement.judge(set_, old) if old is not None else None
            if before != (placement.judge(set_, new) if new is not None else None):
                self.workers.add(name_of(set_))

    async def _sync(self, name: Name) -> float | None:
        set_ = self._sets.get(name)
        if set_ is None or is_deleting(set_):
            return None
        selector = owner_selectors.of_expressions(set_)
        if selector.is_everything:  # (DS-5)
            self._tell(set_, "Warning", "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.")
            return None
        is_match = functools.partial(owner_selectors.matches, selector)
        known = await self._history.claim(set_, selector, releases=True)  # (DS-2)
        ours = await self._claims.claim(set_, self._claims.candidates(set_), is_match)
        version = await self._history.have(set_, known, label=HASH)
        await self._unite(known, ours, version.revision)
        waits, failures = await self._step(set_, self._places(set_), controller_revisions.hash_of(version.revision))
        await self._forget_old(set_, version.revision)
        again = await self._describe(set_, version)
        if failures:
            raise ExceptionGroup(f"the pods of {name} are not what they should be", failures)
        return min((one for one in (*waits, again) if one is not None), default=None)

    def _places(self, set_: Object) -> list[Place]:
        ours = self._pods.controlled_by(set_["metadata"]["uid"])
        return decide.places(set_, self._nodes, ours)

    async def _unite(self, known: list[Object], ours: list[Object], wanted: Object) -> None:
        """Of several revisions that are the same, one stays. (DS-3)"""
        for double in known:
            if double["metadata"]["uid"] == wanted["metadata"]["uid"] or double.get("data") != wanted["data"]:
                continue
            for pod in (one for one in ours if decide.is_new(one, controller_revisions.hash_of(double))):
                await self._pods.patch(name_of(pod), {"metadata": {"labels": {HASH: controller_revisions.hash_of(wanted)}}})
            await self._history.forget([double])

    async def _step(self, set_: Object, found: list[Place], hash_: str) -> tuple[list[float], list[errors.ApiError]]:
        """Go on towards what is wanted. Returns in how many seconds there is more to do, and what went wrong."""
        limits = decide.bounds(set_, sum(one.verdict.should_run for one in found))
        is_available = functools.partial(self._is_available, set_)
        known = {node["metadata"]["name"] for node in self._nodes}
        planned = decide.place_pods(found, known, limits, hash_, is_available)
        ended, waits = self._due(set_, planned.ended)
        failures = await self._carry_out(set_, hash_, planned.makes, [*planned.deletes, *ended])
        if failures or limits == Bounds(0, 0):
            return waits, failures
        rolled = decide.roll(self._places(set_), limits, hash_, is_available)
        return waits, await self._carry_out(set_, hash_, rolled.makes, rolled.deletes)

    def _due(self, set_: Object, ended: list[Object]) -> tuple[list[Object], list[float]]:
        """Which of the pods that have ended may be replaced now, and in how many seconds the others."""
        due, waits, now, uid = list[Object](), list[float](), self._clock.now(), set_["metadata"]["uid"]
        for pod in ended:
            node, name = placement.node_of(pod), pod["metadata"]["name"]
            wait = self._patience.waits(uid, node, now)
            if wait:
                waits.append(wait)
                continue
            self._patience.note(uid, node, now)
            due.append(pod)
            if pod_template.phase(pod) == "Failed":
                told = f"Found failed daemon pod {namespace_of(pod)}/{name} on node {node}, will try to kill it"
                self._tell(set_, "Warning", "FailedDaemonPod", told)
            else:
                told = f"Found succeeded daemon pod {namespace_of(pod)}/{name} on node {node}, will try to delete it"
                self._tell(set_, "Normal", "SucceededDaemonPod", told)
        return due, waits

    async def _carry_out(self, set_: Object, hash_: str, makes: list[str], deletes: list[Object]) -> list[errors.ApiError]:
        made = await slow_start.slowly(makes, functools.partial(self._make, set_, hash_))
        failures = await together(deletes, functools.partial(self._delete, set_))
        return [one for one in [*made.failures, *failures] if not has_cause(one, "NamespaceTerminating")]

    async def _make(self, set_: Object, hash_: str, node: str) -> None:
        try:
            made = await self._pods.create(namespace_of(set_), placement.new_pod(set_, hash_, node))
        except errors.ApiError as error:
            self._tell(set_, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self._tell(set_, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    async def _delete(self, set_: Object, pod: Object) -> None:
        try:
            await self._pods.delete(pod)
        except errors.ApiError as error:
            self._tell(set_, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self._tell(set_, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    async def _forget_old(self, set_: Object, wanted: Object) -> None:
        """Delete the oldest revisions beyond the limit. Those that a pod still has stay, and none goes instead. (DS-4)"""
        uid, limit = set_["metadata"]["uid"], set_["spec"].get("revisionHistoryLimit")
        used = {(pod["metadata"].get("labels") or {}).get(HASH) for pod in self._pods.controlled_by(uid)}
        old = [one for one in self._history.revisions.controlled_by(uid) if one["metadata"]["uid"] != wanted["metadata"]["uid"]]
        unused = [
            one
            for one in controller_revisions.in_order(old)
            if controller_revisions.hash_of(one) not in used and not is_deleting(one)
        ]
        await self._history.forget(unused[: max(0, len(old) - (10 if limit is None else limit))])

    async def _describe(self, set_: Object, version: Version) -> float | None:
        """Write down how things stand. Returns when that will be different without anything happening."""
        is_available, hash_ = functools.partial(self._is_available, set_), controller_revisions.hash_of(version.revision)
        found, min_ready = self._places(set_), set_["spec"].get("minReadySeconds") or 0
        new = daemonset_status.status_of(set_, found, hash_, version.collisions, is_available)
        if new != set_.get("status"):
            await self._sets.update({**set_, "status": new}, "status")
        waits = [pod_template.available_in(pod, min_ready, self._clock.now()) for one in found for pod in one.active]
        return min((wait for wait in waits if wait), default=None)

    def _is_available(self, set_: Object, pod: Object) -> bool:
        return pod_template.available_in(pod, set_["spec"].get("minReadySeconds") or 0, self._clock.now()) == 0

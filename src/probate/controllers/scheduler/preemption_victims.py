"""Pods that make room for more important ones: they are told why, and deleted with the grace they asked for.

The pod for which they leave is nominated for their node (`status.nominatedNodeName`). What it takes is kept for it there, against
all who are not more important, until it is bound, or there is no use in waiting any more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from probate.api.timestamps import timestamp
from probate.client.informers import name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Kind, Object
from probate.client.resources import PODS, is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.scheduler import decide, preemption
from probate.controllers.scheduler.node_ledger import Ledger, priority_of
from probate.controllers.scheduler.preemption import REASON, Plan
from probate.controllers.scheduler.unschedulable import nominated_node
from probate.core import errors

BUDGETS = Kind("policy", "v1", "poddisruptionbudgets")


class Nomination(NamedTuple):
    """What is to become of a pod that got no node: None leaves the node that it is nominated for as it is, "" is none."""

    node: str | None = None
    victims: tuple[Object, ...] = ()


class Victims:
    """Finds room for important pods."""

    def __init__(self, means: Means, ledger: Ledger, labels_of: Callable[[str], Mapping[str, str]], tell: Voice) -> None:
        self._clock = means.clock
        self._pods = means.informers.of(PODS)
        self._budgets = means.informers.of(BUDGETS)
        self._ledger, self._labels_of, self._tell = ledger, labels_of, tell

    def nominate(self, pod: Object, objection_of_storage: Callable[[Object], str | None]) -> Nomination:
        """Decide for a pod that fits nowhere who leaves, if anybody."""
        node = nominated_node(pod)
        if pod["spec"].get("preemptionPolicy") == "Never" or (node and preemption.is_awaited(pod, self._ledger, node)):
            return Nomination()
        found = self._plan(pod, objection_of_storage)
        if found is None:
            self._ledger.withdraw(pod)
            return Nomination("")
        self._ledger.nominate(pod, found.node)
        return Nomination(found.node, found.victims)

    def _plan(self, pod: Object, objection_of_storage: Callable[[Object], str | None]) -> Plan | None:
        asker_on = functools.partial(decide.asker, pod, labels_of=self._labels_of, storage=objection_of_storage)
        return preemption.plan(self._ledger, asker_on, self._budgets)

    async def make_room(self, pod: Object, nomination: Nomination) -> None:
        """Have the victims leave. Those of less importance that wait for the same node have to look for another."""
        failures = await together(list(nomination.victims), functools.partial(self._evict, pod, nomination.node or ""))
        waiting = [one for one in self._ledger.nominated_for(nomination.node or "") if priority_of(one) < priority_of(pod)]
        failures += await together(waiting, self._dismiss)
        for failure in failures:
            raise failure

    async def _evict(self, pod: Object, node: str, victim: Object) -> None:
        known = self._pods.get(name_of(victim))
        if known is None or known["metadata"]["uid"] != victim["metadata"]["uid"] or is_deleting(known):
            return
        who = pod["spec"].get("schedulerName") or ""
        new = conditions.made("DisruptionTarget", "True", REASON, f"{who}: preempting to accommodate a higher priority pod")
        told = {**conditions.of_pod(known, new), "lastTransitionTime": timestamp(self._clock.now())}
        if await self._write(known, {"conditions": [told]}):
            await self._pods.delete(known)
            self._tell(known, "Normal", "Preempted", f"Preempted by pod {pod['metadata']['uid']} on node {node}")

    async def _dismiss(self, pod: Object) -> None:
        self._ledger.withdraw(pod)
        await self._write(pod, {"nominatedNodeName": None})

    async def _write(self, pod: Object, status: Object) -> bool:
        """Change the pod's status. Whether it was still there."""
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        try:
            await self._pods.patch(name_of(pod), change, "status", media=STRATEGIC_MERGE_PATCH)
        except (errors.Conflict, errors.NotFound):
            return False
        return True

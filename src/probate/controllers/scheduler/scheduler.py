"""The scheduler: gives every pod that has no node one, as soon as there is one for it.

It works in rounds. A round takes the pods that are due, the most important first, decides for each from the ledger, and binds all
that got a node together. A pod that got none is told why, and is due again when something has changed that could help it. Of pods
that are alike the first one that gets no node speaks for all of the round: nodes only become fuller in it. If less important ones
can make room for a pod, they are told to leave, and it waits for that.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object
from probate.client.resources import NAMESPACES, NODES, PODS, is_deleting, is_finished, node_of
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.controllers.scheduler import pod_affinity, volume_constraints
from probate.controllers.scheduler.decide import Choice, choose
from probate.controllers.scheduler.node_ledger import Ledger, priority_of
from probate.controllers.scheduler.preemption_victims import Nomination, Victims
from probate.controllers.scheduler.unschedulable import Refusals, nominated_node
from probate.controllers.scheduler.volume_constraints import Storage, Stored
from probate.core import errors

COMPONENT = "default-scheduler"
BINDINGS = Kind("", "v1", "bindings")
ROUND = Name("", "round")
MOST = 500
"""Pods of one round."""

log = logging.getLogger(__name__)


class Placement(NamedTuple):
    """A pod, and where it goes."""

    pod: Object
    node: str


class Refused(NamedTuple):
    """A pod that goes nowhere now, why, and for which node it is nominated."""

    pod: Object
    why: str
    nomination: Nomination


def start(means: Means) -> list[Workers]:
    """The scheduler's one worker, which is told by the informers when to look."""
    return [Scheduler(means).workers]


class Scheduler:
    """Gives pods their nodes."""

    def __init__(self, means: Means) -> None:
        self._client, self._clock = means.client, means.clock
        self._tell = Voice(means.events, COMPONENT, "v1", "Pod")
        self._pods = means.informers.of(PODS)
        self._namespaces = means.informers.of(NAMESPACES)
        self._storage = Storage(means)
        self._ledger = Ledger()
        self._refusals = Refusals(means, self._tell)
        self._victims = Victims(means, self._ledger, self._labels_of, self._tell)
        self._due: dict[Name, None] = {}
        self._stuck: dict[Name, None] = {}  # got no node when they were last looked at
        self._attentive: dict[Name, None] = {}  # of those, who cares for where others are
        self.workers = Workers(COMPONENT, self._round, means.clock, at_once=1)
        self._pods.listen(self._take_pod)
        means.informers.of(NODES).listen(self._take_node)
        self._storage.listen(self._wake)

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        self._ledger.take_pod(old, new)
        known = new or old
        if known is None:
            return
        if new is None or not _is_ours(new):
            self._due.pop(name_of(known), None)
            self._unstick(name_of(known))
            if self._ledger.withdraw(known):
                self._wake()
        elif old is None or not _is_ours(old) or _asks_for(old) != _asks_for(new):
            self._unstick(name_of(new))
            self._due[name_of(new)] = None
            self.workers.add(ROUND)
        if new is not None and _is_ours(new) and nominated_node(new):
            self._ledger.nominate(new, nominated_node(new))
        if _takes_room(old) != _takes_room(new):
            self._wake_those_who_care(is_room=not _takes_room(new))

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        known = new or old
        if known is None:
            return
        self._ledger.take_node(known["metadata"]["name"], new)
        if new is not None and (old is None or _offers(old) != _offers(new)):
            self._wake()

    def _wake(self) -> None:
        """Something has changed that could help anybody."""
        self._due |= self._stuck
        self._stuck.clear()
        self._attentive.clear()
        if self._due:
            self.workers.add(ROUND)

    def _wake_those_who_care(self, *, is_room: bool) -> None:
        """A pod has come or gone. When it made room that is for all; else for those who want to be near others."""
        if is_room:
            self._wake()
            return
        for name in list(self._attentive):
            self._unstick(name)
            self._due[name] = None
            self.workers.add(ROUND)

    def _stick(self, pod: Object) -> None:
        self._stuck[name_of(pod)] = None
        if pod_affinity.says_something(pod):
            self._attentive[name_of(pod)] = None

    def _unstick(self, name: Name) -> None:
        self._stuck.pop(name, None)
        self._attentive.pop(name, None)

    async def _round(self, _: Name) -> float | None:
        pods = [pod for name in self._due if (pod := self._pods.get(name)) is not None and not self._ledger.is_assumed(pod)]
        self._due.clear()
        pods.sort(key=lambda pod: -priority_of(pod))
        self._due.update(dict.fromkeys(name_of(pod) for pod in pods[MOST:]))
        placed, refused, waiting = self._decide(pods[:MOST])
        failures = [
            *await together(waiting, self._prepare),
            *await together(placed, self._bind),
            *await together(refused, self._refuse),
        ]
        if failures:
            raise ExceptionGroup("pods could not be given their nodes", failures)
        return 0.0 if placed or self._due else None

    def _decide(self, pods: list[Object]) -> tuple[list[Placement], list[Refused], list[Placement]]:
        """Who goes where; who goes nowhere, and why; and whose claims have to be bound first, there."""
        placed, refused, waiting = [], [], []
        alike: dict[bytes, Choice] = {}
        hopeless: set[bytes] = set()  # for whom nobody can make room
        for pod in pods:
            key = _likeness(pod)
            stored = self._storage.of(pod)
            choice = (None if nominated_node(pod) else alike.get(key)) or self._choose(pod, stored)
            if not choice.node:
                self._stick(pod)
                refused.append(Refused(pod, choice.objections, self._nominate(pod, key, stored, hopeless)))
                if not pod_affinity.says_something(pod):
                    alike[key] = choice
            elif stored.waiting:
                self._stick(pod)
                waiting.append(Placement(pod, choice.node))
            else:
                self._ledger.assume(pod, choice.node)
                placed.append(Placement(pod, choice.node))
        return placed, refused, waiting

    def _choose(self, pod: Object, stored: volume_constraints.Stored) -> Choice:
        if stored.objection:
            return Choice(objections=stored.objection)
        return choose(pod, self._ledger, self._labels_of, stored.objection_to)

    def _nominate(self, pod: Object, key: bytes, stored: Stored, hopeless: set[bytes]) -> Nomination:
        """For which node the pod is nominated, and who leaves it."""
        if stored.objection or (key in hopeless and not nominated_node(pod)):
            return Nomination()
        found = self._victims.nominate(pod, stored.objection_to)
        if found.node == "":
            hopeless.add(key)
        return found

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        found = self._namespaces.get(Name("", namespace)) or {"metadata": {}}
        labels: Mapping[str, str] = found["metadata"].get("labels") or {}
        return labels

    async def _bind(self, placement: Placement) -> None:
        pod, node = placement
        meta = {name: pod["metadata"][name] for name in ("name", "namespace", "uid")}
        try:
            await self._client.create(
                BINDINGS, meta["namespace"], {"metadata": meta, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
            )
        except (errors.Conflict, errors.NotFound) as error:  # it has changed; if it still wants a node, that comes as news
            log.info("%s was not bound: %s", name_of(pod), error)
            if self._ledger.is_assumed(pod):
                self._ledger.forget(pod)
        except errors.ApiError:
            self._ledger.forget(pod)
            self._due[name_of(pod)] = None
            raise
        else:
            self._tell(pod, "Normal", "Scheduled", f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}")

    async def _prepare(self, placement: Placement) -> None:
        """Have the claims of a pod bound first."""
        claims = self._storage.of(placement.pod).waiting
        for claim in claims:
            await volume_constraints.tell(self._storage.claims, claim, placement.node)

    async def _refuse(self, refused: Refused) -> None:
        """Write down why a pod has no node, unless that is known, and make room for it if that helps."""
        pod, why, nomination = refused
        await self._refusals.write(pod, why, nomination.node)
        if nomination.victims:
            try:
                await self._victims.make_room(pod, nomination)
            except errors.ApiError:
                self._due[name_of(pod)] = None
                raise


def _is_ours(pod: Object) -> bool:
    """Whether the pod wants a node, and from this scheduler."""
    spec = pod["spec"]
    is_open = not node_of(pod) and not spec.get("schedulingGates") and not is_deleting(pod) and not is_finished(pod)
    return is_open and (spec.get("schedulerName") or COMPONENT) == COMPONENT


def _asks_for(pod: Object) -> tuple[Object, Object]:
    return pod["spec"], pod["metadata"].get("labels") or {}


def _takes_room(pod: Object | None) -> bool:
    return pod is not None and bool(node_of(pod)) and not is_finished(pod)


def _offers(node: Object) -> tuple[object, ...]:
    """What decides whether pods can go there."""
    status = node.get("status") or {}
    return node["metadata"].get("labels"), node["spec"], status.get("allocatable") or status.get("capacity")


def _likeness(pod: Object) -> bytes:
    """The same for pods of which each can go wherever another can."""
    meta = pod["metadata"]
    return orjson.dumps([meta["namespace"], meta.get("labels") or {}, pod["spec"]], option=orjson.OPT_SORT_KEYS)

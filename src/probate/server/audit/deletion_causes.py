"""Which deletions led to which: from an object that was collected up to the request that began it.

    pod web-1-x   collected, as its owner had gone:   replicaset web-1
    replicaset    collected, as its owner had gone:   deployment web
    deployment    deleted by ann, by the request 6b1f…

Remembered are the last deletions, and those that others still lead back to. Used on the thread of the log alone: what comes in its
order there is in the order in which it happened, since who deletes says so before it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from probate.api.ownership import Owner
from probate.core.generational_cache import Recent

REMEMBERED = 50_000
NEAREST = 8
"""Steps of a chain that are told, besides the one where it began."""
MAX_NAME = 253
UNKNOWN = "not known: it was gone when this server started, it never was there, or another server was asked to delete it"

Object = dict[str, Any]


class Fall(NamedTuple):
    """An object that was deleted: by whom and in which request, or because of which other one."""

    resource: str
    namespace: str
    name: str
    parent: str = ""  # its uid
    root: str = ""  # the uid of the one where it began
    depth: int = 0
    user: str = ""
    request: str = ""


class Below(NamedTuple):
    """Where something stands in a chain: because of what (its uid), where it began, and how far from there."""

    parent: str
    root: str
    depth: int


TOP = Below("", "", 0)


class Lead(NamedTuple):
    """An object whose deletion led to another's, as that one knows it."""

    uid: str
    kind: str = ""
    name: str = ""
    namespace: str = ""


def of_owner(owner: Owner) -> Lead:
    """An owner, as the reference to it says."""
    return Lead(owner.uid, owner.kind[:MAX_NAME], owner.name[:MAX_NAME])


class Falls:
    """Those of one server."""

    def __init__(self) -> None:
        self._known: Recent[Fall] = Recent(REMEMBERED)

    def note(self, uid: str, fall: Fall) -> None:
        """An object is deleted. The first reason for that counts."""
        if uid not in self._known:
            self._known[uid] = fall

    def below(self, leads: Sequence[Lead]) -> Below:
        """Where those stand in a chain who are deleted because of these."""
        parent = self._followed(leads)
        above = self._known.get(parent.uid) if parent is not None else None
        return TOP if parent is None or above is None else Below(parent.uid, above.root or parent.uid, above.depth + 1)

    def _followed(self, leads: Sequence[Lead]) -> Lead | None:
        """Of several that led to something, the first of which more is known."""
        return next((one for one in leads if one.uid in self._known), leads[0] if leads else None)

    def chain(self, leads: Sequence[Lead]) -> str:
        """What led to a deletion, the nearest first and last where it began, as JSON."""
        lead = self._followed(leads)
        if lead is None:
            return "[]"
        fall = self._known.get(lead.uid)
        if fall is None:
            told = {"kind": lead.kind, "namespace": lead.namespace, "name": lead.name, "uid": lead.uid, "deletedBy": UNKNOWN}
            return orjson.dumps([{name: value for name, value in told.items() if value}]).decode()
        return orjson.dumps(self._steps(lead.uid, fall)).decode()

    def _steps(self, uid: str, fall: Fall) -> list[Object]:
        root, steps = fall.root, list[Object]()
        while True:
            self._known[uid] = fall  # it is needed: it is forgotten last
            steps.append(_told(uid, fall))
            above = self._known.get(fall.parent) if fall.parent else None
            if above is None:
                return steps
            if len(steps) == NEAREST and above.parent:
                break
            uid, fall = fall.parent, above
        first = self._known.get(root)
        if first is not None:
            self._known[root] = first
        return [*steps, {"more": fall.depth - 1}, _told(root, first) if first is not None else {"uid": root, "deletedBy": UNKNOWN}]


def _told(uid: str, fall: Fall) -> Object:
    is_known = fall.user or fall.parent
    told = {
        "resource": fall.resource,
        "namespace": fall.namespace,
        "name": fall.name,
        "uid": uid,
        "user": fall.user,
        "auditID": fall.request,
        "deletedBy": "" if is_known else UNKNOWN,
    }
    return {name: value for name, value in told.items() if value}

"""Records which deletion caused which: from a collected object back to the request that began the cascade.

    pod web-1-x   deleted, because its owner was gone:   replicaset web-1
    replicaset    deleted, because its owner was gone:   deployment web
    deployment    deleted by ann, in the request 6b1f…

Keeps the most recent deletions, and those that later ones still lead back to. Used only on the audit log's thread: entries arrive
there in the order in which the deletions happened, since each deletion is recorded before it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from probate.api.objects import Object
from probate.api.ownership import OwnerReference
from probate.core.generational_cache import GenerationalCache

MAX_RECORDS = 50_000
MAX_NEAREST_STEPS = 8
"""The steps of a chain that are recorded, besides its first cause."""
MAX_NAME_LENGTH = 253
UNKNOWN = "unknown: it was gone when this server started, it never existed, or another server received its delete"


class DeletionRecord(NamedTuple):
    """A deleted object, and why: the user and the request, or the object that caused it."""

    resource: str
    namespace: str
    name: str
    parent: str = ""  # the uid of the object that caused the deletion
    root: str = ""  # the uid of the object that began the cascade
    depth: int = 0
    user: str = ""
    request: str = ""


class ChainPosition(NamedTuple):
    """A position in a chain of deletions: the uid of the cause, the uid of the root, and the distance from the root."""

    parent: str
    root: str
    depth: int


CHAIN_START = ChainPosition("", "", 0)


class CauseRef(NamedTuple):
    """An object whose deletion caused another one, as the other object refers to it."""

    uid: str
    kind: str = ""
    name: str = ""
    namespace: str = ""


def of_owner(owner: OwnerReference) -> CauseRef:
    """Returns the owner that a reference names, as a cause."""
    return CauseRef(owner.uid, owner.kind[:MAX_NAME_LENGTH], owner.name[:MAX_NAME_LENGTH])


class DeletionCauses:
    """The deletions of one server."""

    def __init__(self) -> None:
        self._records: GenerationalCache[DeletionRecord] = GenerationalCache(MAX_RECORDS)

    def record(self, uid: str, record: DeletionRecord) -> None:
        """Records a deletion. The first record of an object counts."""
        if uid not in self._records:
            self._records[uid] = record

    def position_below(self, causes: Sequence[CauseRef]) -> ChainPosition:
        """Returns the position of an object that is deleted because of these causes."""
        parent = self._best_known(causes)
        parent_record = self._records.get(parent.uid) if parent is not None else None
        if parent is None or parent_record is None:
            return CHAIN_START
        return ChainPosition(parent.uid, parent_record.root or parent.uid, parent_record.depth + 1)

    def _best_known(self, causes: Sequence[CauseRef]) -> CauseRef | None:
        """Returns the first of several causes that has a record, or else the first one."""
        return next((cause for cause in causes if cause.uid in self._records), causes[0] if causes else None)

    def chain(self, causes: Sequence[CauseRef]) -> str:
        """Returns the chain of causes as JSON: the nearest first, the root last."""
        cause = self._best_known(causes)
        if cause is None:
            return "[]"
        record = self._records.get(cause.uid)
        if record is None:
            fields = {"kind": cause.kind, "namespace": cause.namespace, "name": cause.name, "uid": cause.uid, "deletedBy": UNKNOWN}
            return orjson.dumps([{name: value for name, value in fields.items() if value}]).decode()
        return orjson.dumps(self._steps(cause.uid, record)).decode()

    def _steps(self, uid: str, record: DeletionRecord) -> list[Object]:
        root, steps = record.root, list[Object]()
        while True:
            self._records[uid] = record  # moves it to the newest generation: records that are still needed are evicted last
            steps.append(_step(uid, record))
            parent_record = self._records.get(record.parent) if record.parent else None
            if parent_record is None:
                return steps
            if len(steps) == MAX_NEAREST_STEPS and parent_record.parent:
                break
            uid, record = record.parent, parent_record
        root_record = self._records.get(root)
        if root_record is not None:
            self._records[root] = root_record
        return [
            *steps,
            {"more": record.depth - 1},
            _step(root, root_record) if root_record is not None else {"uid": root, "deletedBy": UNKNOWN},
        ]


def _step(uid: str, record: DeletionRecord) -> Object:
    is_known = record.user or record.parent
    fields = {
        "resource": record.resource,
        "namespace": record.namespace,
        "name": record.name,
        "uid": uid,
        "user": record.user,
        "auditID": record.request,
        "deletedBy": "" if is_known else UNKNOWN,
    }
    return {name: value for name, value in fields.items() if value}

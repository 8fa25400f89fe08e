"""All commits, read from the store's own tables between any two callbacks: the reference for all checks.

The store's own ways to read changes (reads, lists, watches) are not used here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from probate.store.sqlite.store import SqliteStore

FOREGROUND = frozenset({"foregroundDeletion", "CollectingGarbage", "GarbageCollectionInProgress"})
COLLECTORS = FOREGROUND | {"orphan"}
TENANT_LABEL = "kubezoo.io/tenant"
_LOG = "SELECT rev, key, value FROM log WHERE rev > ? ORDER BY rev"
_LIVE = "SELECT live.key, live.rev, log.value FROM live JOIN log ON log.rev = live.rev"
_NOT_OBJECTS = "objects/positions.probate.dev/"
_HEARTBEATS = "objects/leases.coordination.k8s.io/"


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    block_owner_deletion: bool | None = None


class Claim(msgspec.Struct, frozen=True):
    """The claim that a PersistentVolume is bound to."""

    namespace: str = ""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of specs that the rules look at."""

    claim_ref: Claim | None = None


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata that the rules look at."""

    name: str
    uid: str
    namespace: str = ""
    owner_references: tuple[Reference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}


class Version(msgspec.Struct, frozen=True):
    """An object between two of its changes."""

    metadata: Metadata
    spec: Spec | None = None

    @property
    def tenant(self) -> str:
        """The tenant that the object's label names; empty if it has none."""
        return self.metadata.labels.get(TENANT_LABEL, "")

    @property
    def claimant(self) -> str:
        """The namespace of the claim that a PersistentVolume is bound to."""
        claim = self.spec.claim_ref if self.spec is not None else None
        return "" if claim is None else claim.namespace

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_waiting(self) -> bool:
        return self.is_deleting and not FOREGROUND.isdisjoint(self.metadata.finalizers)

    @property
    def is_orphaning(self) -> bool:
        return self.is_deleting and "orphan" in self.metadata.finalizers

    def blocks(self, uid: str) -> bool:
        return any(one.uid == uid and one.block_owner_deletion for one in self.metadata.owner_references)

    def refers_to(self, uid: str) -> bool:
        return any(one.uid == uid for one in self.metadata.owner_references)


class Change(NamedTuple):
    """One committed change."""

    revision: int
    key: str
    before: Version | None
    after: Version | None


_decode = msgspec.json.Decoder(Version).decode


class History:
    """Every change, in order and by key."""

    def __init__(self) -> None:
        self.revision = 0
        self.newest = 0  # the revision of the last change that is not a heartbeat
        self.changes: list[Change] = []
        self.at: dict[int, Change] = {}
        self.of: dict[str, list[Change]] = {}  # by key
        self.removed: dict[str, int] = {}  # by uid
        self._by_resource: dict[str, tuple[list[int], list[Change]]] = {}
        self.values: dict[str, tuple[int, bytes]] = {}  # current values
        self._now: dict[str, Version] = {}
        self.damaged: dict[str, bytes] = {}  # what is stored in place of damaged values
        self.ever_damaged: set[tuple[str, int]] = set()  # keys and revisions

    def read_on(self, store: SqliteStore) -> bool:
        """Reads new commits. Returns whether there were any."""
        before = len(self.changes)
        for revision, key, value in store.database.reader.execute(_LOG, (self.revision,)):
            self._add(revision, key, value)
        return len(self.changes) > before

    def _add(self, revision: int, key: str, value: bytes | None) -> None:
        self.revision = revision
        self.damaged.pop(key, None)
        if value is None:
            del self.values[key]
        else:
            self.values[key] = (revision, value)
        if key.startswith(_NOT_OBJECTS):
            return
        if not key.startswith(_HEARTBEATS):
            self.newest = revision
        before = self._now.pop(key, None)
        after = None if value is None else _decode(value)
        if after is not None:
            self._now[key] = after
        change = Change(revision, key, before, after)
        self.changes.append(change)
        self.at[revision] = change
        self.of.setdefault(key, []).append(change)
        if before is not None and after is None:
            self.removed[before.metadata.uid] = revision
        revisions, changes = self._by_resource.setdefault(key.split("/", 2)[1], ([], []))
        revisions.append(revision)
        changes.append(change)

    def note_damage(self, key: str, stored: bytes) -> None:
        """Records that this is stored in place of the object's value."""
        self.damaged[key] = stored
        self.ever_damaged.add((key, self.values[key][0]))

    def differs_from(self, store: SqliteStore) -> str:
        """Describes the difference between the store and the history; empty if they agree."""
        there = {key: (revision, value) for key, revision, value in store.database.reader.execute(_LIVE)}
        wanted = self.values | {key: (self.values[key][0], stored) for key, stored in self.damaged.items()}
        if there == wanted:
            return ""
        wrong = sorted(key for key in there.keys() | wanted.keys() if there.get(key) != wanted.get(key))
        return ", ".join(f"{key}: {wanted.get(key)} was committed, {there.get(key)} is there" for key in wrong[:3])

    def within(self, resource: str, namespace: str, *, after: int) -> Iterator[Change]:
        """Yields the changes of a range after a revision."""
        prefix = f"objects/{resource}/{namespace}/" if namespace else f"objects/{resource}/"
        revisions, changes = self._by_resource.get(resource, ([], []))
        for at in range(bisect_right(revisions, after), len(changes)):
            if changes[at].key.startswith(prefix):
                yield changes[at]

    def state(self, resource: str, namespace: str, revision: int) -> dict[str, int]:
        """Returns what a range held at a revision: its keys, each with the revision of its last write."""
        found: dict[str, int] = {}
        for change in self.within(resource, namespace, after=0):
            if change.revision > revision:
                break
            if change.after is None:
                del found[change.key]
            else:
                found[change.key] = change.revision
        return found

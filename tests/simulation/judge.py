"""Checks everything that happens: commits, responses to clients, and the final state once the system is quiescent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from probate.store.contract import CommitResult, FailedGuards, Txn
from probate.store.sqlite.store import SqliteStore
from simulation.connection import Answer
from simulation.history import Change, History
from simulation.kinds import Kind
from simulation.object_graph import ObjectGraph
from simulation.rules import Rules
from simulation.tenants import IDS, TenantIndex, tenants_in

SEEN_LATE = 0.1
"""How many seconds after a commit the judge may look at it at the latest: the store has noted its time before."""


class Violation(Exception):
    """A rule was violated."""


class Judge:
    """Checks one run. Changes are checked in commit order, as soon as their actor is known."""

    def __init__(self, log: Callable[[str], None], fail: Callable[[BaseException], None]) -> None:
        self._log = log
        self._fail = fail
        self.history = History()
        self.tenants = TenantIndex()
        self.world = ObjectGraph()
        self._rules = Rules(self.world, self.history.damaged)
        self._waiting: deque[Change] = deque()
        self._actors: dict[int, str] = {}
        self._groups: tuple[SqliteStore | None, int] = (None, -1)
        self._reached: list[tuple[float, int]] = []  # when which revision had been reached
        self.clock_was_set = False  # before the server started: then it takes the times that it noted before for others

    # --- what is committed ----------------------------------------------------------------------------------------------

    def look(self, store: SqliteStore | None) -> None:
        """Reads new commits from the store."""
        if store is None or (store, store.groups_written) == self._groups:
            return
        self._groups = (store, store.groups_written)
        read = len(self.history.changes)
        self.history.read_on(store)
        self._waiting.extend(self.history.changes[read:])
        for change in self.history.changes[read:]:
            self.tenants.apply(change)
        if wrong := self.tenants.difference(store):
            self._violation(f"at revision {self.history.revision}, index entries of tenants are wrong: {wrong}")
        self._reached.append((asyncio.get_running_loop().time(), self.history.revision))

    def compacting(self, before: int, *, keep: float) -> None:
        """Checks a compaction: it may drop only revisions that are older than the retention period."""
        now = asyncio.get_running_loop().time()
        reached = (revision for moment, revision in self._reached if moment <= now - keep + SEEN_LATE)
        old = max([1, *reached])  # an empty store is at 1
        if before > old and not self.clock_was_set:
            self._violation(f"history before {before} was forgotten, but what is kept begins at {old}")

    def written(self, txns: Sequence[Txn], outcomes: Sequence[CommitResult], actor: str) -> None:
        """Records the actor of each committed transaction."""
        for outcome in outcomes:
            if not isinstance(outcome, FailedGuards):
                self._actors[outcome] = actor
        self._judge()

    def _judge(self) -> None:
        while self._waiting and self._waiting[0].revision in self._actors:
            change = self._waiting.popleft()
            actor = self._actors.pop(change.revision)
            self._log(f"{change.revision} {actor}: {described(change)}")
            for broken in self._rules.broken_by(change, actor):
                self._fail(Violation(f"at revision {change.revision}, by {actor}: {broken}"))
            self.world.apply(change)

    def _violation(self, what: str) -> Violation:
        """Returns a violation that ends the run, also if the raised exception is swallowed."""
        violation = Violation(what)
        self._fail(violation)
        return violation

    def compare(self, store: SqliteStore) -> None:
        """Checks that the store holds exactly what was committed."""
        wrong = self.history.differs_from(store)
        if wrong:
            raise self._violation(f"the store is not what was committed to it: {wrong}")

    # --- responses to clients ------------------------------------------------------------------------------------------

    def acknowledged(self, answer: Answer, kind: Kind, namespace: str) -> None:
        """Checks that an acknowledged write is in the history."""
        self.sane(answer)
        if answer.code not in (200, 201, 202):
            return
        if answer.body["kind"] == "Status":
            uid = answer.body["details"]["uid"]
            if uid not in self.history.removed:
                raise self._violation(f"the deletion of {uid} was acknowledged, but it is there")
            return
        meta = answer.body["metadata"]
        self._check_is_version(kind.key(namespace, meta["name"]), meta)

    def sane(self, answer: Answer) -> None:
        if answer.code == 500 and not self._is_of_damage(answer):
            raise self._violation(f"a request failed in a way nobody foresaw: {answer.body}")

    def _is_of_damage(self, answer: Answer) -> bool:
        """Whether the response reports a damaged object, and an object of that name was damaged."""
        if answer.body.get("reason") != "StorageReadError":
            return False
        about = answer.body["details"]
        resource = f"{about['kind']}.{about['group']}" if about.get("group") else about["kind"]
        return any(key.split("/")[1::2] == [resource, about["name"]] for key, _ in self.history.ever_damaged)

    def _check_is_version(self, key: str, meta: dict[str, Any]) -> None:
        change = self.history.at.get(int(meta["resourceVersion"]))
        found = change and (change.after or change.before)
        if change is None or found is None or change.key != key or found.metadata.uid != meta["uid"]:
            raise self._violation(f"{key} ({meta['uid']}) was shown at {meta['resourceVersion']}, where it never was: {change}")

    def got(self, answer: Answer, key: str, since: int) -> None:
        """Checks that a read returned the object as it was at some time since the read began, at revision `since`."""
        self.sane(answer)
        changes = self.history.of.get(key, [])
        possible = [change for change in changes if change.revision > since]
        before = [change for change in changes if change.revision <= since]
        if answer.code == 200:
            meta = answer.body["metadata"]
            self._check_is_version(key, meta)
            if before and int(meta["resourceVersion"]) < before[-1].revision:
                raise self._violation(
                    f"{key} was read at {meta['resourceVersion']} after it had been changed at {before[-1].revision}"
                )
        elif answer.code == 404 and before and before[-1].after is not None and all(change.after for change in possible):
            raise self._violation(f"{key} was not found although it was there all the time, since {before[-1].revision}")

    def listed(self, answer: Answer, kind: Kind, namespace: str, *, since: int) -> None:
        """Checks that a list shows a range exactly as it was at its revision, which is not before the request."""
        self.sane(answer)
        if answer.code != 200:
            return
        revision = int(answer.body["metadata"]["resourceVersion"])
        if revision < since:
            raise self._violation(f"a list of {kind.resource} shows revision {revision} after {since} had been reached")
        shown = {
            kind.key(one["metadata"].get("namespace", ""), one["metadata"]["name"]): int(one["metadata"]["resourceVersion"])
            for one in answer.body["items"]
        }
        there = self.history.state(kind.resource, namespace, revision)
        damaged = self.history.ever_damaged  # these may be left out, or shown as they were read before
        if damaged:
            shown, there = ({key: at for key, at in some.items() if (key, at) not in damaged} for some in (shown, there))
        if shown != there:
            raise self._violation(f"a list of {kind.resource} in {namespace!r} at {revision} shows {shown}, but there was {there}")

    def seen_by_tenant(self, answer: Answer) -> None:
        """Checks that the response to a tenant's user has no names of the physical view.

        It may have them in owner references: users of the physical view write wrong ones, whose names are shown as they are.
        """
        self.sane(answer)
        shown = [answer.body, *answer.body.get("items", ())]
        metas = [one.pop("metadata", {}) for one in shown]
        text = orjson.dumps([shown, [{**meta, "ownerReferences": ()} for meta in metas]]).decode()
        for one, meta in zip(shown, metas, strict=True):
            one["metadata"] = meta
        if found := [prefix for tenant in IDS if (prefix := f"{tenant}-") in text]:
            raise self._violation(f"a tenant was shown {found}: {text}")

    def listed_by_tenant(self, answer: Answer, kind: Kind, namespace: str, *, tenant: str, since: int) -> None:
        """Checks that a list shows all of a tenant's range and nothing else, exactly as it was at its revision."""
        if answer.code != 200:
            return
        revision = int(answer.body["metadata"]["resourceVersion"])
        if revision < since:
            raise self._violation(f"a tenant's list of {kind.resource} shows revision {revision} after {since} had been reached")
        shown = {(_path(one["metadata"])): int(one["metadata"]["resourceVersion"]) for one in answer.body["items"]}
        before = self.history.state(kind.resource, "", revision)
        there = {
            key.split("/", 2)[2].removeprefix("-/").removeprefix(f"{tenant}-"): at
            for key, at in before.items()
            if tenant in tenants_in(key) and (not namespace or key.split("/")[2] == f"{tenant}-{namespace}")
        }
        if shown != there and not self.history.ever_damaged:
            raise self._violation(
                f"a list of {kind.resource} of tenant {tenant} at {revision} shows {shown}, but there was {there}"
            )


def _path(meta: dict[str, Any]) -> str:
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def described(change: Change) -> str:
    """Describes a change in one line."""
    found = change.after
    if found is None:
        return f"{change.key} ({change.before.metadata.uid[:4] if change.before else ''}) removed"
    meta = found.metadata
    owners = " ".join(
        f"{one.kind}/{one.name}/{one.uid[:4]}{'!' if one.block_owner_deletion else ''}" for one in meta.owner_references
    )
    what = "created" if change.before is None else "deleting" if found.is_deleting else "changed"
    return f"{change.key} ({meta.uid[:4]}) {what}, owners [{owners}], finalizers [{' '.join(meta.finalizers)}]"

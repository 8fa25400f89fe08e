"""The embedded engine: implements the store contract on SQLite.

    event loop  evaluates transactions (group_commit, writes), reads (reads, history_reads), notifies watchers (watch_hub)
    one thread  waits for the disk: commits and sweep steps on the writing connection; also evaluates deletes in bulk
    another     moves committed pages into the database file (checkpoints), on its own connection

Reads use their own connection (snapshot_reader), so they never wait for a write. `memory:` is the same code on a database in
memory, with one connection and no threads, so each group is evaluated and committed in one turn of the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.store import argument_checks, keys
from probate.store.contract import (
    CommitResult,
    DamagedRecord,
    Event,
    Limits,
    Page,
    ReadResult,
    Record,
    Revision,
    Txn,
    UnchangedSince,
    Watch,
)
from probate.store.damaged_objects import DamagedObjects
from probate.store.sqlite import compaction, database, group_commit, history_reads, reads, sqlite_failures, writes
from probate.store.sqlite.files import file_checks
from probate.store.sqlite.files.durability import Durability
from probate.store.sqlite.integrity.row_checksums import VerifiedRevisions
from probate.store.sqlite.snapshot_reader import SnapshotReader
from probate.store.sqlite.value_cache import ValueCache
from probate.store.unchanged_since import UnchangedSinceTracker
from probate.store.watch_hub import HistoryChunk, HubWatch, WatchBuffer, WatchHub

log = logging.getLogger(__name__)

LIMITS = Limits(key_bytes=keys.MAX_BYTES, value_bytes=3 * 1024 * 1024, entries=2_000, guards=2_000, page_size=10_000)
CHUNK_REVISIONS = 2_000
CHUNK_BYTES = 8 * 1024 * 1024
PUBLISH_SLICE, MIN_PUBLISH_SLICE = 512, 32
"""Changes that are published before other tasks of the event loop run. The smaller number applies while requests are arriving."""
_RECORD_TIME = "INSERT INTO times VALUES (?, ?) ON CONFLICT (time) DO UPDATE SET rev = excluded.rev"


async def open_file(
    path: Path, *, buffer: WatchBuffer | None = None, clock: Clock | None = None, vfs: str | None = None
) -> SqliteStore:
    """Opens the store in this file; creates it if it is missing. Raises `CannotOpen` with the reason and a remedy.

    With a clock, the files are also checked while nothing is written. `vfs` names the SQLite VFS to use instead of the default one.
    """
    opened = await database.open_in_file(path, vfs)
    try:
        return SqliteStore(opened, buffer or WatchBuffer(), clock)
    except BaseException:
        opened.close()
        raise


async def open_memory(existing: database.Database | None = None, *, buffer: WatchBuffer | None = None) -> SqliteStore:
    """Opens a store in memory: an empty one, or one on the `database` of a store that was closed."""
    return SqliteStore(existing or database.open_in_memory(), buffer or WatchBuffer())


class SqliteStore:
    """An open store on SQLite. Created by `open_file` and `open_memory`."""

    def __init__(self, opened: database.Database, buffer: WatchBuffer, clock: Clock | None = None) -> None:
        self.database = opened
        self.damaged_objects = DamagedObjects()
        has_reader = opened.reader is not opened.writer
        self._verified = VerifiedRevisions(is_on=has_reader)
        self._snapshot = SnapshotReader(opened.reader, keeps_snapshot=has_reader)
        self._unchanged_since = UnchangedSinceTracker()
        self._values = ValueCache()
        self._compacted = compaction.compacted_revision(opened.writer)
        self._committer = self._create_committer(opened)
        self._hub = WatchHub(self._committer.revision, buffer)
        self._failure: errors.ApiError | None = None
        self._lost: errors.StoreFilesLost | None = None  # the reason why writes are refused while reads continue
        self._closing: asyncio.Task[None] | None = None
        self._sweep_requested = asyncio.Event()
        self._sweep_requested.set()
        self._write_task = tasks.start_supervised(self._committer.run(), name="group commit", on_failure=self._break)
        self._background_tasks = self._start_background_tasks(opened, clock)

    def _create_committer(self, opened: database.Database) -> group_commit.GroupCommitter:
        durability = opened.durability
        confirm = _confirm_nothing if durability is None else durability.confirm
        committer = group_commit.GroupCommitter(
            opened.writer,
            opened.offload,
            self._publish,
            is_watched=self._is_watched,
            values=self._values,
            turn=opened.turn,
            hooks=group_commit.Hooks(self._snapshot.release, confirm, self._on_files_lost),
        )
        committer.on_foreign_write = self._verified.clear
        return committer

    def _start_background_tasks(self, opened: database.Database, clock: Clock | None) -> list[asyncio.Task[None]]:
        background = [tasks.start_supervised(self._sweep(), name="sweep", on_failure=self._break)]
        if opened.checkpoints is not None:
            checkpoints = opened.checkpoints.run(self._committer, opened.writer, on_lost=self._on_files_lost)
            background.append(tasks.start_supervised(checkpoints, name="checkpoint", on_failure=self._break))
        if opened.durability is not None and clock is not None:
            file_check = self._check_files_periodically(opened.durability, clock)
            background.append(tasks.start_supervised(file_check, name="store files", on_failure=self._break))
        return background

    @property
    def limits(self) -> Limits:
        return LIMITS

    @property
    def groups_written(self) -> int:
        """The number of groups, hence syncs, written so far."""
        return self._committer.written

    async def revision(self) -> Revision:
        self._check_is_open()
        return self._snapshot.revision()

    def unchanged_since(self, prefix: str) -> UnchangedSince | None:
        if self._failure is not None:
            self._check_is_open()
        return self._unchanged_since.get(prefix, recorded=self._committer.revision, now=self._snapshot.revision())

    def confirmed_revision(self) -> Revision | None:
        return self._hub.revision if self._failure is None else None

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        keys.check_key(key)
        self._check_is_open()
        if at is None:
            return self.damaged_objects.intact_record(self._snapshot.read(reads.record, key))
        argument_checks.check_at(key, at)
        self._check_is_available(at)
        return self.damaged_objects.intact_record(self._snapshot.read(history_reads.record, key, at))

    async def read_many(self, requested_keys: Sequence[str]) -> list[ReadResult]:
        argument_checks.check_read_many(requested_keys, LIMITS)
        self._check_is_open()
        results = self._snapshot.read(reads.records, requested_keys)
        self.damaged_objects.add([result for result in results if type(result) is DamagedRecord])
        self._values.add(results)
        return results

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        argument_checks.check_scan(prefix, after, limit, limits=LIMITS)
        self._check_is_open()
        now = self._snapshot.revision()
        if at is None or (at == now and keys.is_object(prefix)):
            page = self._snapshot.read(reads.page, reads.ScanRange(prefix, after, limit), now, verified=self._verified)
        else:
            argument_checks.check_at(prefix, at)
            self._check_is_available(at)
            page = self._snapshot.read(history_reads.page, prefix, after=after, limit=limit, at=at)
        if page.damaged_records:
            self.damaged_objects.add(page.damaged_records)
        return page

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        argument_checks.check_scan_many(prefixes, limit, LIMITS)
        self._check_is_open()
        ranges = [reads.ScanRange(prefix, "", limit) for prefix in prefixes]
        pages = self._snapshot.read(reads.pages, ranges, self._snapshot.revision(), verified=self._verified)
        self.damaged_objects.add([damaged for page in pages for damaged in page.damaged_records])
        return pages

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        argument_checks.check_scan_many(prefixes, 1, LIMITS)
        self._check_is_open()
        return self._snapshot.read(reads.nonempty_ranges, prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        argument_checks.check_scan(prefix, after, 1, limits=LIMITS)
        self._check_is_open()
        if at is None:
            return self._snapshot.read(reads.count, prefix, after)
        argument_checks.check_at(prefix, at)
        self._check_is_available(at)
        return self._snapshot.read(history_reads.count, prefix, after=after, at=at)

    async def child_prefixes(self, prefix: str) -> list[str]:
        keys.check_prefix(prefix)
        self._check_is_open()
        return self._snapshot.read(reads.child_prefixes, prefix)

    async def commit(self, txn: Txn) -> CommitResult:
        if self._failure is not None:
            self._check_is_open()
        argument_checks.check_txn(txn, LIMITS)
        return (await self._committer.commit(txn))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        self._check_is_open()
        copy = tuple(txns)  # the caller may change its list meanwhile
        argument_checks.check_txns(copy, LIMITS)
        return await self._committer.commit_many(copy) if copy else []

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        argument_checks.check_watch(prefix)
        return self._watch(prefix, after)

    async def compact(self, before: Revision) -> None:
        self._check_is_open()
        self._check_is_reached(before)
        if before <= self._compacted:
            return
        await self._committer.run_between_groups(lambda: compaction.mark_compacted(self.database.writer, before))
        self._compacted = max(self._compacted, before)
        self._sweep_requested.set()

    async def record_time(self, now: float) -> None:
        self._check_is_open()
        writer = self.database.writer
        await self._committer.run_between_groups(lambda: writer.execute(_RECORD_TIME, (now, reads.revision(writer))).get)

    async def revision_at(self, time: float) -> Revision | None:
        self._check_is_open()
        return self._snapshot.read(reads.revision_at, time)

    async def check(self) -> None:
        self._check_is_open()
        durability = self.database.durability
        if durability is not None:
            await self._check_can_write(durability)
        self._snapshot.revision()

    async def _check_can_write(self, durability: Durability) -> None:
        self._check_files(durability)
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)
        if self._committer.is_full:
            await self._committer.run_between_groups(lambda: compaction.probe_write(self.database.writer))
            self._committer.is_full = False
        durability.check_free_space()

    def _check_files(self, durability: Durability) -> None:
        try:
            durability.check()
        except errors.StoreFilesLost as error:
            self._on_files_lost(error)

    async def _check_files_periodically(self, durability: Durability, clock: Clock) -> None:
        """Detects lost files even while nothing is written. Never returns."""
        while True:
            await clock.sleep(file_checks.CHECK_SECONDS)
            self._check_files(durability)

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._failure = self._failure or sqlite_failures.closed()
        await tasks.stop(*self._background_tasks)
        await self._committer.drain()
        await tasks.stop(self._write_task)
        self._hub.close(sqlite_failures.closed())
        self.database.close()

    async def _publish(self, changes: list[writes.Change]) -> None:
        """Publishes durable changes in slices, so that other tasks can run. Reads during this are ahead of watches."""
        self._snapshot.release()
        self.damaged_objects.remove_replaced(changes)
        self._unchanged_since.record_changes((change.key for change in changes), self._committer.revision)
        size = time_slices.slice_size(PUBLISH_SLICE, MIN_PUBLISH_SLICE)
        for start in range(0, len(changes), size):
            if start:
                await time_slices.wait_turn()
            slice_ = changes[start : start + size]
            events = [event for event in map(self._event, slice_) if event is not None]
            self._hub.publish_with_damaged(events, revision=slice_[-1].revision)
        if self.database.checkpoints is not None:
            self.database.checkpoints.check_due(self.database.writer)

    def _is_watched(self, key: str) -> bool:
        return self._hub.has_watchers(key)

    def _event(self, change: writes.Change) -> Event | DamagedRecord | None:
        """Returns the event of a change; a `DamagedRecord` if it cannot be shown; None if the key has no watchers."""
        if change.replaced is None:
            return Event(change.revision, change.key, change.value, None)
        previous = change.previous
        if previous is None:
            if not self._hub.has_watchers(change.key):
                return None
            # The first watcher came after the change was evaluated, or the previous version is damaged.
            record = self._snapshot.read(history_reads.version_at, change.key, change.replaced)
            if type(record) is DamagedRecord:
                return DamagedRecord(change.key, change.revision, record.problem)
            return Event(change.revision, change.key, change.value, record)  # type: ignore[arg-type]
        return Event(change.revision, change.key, change.value, Record(change.key, previous, change.replaced))

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        self._check_is_open()
        self._check_is_available(after)
        async with HubWatch(self._hub, self._history, prefix, after=after) as watch:
            yield watch

    async def _history(self, prefix: str, after: Revision) -> AsyncGenerator[HistoryChunk, None]:
        goal = self._hub.revision
        while after < goal:
            self._check_is_open()
            self._check_is_available(after)
            to = Revision(min(after + CHUNK_REVISIONS, goal))
            chunk = self._snapshot.read(history_reads.changes, prefix, after=after, to=to, size=CHUNK_BYTES)
            yield chunk
            after = chunk[1]
            await asyncio.sleep(0)

    async def _sweep(self) -> None:
        """Removes compacted rows step by step, each step between two groups. Never returns."""
        while True:
            await self._sweep_requested.wait()
            self._sweep_requested.clear()
            try:
                while await self._sweep_step(self._compacted):
                    pass
            except (errors.StoreFull, errors.StoreUnavailable) as error:
                log.warning("compacted history not removed, trying again at the next compaction", extra=facts(error=str(error)))

    async def _sweep_step(self, until: Revision) -> bool:
        # `until` is passed, not read from the file: readers on the loop may not know yet of a compaction just marked in the file.
        return await self._committer.run_between_groups(lambda: compaction.sweep_step(self.database.writer, until))

    def _check_is_open(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(*self._failure.args)

    def _check_is_reached(self, revision: Revision) -> None:
        if revision > self._committer.revision and revision > self._snapshot.revision():
            raise errors.FutureRevision(f"revision {revision} is ahead of this store, which is at {self._committer.revision}")

    def _check_is_available(self, revision: Revision) -> None:
        """Raises `FutureRevision` or `Gone` unless the store has reached this revision and not compacted it."""
        self._check_is_reached(revision)
        if revision < self._compacted:
            raise errors.Gone(
                f"revision {revision} is too old: history begins at {self._compacted}. List again and continue from there"
            )

    def _on_files_lost(self, error: errors.StoreFilesLost) -> None:
        """Stops all writes and checkpoints, because the files are not as the store left them. Reads continue as far as possible."""
        if self._lost is not None:
            return
        log.error("store files lost, writes are refused", extra=facts(reason=str(error)))
        self._lost = error
        if self.database.durability is not None:
            self.database.durability.is_lost = True
        self._committer.stop(error)
        for task in self._background_tasks:
            task.cancel()

    def _break(self, error: BaseException) -> None:
        """Stops the whole store after an unexpected error of the writer or a background task."""
        log.error("store stopped after an unexpected error", exc_info=error)
        self._failure = errors.StoreUnavailable(f"the store stopped after an unexpected error: {error!r}. Restart the server")
        self._committer.stop(self._failure)
        self._hub.close(self._failure)


def _confirm_nothing(_revision: Revision) -> None:
    """Confirms a commit in memory, where there are no files to check."""

"""The embedded engine: the contract on SQLite.

    loop        evaluates transactions (groups, writes), reads (reads, past), tells watchers (hub)
    one thread  waits for the disk: commits and the steps of a sweep, on the writing connection; and evaluates deletes in bulk
    another     moves committed pages into the file (checkpoints), on a connection of its own

Reads use a connection of their own (moments), so they never wait for a write. `memory:` is the same code on a database in memory:
one connection and no thread, hence each group is evaluated and committed in one turn of the loop.
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
from probate.store import call_checks, keys
from probate.store.contract import Calm, Damaged, Event, Found, Limits, Outcome, Page, Record, Revision, Txn, Watch
from probate.store.damage import Damage
from probate.store.hub import Buffer, Chapter, Hub, HubWatch
from probate.store.sqlite import compaction, database, failures, group_commit, history_reads, reads, writes
from probate.store.sqlite.files import file_checks
from probate.store.sqlite.files.durability import Durability
from probate.store.sqlite.row_checksums import Verified
from probate.store.sqlite.snapshot_reader import Moments
from probate.store.sqlite.value_cache import Lately
from probate.store.unchanged_since import Calmness

log = logging.getLogger(__name__)

LIMITS = Limits(key_bytes=keys.MAX_BYTES, value_bytes=3 * 1024 * 1024, entries=2_000, guards=2_000, page=10_000)
CHAPTER_REVISIONS = 2_000
PART, SMALL_PART = 512, 32
"""Changes that are made known before others get the event loop; few while others ask."""
CHAPTER_BYTES = 8 * 1024 * 1024
_NOTE = "INSERT INTO times VALUES (?, ?) ON CONFLICT (time) DO UPDATE SET rev = excluded.rev"


async def open_file(path: Path, *, buffer: Buffer | None = None, clock: Clock | None = None, vfs: str | None = None) -> SqliteStore:
    """The store in this file, made if it is missing. `CannotOpen` says why it must not be used, and what to do.

    With a clock, the files are also looked at while nothing is written. `vfs` names the SQLite VFS to use, if not the system's own.
    """
    opened = await database.in_file(path, vfs)
    try:
        return SqliteStore(opened, buffer or Buffer(), clock)
    except BaseException:
        opened.close()
        raise


async def open_memory(left: database.Database | None = None, *, buffer: Buffer | None = None) -> SqliteStore:
    """A store in memory: an empty one, or the one that a closed store left behind as its `database`."""
    return SqliteStore(left or database.in_memory(), buffer or Buffer())


class SqliteStore:
    """An open store on SQLite. Made by `open_file` and `open_memory`."""

    def __init__(self, opened: database.Database, buffer: Buffer, clock: Clock | None = None) -> None:
        self.database = opened
        durability = opened.durability
        self.damage = Damage()
        self._verified = Verified(is_on=opened.reader is not opened.writer)
        self._moments = Moments(opened.reader, holds=opened.reader is not opened.writer)
        self._calmness = Calmness()
        self._lately = Lately()
        self._compacted = compaction.compacted(opened.writer)
        self._groups = group_commit.Groups(
            opened.writer,
            opened.offload,
            self._announce,
            self._is_watched,
            self._lately,
            turn=opened.turn,
            hooks=group_commit.Hooks(
                self._moments.let_go, _confirm_nothing if durability is None else durability.confirm, self._lose
            ),
        )
        self._groups.on_foreign_write = self._verified.forget
        self._hub = Hub(self._groups.revision, buffer)
        self._failure: errors.ApiError | None = None
        self._lost: errors.StoreFilesLost | None = None  # why nothing can be written any more, while reads go on
        self._closing: asyncio.Task[None] | None = None
        self._sweep_wanted = asyncio.Event()
        self._sweep_wanted.set()
        self._writing = tasks.guard(self._groups.run(), name="group commit", on_failure=self._break)
        self._tending = [tasks.guard(self._sweep(), name="sweep", on_failure=self._break)]
        if opened.checkpoints is not None:
            checkpointing = opened.checkpoints.run(self._groups, opened.writer, on_lost=self._lose)
            self._tending.append(tasks.guard(checkpointing, name="checkpoint", on_failure=self._break))
        if durability is not None and clock is not None:
            looking = self._look_at_files(durability, clock)
            self._tending.append(tasks.guard(looking, name="store files", on_failure=self._break))

    @property
    def limits(self) -> Limits:
        return LIMITS

    @property
    def groups_written(self) -> int:
        """How many syncs the writes so far have cost."""
        return self._groups.written

    async def revision(self) -> Revision:
        self._check_is_open()
        return self._moments.revision()

    def calm(self, prefix: str) -> Calm | None:
        if self._failure is not None:
            self._check_is_open()
        return self._calmness.of(prefix, noted=self._groups.revision, now=self._moments.revision())

    def confirmed(self) -> Revision | None:
        return self._hub.revision if self._failure is None else None

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        keys.check_key(key)
        self._check_is_open()
        if at is None:
            return self.damage.readable(self._moments.read(reads.record, key))
        call_checks.check_at(key, at)
        self._check_is_known(at)
        return self.damage.readable(self._moments.read(history_reads.record, key, at))

    async def read_many(self, wanted: Sequence[str]) -> list[Found]:
        call_checks.check_read_many(wanted, LIMITS)
        self._check_is_open()
        found = self._moments.read(reads.records, wanted)
        self.damage.note([one for one in found if type(one) is Damaged])
        self._lately.note(found)
        return found

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        call_checks.check_scan(prefix, after, limit, LIMITS)
        self._check_is_open()
        now = self._moments.revision()
        if at is None or (at == now and keys.is_object(prefix)):
            page = self._moments.read(reads.page, reads.Range(prefix, after, limit), now, self._verified)
        else:
            call_checks.check_at(prefix, at)
            self._check_is_known(at)
            page = self._moments.read(history_reads.page, prefix, after, limit, at)
        if page.damaged:
            self.damage.note(page.damaged)
        return page

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        call_checks.check_scan_many(prefixes, limit, LIMITS)
        self._check_is_open()
        ranges = [reads.Range(prefix, "", limit) for prefix in prefixes]
        pages = self._moments.read(reads.pages, ranges, self._moments.revision(), self._verified)
        self.damage.note([one for page in pages for one in page.damaged])
        return pages

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        call_checks.check_scan_many(prefixes, 1, LIMITS)
        self._check_is_open()
        return self._moments.read(reads.filled, prefixes)

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        call_checks.check_scan(prefix, after, 1, LIMITS)
        self._check_is_open()
        if at is None:
            return self._moments.read(reads.count, prefix, after)
        call_checks.check_at(prefix, at)
        self._check_is_known(at)
        return self._moments.read(history_reads.count, prefix, after, at)

    async def folders(self, prefix: str) -> list[str]:
        keys.check_prefix(prefix)
        self._check_is_open()
        return self._moments.read(reads.folders, prefix)

    async def commit(self, txn: Txn) -> Outcome:
        if self._failure is not None:
            self._check_is_open()
        call_checks.check_txn(txn, LIMITS)
        return (await self._groups.commit(txn))[0]

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        self._check_is_open()
        batch = tuple(txns)  # the caller may do what it likes with its list
        call_checks.check_txns(batch, LIMITS)
        return await self._groups.commit_many(batch) if batch else []

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        call_checks.check_watch(prefix)
        return self._watch(prefix, after)

    async def compact(self, before: Revision) -> None:
        self._check_is_open()
        self._check_is_reached(before)
        if before <= self._compacted:
            return
        await self._groups.between(lambda: compaction.mark(self.database.writer, before))
        self._compacted = max(self._compacted, before)
        self._sweep_wanted.set()

    async def note_time(self, now: float) -> None:
        self._check_is_open()
        writer = self.database.writer
        await self._groups.between(lambda: writer.execute(_NOTE, (now, reads.revision(writer))).get)

    async def revision_at(self, time: float) -> Revision | None:
        self._check_is_open()
        return self._moments.read(reads.noted, time)

    async def check(self) -> None:
        self._check_is_open()
        durability = self.database.durability
        if durability is not None:
            await self._check_file(durability)
        self._moments.revision()

    async def _check_file(self, durability: Durability) -> None:
        self._check_files(durability)
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)
        if self._groups.is_full:
            await self._groups.between(lambda: compaction.rewrite_mark(self.database.writer))
            self._groups.is_full = False
        durability.check_room()

    def _check_files(self, durability: Durability) -> None:
        try:
            durability.check()
        except errors.StoreFilesLost as error:
            self._lose(error)

    async def _look_at_files(self, durability: Durability, clock: Clock) -> None:
        """Notice damage also while nobody writes. Never returns."""
        while True:
            await clock.sleep(file_checks.CHECK_SECONDS)
            self._check_files(durability)

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._failure = self._failure or failures.closed()
        await tasks.stop(*self._tending)
        await self._groups.drain()
        await tasks.stop(self._writing)
        self._hub.close(failures.closed())
        self.database.close()

    async def _announce(self, changes: list[writes.Change]) -> None:
        """Make the changes known, a part at a time so that others get their turn. (Whoever reads meanwhile is ahead of watches.)"""
        self._moments.let_go()
        self.damage.forget(changes)
        self._calmness.note((change.key for change in changes), self._groups.revision)
        piece = time_slices.piece(PART, SMALL_PART)
        for start in range(0, len(changes), piece):
            if start:
                await time_slices.turn()
            part = changes[start : start + piece]
            self._hub.publish_shown([event for event in map(self._event, part) if event is not None], revision=part[-1].revision)
        if self.database.checkpoints is not None:
            self.database.checkpoints.look(self.database.writer)

    def _is_watched(self, key: str) -> bool:
        return self._hub.watches(key)

    def _event(self, change: writes.Change) -> Event | Damaged | None:
        """The change as watchers are told of it; None if nobody can be. One of a damaged version cannot be shown."""
        if change.replaced is None:
            return Event(change.revision, change.key, change.value, None)
        previous = change.previous
        if previous is None:
            if not self._hub.watches(change.key):
                return None
            # The first watcher came after the change was made; or what it replaced is damaged.
            found = self._moments.read(history_reads.of_revision, change.key, change.replaced)
            if type(found) is Damaged:
                return Damaged(change.key, change.revision, found.problem)
            return Event(change.revision, change.key, change.value, found)  # type: ignore[arg-type]
        return Event(change.revision, change.key, change.value, Record(change.key, previous, change.replaced))

    @asynccontextmanager
    async def _watch(self, prefix: str, after: Revision) -> AsyncGenerator[Watch, None]:
        self._check_is_open()
        self._check_is_known(after)
        async with HubWatch(self._hub, self._history, prefix, after) as watch:
            yield watch

    async def _history(self, prefix: str, after: Revision) -> AsyncGenerator[Chapter, None]:
        goal = self._hub.revision
        while after < goal:
            self._check_is_open()
            self._check_is_known(after)
            to = Revision(min(after + CHAPTER_REVISIONS, goal))
            chapter = self._moments.read(history_reads.changes, prefix, after=after, to=to, size=CHAPTER_BYTES)
            yield chapter
            after = chapter[1]
            await asyncio.sleep(0)

    async def _sweep(self) -> None:
        """Remove compacted rows step by step, each between two groups. Never returns."""
        while True:
            await self._sweep_wanted.wait()
            self._sweep_wanted.clear()
            try:
                while await self._sweep_step(self._compacted):
                    pass
            except (errors.StoreFull, errors.StoreUnavailable) as error:
                log.warning("compacted history is not removed yet, the next compaction tries again: %s", error)

    async def _sweep_step(self, until: Revision) -> bool:
        # Given, not read from the file: a compaction marked there this moment may not be known to readers on the loop yet.
        return await self._groups.between(lambda: compaction.step(self.database.writer, until))

    def _check_is_open(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(*self._failure.args)

    def _check_is_reached(self, revision: Revision) -> None:
        if revision > self._groups.revision and revision > self._moments.revision():
            raise errors.FutureRevision(f"revision {revision} is ahead of this store, which is at {self._groups.revision}")

    def _check_is_known(self, revision: Revision) -> None:
        self._check_is_reached(revision)
        if revision < self._compacted:
            raise errors.Gone(
                f"revision {revision} is too old: history begins at {self._compacted}. List again and go on from there"
            )

    def _lose(self, error: errors.StoreFilesLost) -> None:
        """The files are not what they were: acknowledge nothing more, and move no pages. What can be read is read."""
        if self._lost is not None:
            return
        log.error("store files lost, writes are refused", extra=facts(reason=str(error)))
        self._lost = error
        if self.database.durability is not None:
            self.database.durability.is_lost = True
        self._groups.stop(error)
        for task in self._tending:
            task.cancel()

    def _break(self, error: BaseException) -> None:
        """The writer or the sweeper died of something nobody foresaw: stop, rather than go on half alive."""
        log.error("the store stopped", exc_info=error)
        self._failure = errors.StoreUnavailable(f"the store stopped after an unexpected error: {error!r}. Restart the server")
        self._groups.stop(self._failure)
        self._hub.close(self._failure)


def _confirm_nothing(_revision: Revision) -> None:
    """In memory there is no file to look at."""

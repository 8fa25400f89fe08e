"""Regression tests: each is named after a failure that was once possible. tests/contract tests the guarantees themselves."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from probate.core import errors
from probate.core.aio.offload import WorkerThread
from probate.store.contract import Record, Revision, UnchangedSince, create, delete, update
from probate.store.sqlite import group_commit
from probate.store.sqlite.files import checkpoints
from probate.store.sqlite.store import SqliteStore, open_file, open_memory
from probate.store.watch_hub import WatchBuffer


@contextmanager
def held_by_another_program(path: Path) -> Iterator[None]:
    """Another program opens the file and holds its write lock."""
    hold = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print(flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        yield
        other.kill()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "BUSY_TIMEOUT_MS", 20)


async def test_refused_second_open_does_not_drop_the_locks_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    store = await open_file(path)
    await store.commit(create("objects/a/1", b"x"))
    with pytest.raises(errors.CannotOpen):
        await open_file(path)
    log = path.with_name("probate.db-wal")
    before = log.stat().st_ino
    other = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"import sqlite3; d = sqlite3.connect({str(path)!r}); d.execute('SELECT * FROM log').fetchall(); d.close()",
    )
    assert await other.wait() == 0
    assert log.exists(), "another program thought it was the last user of the file"
    assert log.stat().st_ino == before
    await store.close()


async def test_symbolic_link_is_no_way_around_the_lock(tmp_path: Path) -> None:
    store = await open_file(tmp_path / "probate.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "probate.db")
    with pytest.raises(errors.CannotOpen, match="in use by process"):
        await open_file(tmp_path / "link.db")
    await store.close()


async def test_hard_link_is_no_way_around_the_lock(tmp_path: Path) -> None:
    store = await open_file(tmp_path / "probate.db")
    (tmp_path / "twin.db").hardlink_to(tmp_path / "probate.db")
    with pytest.raises(errors.CannotOpen, match="several hard links"):
        await open_file(tmp_path / "twin.db")
    await store.close()


@pytest.mark.usefixtures("impatient")
async def test_file_held_by_another_program_fails_writes_but_not_reads_and_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    store = await open_file(path)
    await store.commit(create("objects/a/1", b"x"))
    with held_by_another_program(path):
        waiting = asyncio.gather(
            *(store.commit(create(f"objects/b/{number}", b"x")) for number in range(3)), return_exceptions=True
        )
        assert await store.read("objects/a/1") is not None
        assert [type(outcome) for outcome in await waiting] == [errors.StoreUnavailable] * 3
        with pytest.raises(errors.StoreUnavailable):
            await store.compact(await store.revision())
    assert isinstance(await store.commit(create("objects/b/1", b"x")), int)
    await store.close()


@pytest.mark.usefixtures("impatient")
async def test_sweep_that_finds_the_file_held_does_not_stop_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "probate.db"
    await (await open_file(path)).close()
    with held_by_another_program(path):
        store = await open_file(path)
        while not caplog.records:  # noqa: ASYNC110 only the log shows it
            await asyncio.sleep(0)
    assert isinstance(await store.commit(create("objects/a/1", b"x")), int)
    await store.close()


async def test_snapshot_kept_for_reads_does_not_let_the_wal_grow_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 50)
    path = tmp_path / "probate.db"
    store = await open_file(path)
    sizes = []
    for number in range(400):
        await store.commit(create(f"objects/a/{number}", b"x" * 20_000))
        for _ in range(20):  # also while a checkpoint is in progress
            assert await store.read("objects/a/0") is not None
            await asyncio.sleep(0)
        sizes.append(path.with_name("probate.db-wal").stat().st_size)
    assert max(sizes) < 400 * 20_000 / 4
    await store.close()


async def test_range_is_not_reported_unchanged_by_a_reader_ahead_of_publication(tmp_path: Path) -> None:
    store = await open_file(tmp_path / "probate.db")
    assert store.unchanged_since("objects/a/") == UnchangedSince(Revision(1), Revision(1))
    await store.commit(create("objects/b/1", b"x"))
    seen: list[UnchangedSince | None] = []

    class SlowThread(WorkerThread):
        async def run(self, call: Callable[[], Any]) -> Any:
            result = await super().run(call)
            seen.append(store.unchanged_since("objects/a/"))  # the commit is on disk but not published yet
            return result

    late = SlowThread("late")
    store._committer._offload = late
    revision = await store.commit(create("objects/a/1", b"x"))
    assert isinstance(revision, int)
    assert seen == [UnchangedSince(revision, revision)]
    late.close()
    await store.close()


async def test_watch_that_joins_after_close_ends() -> None:
    store = await open_memory()
    async with store.watch("objects/", after=await store.revision()) as watch:
        await store.close()
        with pytest.raises(errors.StoreUnavailable):
            await anext(aiter(watch))


async def test_cancelled_wait_does_not_end_the_watch() -> None:
    store = await open_memory()
    async with store.watch("objects/", after=await store.revision()) as watch:
        waiting = asyncio.ensure_future(anext(aiter(watch)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        revision = await store.commit(create("objects/a/1", b"x"))
        assert [event.revision for event in await anext(aiter(watch))] == [revision]
    await store.close()


async def test_close_that_is_cancelled_still_closes_and_all_who_wait_see_the_end(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    store = await open_file(path)
    writing = asyncio.ensure_future(store.commit_many([create(f"objects/a/{number}", b"x") for number in range(3000)]))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await store.close()
    assert len(await writing) == 3000
    await (await open_file(path)).close()


async def test_open_that_is_cancelled_leaves_nothing_locked(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    opening = asyncio.ensure_future(open_file(path))
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    store: SqliteStore | None = None
    while store is None:
        try:
            store = await open_file(path)
        except errors.CannotOpen:
            await asyncio.sleep(0)
    await store.close()


async def test_step_that_fails_unexpectedly_does_not_affect_other_callers() -> None:
    store = await open_memory()
    with pytest.raises(OverflowError):
        await store.record_time(1 << 70)
    assert isinstance(await store.commit(create("objects/a/1", b"x")), int)
    await store.close()


async def test_list_that_its_caller_changes_is_committed_as_it_was_given() -> None:
    store = await open_memory()
    batch = [create(f"objects/a/{number}", b"x") for number in range(10)]
    committing = asyncio.ensure_future(store.commit_many(batch))
    await asyncio.sleep(0)
    batch.clear()
    assert len(await committing) == 10
    await store.close()


async def test_watcher_of_large_objects_is_not_cut_off_by_their_deletion(tmp_path: Path) -> None:
    store = await open_file(tmp_path / "probate.db", buffer=WatchBuffer(events=1000, value_bytes=24 * 1024 * 1024))
    large = b"x" * 1024 * 1024
    made = await store.commit_many([create(f"objects/a/{number}", large) for number in range(40)])
    revisions = [outcome for outcome in made if isinstance(outcome, int)]
    async with store.watch("objects/", after=Revision(max(revisions))) as watch:
        seen = asyncio.ensure_future(_count(watch.__aiter__(), 40))
        await asyncio.sleep(0)
        await store.commit_many([delete(f"objects/a/{number}", revision=Revision(at)) for number, at in enumerate(revisions)])
        assert await seen == 40
    await store.close()


async def _count(watch: object, expected: int) -> int:
    seen = 0
    while seen < expected:
        seen += len(await anext(watch))  # type: ignore[call-overload]
    return seen


async def test_cut_off_watcher_of_an_unchanged_range_can_resume() -> None:
    store = await open_memory(buffer=WatchBuffer(events=5))
    async with store.watch("objects/quiet/", after=await store.revision()) as watch:
        waiting = asyncio.ensure_future(anext(aiter(watch)))
        await asyncio.sleep(0)
        for number in range(20):
            await store.commit(create(f"objects/loud/{number}", b"x"))
        quiet = watch.revision
        assert quiet == await store.revision()
        waiting.cancel()
        await asyncio.sleep(0)
        await store.commit_many([create(f"objects/quiet/{number}", b"x") for number in range(10)])
        with pytest.raises(errors.TooSlow) as cut:
            await anext(aiter(watch))
        assert cut.value.revision == quiet
        assert watch.revision == quiet
    await store.close()


async def test_update_without_a_revision_and_values_that_are_not_bytes_are_rejected() -> None:
    store = await open_memory()
    with pytest.raises(errors.BadRequest):
        update("objects/a/1", b"x", revision=Revision(0))
    with pytest.raises(errors.BadRequest):
        await store.commit(create("objects/a/1", "text"))  # type: ignore[arg-type]
    assert await store.read("objects/a/1") is None
    await store.close()


async def test_rejected_database_of_another_program_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE t (x)")
    kept = {name: (tmp_path / name).read_bytes() for name in ("foreign.db", "foreign.db-wal")}
    with pytest.raises(errors.CannotOpen, match="another program"):
        await open_file(path)
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert not (tmp_path / "foreign.db-lock").exists()
    other.close()


class BrokenDisk(apsw.VFS):
    """SQLite's default VFS, except that syncs of the WAL fail while `is_broken`."""

    is_broken = False

    def __init__(self) -> None:
        super().__init__("broken-disk", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 SQLite's name
        return BrokenFile(name, flags)


class BrokenFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: Any) -> None:
        super().__init__("unix", name, flags)
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._is_log and BrokenDisk.is_broken:
            raise apsw.IOError("the disk is broken")
        super().xSync(flags)


async def test_failed_sync_is_not_reported_as_nothing_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = BrokenDisk()
    try:
        store = await open_file(tmp_path / "probate.db")
        monkeypatch.setattr(BrokenDisk, "is_broken", True)
        with pytest.raises(errors.OutcomeUnknown):
            await store.commit(create("objects/a/1", b"x"))
        monkeypatch.setattr(BrokenDisk, "is_broken", False)
        assert await store.commit(create("objects/a/1", b"y")) == 2
        assert await store.read("objects/a/1") == Record("objects/a/1", b"y", Revision(2))
        await store.close()
    finally:
        disk.unregister()

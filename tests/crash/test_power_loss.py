"""Power losses before each sync in turn: the disk loses or tears everything that was not synced.

After each, the store opens, every acknowledged write is there, and no transaction is there in part.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from probate.core import errors
from probate.store.contract import Revision, Store, Txn, create, delete, update
from probate.store.sqlite import group_commit, schema
from probate.store.sqlite.files import checkpoints
from probate.store.sqlite.store import SqliteStore, open_file
from support.disk_images import SURVIVALS, Crash, simulate_crashes, write_files
from support.faulty_vfs import ACKNOWLEDGE, SYNC, SYNC_FOLDER, RecordingDisk, Step, use_disk

WRITES = 500
NAME = "probate.db"
Work = Callable[[RecordingDisk, Path], Awaitable[None]]
State = dict[str, tuple[bytes, Revision]]
"""Objects and index entries by key."""


class History:
    """The expected content of a store at each revision, recorded by a sequential writer."""

    def __init__(self) -> None:
        self.states: dict[int, State] = {1: {}}
        self.newest = 1

    def record(self, txn: Txn, revision: int) -> None:
        state = dict(self.states[revision - 1])
        if txn.value is None:
            del state[txn.key]
        else:
            state[txn.key] = (txn.value, Revision(revision))
        state |= {entry: (b"", Revision(revision)) for entry in txn.add_entries}
        for entry in txn.remove_entries:
            state.pop(entry, None)
        self.states[revision] = state
        self.newest = revision

    def next(self, rng: random.Random) -> Txn:
        """Returns a create with an index entry, or an update or delete of an existing object."""
        state = self.states[self.newest]
        there = sorted(key for key in state if key.startswith("objects/"))
        choice = rng.random()
        if not there or choice < 0.5:
            key = f"objects/things/a/{self.newest:05}"
            return create(key, rng.randbytes(rng.choice([20, 600, 5_000])), add_entries=[f"owned/o/{key}"])
        key = rng.choice(there)
        if choice < 0.8:
            return update(key, rng.randbytes(600), revision=state[key][1])
        return delete(key, revision=state[key][1], remove_entries=[f"owned/o/{key}"])


async def write(store: SqliteStore, disk: RecordingDisk, history: History, count: int) -> None:
    """Commits transactions one after the other, sometimes several together. Records each before it is acknowledged."""
    rng = random.Random(7)  # noqa: S311
    while history.newest <= count:
        txns = [history.next(rng)]
        history.record(txns[0], history.newest + 1)
        if rng.random() < 0.1:
            txns += [create(f"objects/many/{history.newest:05}/{number}", b"x" * 300) for number in range(5)]
            for txn in txns[1:]:
                history.record(txn, history.newest + 1)
        outcomes = await store.commit_many(txns) if len(txns) > 1 else [await store.commit(txns[0])]
        assert outcomes[-1] == history.newest
        disk.record(Step(ACKNOWLEDGE, revision=history.newest))


async def recorded(folder: Path, work: Work) -> RecordingDisk:
    with use_disk(RecordingDisk("recorded")) as disk:
        disk.begin(folder)
        await work(disk, folder / NAME)
    return disk


async def state_of(store: Store) -> State:
    pages = [await store.scan(prefix, limit=10_000) for prefix in ("objects/", "owned/")]
    return {record.key: (record.value, record.revision) for page in pages for record in page.records}


def assert_contiguous(path: Path) -> None:
    db = apsw.Connection(str(path))
    count, first, last = db.execute("SELECT count(*), min(rev), max(rev) FROM log").get
    assert not count or count == last - first + 1
    db.close()


async def surviving(crash: Crash, survival: str) -> AsyncIterator[tuple[Path, SqliteStore]]:
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        write_files(crash, Path(folder), survival, rng=random.Random(f"{crash.number} {survival}"))  # noqa: S311
        try:
            store = await open_file(Path(folder) / NAME)
        except errors.CannotOpen as error:
            raise AssertionError(f"crash {crash.number}, {survival}: the store is refused: {error}") from error
        yield Path(folder) / NAME, store
        await store.close()


async def assert_history_survives(disk: RecordingDisk, history: History, *, every: int) -> int:
    """Checks the store after each power loss. Returns the number of power losses."""
    number = 0
    for crash in simulate_crashes(disk.before, disk.steps, every=every):
        for survival in SURVIVALS:
            async for path, store in surviving(crash, survival):
                revision = await store.revision()
                assert crash.acknowledged <= revision <= history.newest, f"crash {crash.number}, {survival}: writes were lost"
                assert await state_of(store) == history.states[revision], f"crash {crash.number}, {survival}: half a write is there"
                assert_contiguous(path)
                number += 1
    return number


async def write_history(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[RecordingDisk, History]:
    """Writes a history to a new store, with a checkpoint every few writes."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 100)
    history = History()

    async def work(disk: RecordingDisk, path: Path) -> None:
        store = await open_file(path, vfs=disk.vfs_name)
        await write(store, disk, history, count)
        await store.close()

    return await recorded(folder, work), history


async def test_acknowledged_writes_survive_a_power_loss(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, history = await write_history(quick_path, monkeypatch, WRITES)
    assert await assert_history_survives(disk, history, every=25) > 60


@pytest.mark.long
async def test_acknowledged_writes_survive_a_power_loss_at_every_sync(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, history = await write_history(quick_path, monkeypatch, WRITES)
    assert await assert_history_survives(disk, history, every=1) > 3 * WRITES


async def test_new_store_survives_a_power_loss_while_it_is_created(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, history = await write_history(quick_path, monkeypatch, 3)
    assert await assert_history_survives(disk, history, every=1) > 30


async def as_of_version(version: int, path: Path) -> dict[str, tuple[bytes, Revision]]:
    """Creates a store of an older version: without checksums; version 1 also with the namespace index that later ones removed."""
    store = await open_file(path)
    for number in range(50):
        key = f"objects/pods/a/{number:03}"
        await store.commit(create(key, b'"' + b"x" * 500 + b'"', add_entries=[f"inside/a/{key}", f"owned/u/{key}"]))
    state = await state_of(store)
    await store.close()
    path.with_name(path.name + "-watermark").unlink()
    db = apsw.Connection(str(path))
    db.execute(f"DROP TABLE identity; ALTER TABLE log DROP COLUMN crc; PRAGMA user_version = {version}")
    db.close()
    return state


@pytest.mark.parametrize("version", range(1, schema.VERSION))
async def test_store_survives_a_power_loss_while_it_is_upgraded(quick_path: Path, version: int) -> None:
    before = await as_of_version(version, quick_path / NAME)
    history = History()
    history.newest, history.states = 51, {51: before}

    async def work(disk: RecordingDisk, path: Path) -> None:
        store = await open_file(path, vfs=disk.vfs_name)
        await write(store, disk, history, 60)
        await store.close()

    disk = await recorded(quick_path, work)
    assert await assert_history_survives(disk, history, every=1) > 30
    for crash in simulate_crashes(disk.before, disk.steps):
        async for path, store in surviving(crash, "some"):
            assert await store.count("inside/") == (0 if version == 1 else 50)
            db = apsw.Connection(str(path))
            assert db.pragma("user_version") == schema.VERSION
            db.close()


class Killed(RecordingDisk):
    """A disk whose process is killed before the last sync of its WAL: `left` holds what was written by then."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name, fails=self._before)
        self._path = path
        self.is_armed = False
        self.left: dict[str, bytes] = {}
        self.synced = 0  # steps before the kill

    def _before(self, call: str) -> None:
        if call == "xSync" and self.is_armed and not self.left:
            self.left = {file.name: file.read_bytes() for file in self._path.iterdir() if not file.name.endswith(("-shm", "-lock"))}
            self.synced = len(self.steps)


async def test_store_that_was_killed_while_it_synced_is_not_refused_after_a_power_loss(quick_path: Path) -> None:
    """The next start finds the commit in the WAL, which is not on disk yet, and writes its revision into the watermark."""
    first, second = quick_path / "first", quick_path / "second"
    first.mkdir()
    second.mkdir()
    killed = Killed("killed", first)
    with use_disk(killed):
        killed.begin(first)
        store = await open_file(first / NAME, vfs=killed.vfs_name)
        await store.commit(create("objects/things/a/1", b"1"))
        killed.is_armed = True
        await store.commit(create("objects/things/a/2", b"2"))  # never acknowledged by its process
        await store.close()
    for name, content in killed.left.items():
        (second / name).write_bytes(content)
    with use_disk(RecordingDisk("restarted")) as disk:
        disk.begin(second)
        disk.before = {}
        disk.steps = killed.steps[: killed.synced]
        begun = sum(step.kind in {SYNC, SYNC_FOLDER} for step in disk.steps)
        store = await open_file(second / NAME, vfs=disk.vfs_name)
        revision = await store.revision()
        disk.record(Step(ACKNOWLEDGE, revision=revision))  # visible to readers of the restarted store
        steps = list(disk.steps)
        await store.close()
    assert revision == 3
    for crash in simulate_crashes(disk.before, steps):
        if crash.number >= begun:
            async for _, survivor in surviving(crash, "none"):
                assert await survivor.revision() >= crash.acknowledged


async def assert_bug_is_found(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    pragma: str = "",
    commit: Callable[[group_commit.GroupCommitter, Revision], None] | None = None,
) -> None:
    """Checks that a history on a store with this bug does not survive."""
    if commit is not None:
        monkeypatch.setattr(group_commit.GroupCommitter, "_commit", commit)
    if pragma:
        keep_plans = schema.disable_replanning

        def plans_without_sync(db: apsw.Connection) -> None:
            keep_plans(db)
            db.execute(pragma)

        monkeypatch.setattr(schema, "disable_replanning", plans_without_sync)
    disk, history = await write_history(folder, monkeypatch, 60)
    monkeypatch.undo()
    with pytest.raises(AssertionError, match="crash"):
        await assert_history_survives(disk, history, every=1)


@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
async def test_planted_bug_commits_that_are_not_synced_is_found(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    await assert_bug_is_found(quick_path, monkeypatch, pragma=f"PRAGMA synchronous = {level}")


async def test_planted_bug_writes_acknowledged_before_their_commit_is_found(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, commit = group_commit.GroupCommitter._begin, group_commit.GroupCommitter._commit
    numbers = itertools.count()

    async def begin_if_not_begun(self: group_commit.GroupCommitter) -> None:
        if not self._db.in_transaction:
            await begin(self)

    def commit_every_other(self: group_commit.GroupCommitter, revision: Revision) -> None:
        if next(numbers) % 2:
            commit(self, revision)

    monkeypatch.setattr(group_commit.GroupCommitter, "_begin", begin_if_not_begun)
    await assert_bug_is_found(quick_path, monkeypatch, commit=commit_every_other)

"""Fails every call that SQLite makes to the system, in turn: with an I/O error, a full disk, or no memory.

Each write is acknowledged and stored, or raises an error. The store does not hang, and opens again afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from probate.core import errors
from probate.store.contract import create
from probate.store.sqlite.files import checkpoints
from probate.store.sqlite.store import SqliteStore, open_file
from support.faulty_vfs import FailAt, RecordingDisk, use_disk

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # for errors that SQLite itself ignores
NAME = "probate.db"
WRITES = 12
TIMEOUT_SECONDS = 60.0
"""After this time the store counts as hanging. Nothing here takes more than a second."""
_IO_CODES = {
    "xRead": apsw.SQLITE_IOERR_READ,
    "xWrite": apsw.SQLITE_IOERR_WRITE,
    "xSync": apsw.SQLITE_IOERR_FSYNC,
    "xTruncate": apsw.SQLITE_IOERR_TRUNCATE,
    "xFileSize": apsw.SQLITE_IOERR_FSTAT,
    "xLock": apsw.SQLITE_IOERR_LOCK,
    "xDelete": apsw.SQLITE_IOERR_DELETE,
    "xAccess": apsw.SQLITE_IOERR_ACCESS,
    "xOpen": apsw.SQLITE_CANTOPEN,
}


def io_error(call: str) -> Exception:
    error: Any = apsw.CantOpenError("injected") if call == "xOpen" else apsw.IOError("injected")
    error.extendedresult = _IO_CODES[call]
    return error  # type: ignore[no-any-return]


def full(call: str) -> Exception:
    """Returns a disk-full error; for a sync an I/O error, because earlier writes did not find space."""
    return apsw.FullError("injected") if call in {"xWrite", "xTruncate"} else io_error(call)


def no_memory(_call: str) -> Exception:
    return apsw.NoMemError("injected")


FAILURES = {"I/O error": io_error, "no room": full, "no memory": no_memory}


class WriteResults:
    """The result of each write of a writer."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.failed: list[tuple[str, errors.ProbateError]] = []

    async def write(self, store: SqliteStore, key: str) -> None:
        try:
            outcome = await store.commit(create(key, key.encode() * 50, add_entries=[f"owned/o/{key}"]))
        except errors.ApiError as error:
            self.failed.append((key, error))
        else:
            assert isinstance(outcome, int)
            self.acknowledged.append(key)


async def work(path: Path, vfs: str, results: WriteResults) -> None:
    """Runs writes of a client, with reads, a compaction and checkpoints in between."""
    store = await open_file(path, vfs=vfs)
    try:
        for number in range(WRITES):
            await results.write(store, f"objects/things/a/{number:03}")
            try:
                await store.count("objects/")
                if number % 4 == 3:
                    await store.compact(await store.revision())
            except errors.ApiError as error:
                results.failed.append(("", error))
    finally:
        await store.close()


async def check(path: Path, results: WriteResults) -> None:
    """Checks the store afterwards, on a disk without failures."""
    store = await open_file(path)
    there = {record.key: record for record in (await store.scan("objects/", limit=1000)).records}
    entries = {record.key for record in (await store.scan("owned/", limit=1000)).records}
    assert {*results.acknowledged} <= {*there}, "an acknowledged write is lost"
    unknown = {key for key, error in results.failed if isinstance(error, errors.OutcomeUnknown | errors.StoreFilesLost)}
    assert {*there} <= {*results.acknowledged} | unknown, "a write is there that was answered with: nothing was written"
    assert entries == {f"owned/o/{key}" for key in there}
    assert all(record.value == key.encode() * 50 for key, record in there.items())
    assert isinstance(await store.commit(create("objects/things/a/after", b"x")), int)
    await store.close()


async def failing_at(number: int, error: Callable[[str], Exception], *, persists: bool) -> FailAt:
    """Runs the work once with a failure at the call of this number."""
    fails = FailAt(number, error, persists=persists)
    results = WriteResults()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder) / NAME
        with use_disk(RecordingDisk("failing", fails=fails)) as disk:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                with contextlib.suppress(errors.CannotOpen):
                    await work(path, disk.vfs_name, results)
        await check(path, results)
    return fails


async def every_call(kind: str, *, every: int, first: int = 1, persists: bool = False) -> int:
    """Fails each of these calls in turn, until the number exceeds the calls made. Returns how many failed."""
    number, failures = first, 0
    while (fails := await failing_at(number, FAILURES[kind], persists=persists)).failed:
        number, failures = number + every, failures + 1
    assert fails.calls < number
    return failures


@pytest.fixture(autouse=True)
def _frequent_checkpoints(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 30)
    caplog.set_level(logging.CRITICAL, logger="probate")


@pytest.mark.parametrize("kind", FAILURES)
async def test_failing_call_loses_nothing_that_was_acknowledged(kind: str) -> None:
    assert await every_call(kind, every=29) > 5


@pytest.mark.parametrize("kind", FAILURES)
async def test_permanently_failing_disk_loses_nothing_that_was_acknowledged(kind: str) -> None:
    assert await every_call(kind, every=41, first=11, persists=True) > 5


@pytest.mark.long
@pytest.mark.parametrize("persists", [False, True])
@pytest.mark.parametrize("kind", FAILURES)
async def test_every_failing_call_loses_nothing_that_was_acknowledged(kind: str, persists: bool) -> None:
    assert await every_call(kind, every=1, persists=persists) > 100

"""Store files that are removed, replaced, truncated or overwritten while a server runs or between two runs.

No write is acknowledged that the files on disk do not hold, and the server refuses to open a store that has lost acknowledged
writes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from probate.core import errors
from probate.core.clock import FakeClock
from probate.store.contract import create
from probate.store.sqlite.files import file_checks
from probate.store.sqlite.store import SqliteStore, open_file
from support.server_process import GC_CONTROLLERS, run_killable_server

NAME = "probate.db"


def remove_all(folder: Path) -> None:
    for file in folder.glob(f"{NAME}*"):
        file.unlink()


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def truncate(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, size)


def move_away(folder: Path) -> None:
    (folder / NAME).rename(folder / "elsewhere.db")


def replace(name: str) -> Callable[[Path], None]:
    """Replaces a file by another one of the same name and content, as editors and restores do."""

    def act(folder: Path) -> None:
        shutil.copy2(folder / name, folder / "copy")
        (folder / "copy").replace(folder / name)

    return act


DAMAGES: dict[str, Callable[[Path], None]] = {
    "all files removed": remove_all,
    "database removed": remove(NAME),
    "database moved away": move_away,
    "database replaced": replace(NAME),
    "database truncated": truncate(NAME, 4096),
    "WAL removed": remove(f"{NAME}-wal"),
    "WAL replaced": replace(f"{NAME}-wal"),
    "WAL emptied": truncate(f"{NAME}-wal", 0),
    "WAL truncated": truncate(f"{NAME}-wal", 9_000),
    "lock file removed": remove(f"{NAME}-lock"),
}


async def create_store(folder: Path, count: int = 20) -> SqliteStore:
    """Creates a store whose database and WAL both hold pages."""
    store = await open_file(folder / NAME)
    await store.commit_many([create(f"objects/things/b/{number:03}", b"x" * 500) for number in range(200)])
    await store.close()
    store = await open_file(folder / NAME)
    for number in range(count):
        await store.commit(create(f"objects/things/a/{number:03}", b"x" * 500))
    return store


@pytest.mark.parametrize("damage", DAMAGES)
async def test_write_after_damage_to_the_files_is_not_acknowledged(
    quick_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    store = await create_store(quick_path)
    DAMAGES[damage](quick_path)
    if damage == "database truncated":  # commits only write to the WAL
        await asyncio.gather(store.check(), return_exceptions=True)
    with pytest.raises(errors.StoreFilesLost) as refused:
        await store.commit(create("objects/things/a/late", b"x"))
    assert NAME in str(refused.value)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    with pytest.raises(errors.StoreFilesLost):
        await store.commit(create("objects/things/a/later", b"x"))
    with pytest.raises(errors.StoreFilesLost):
        await store.check()
    await store.close()


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_to_the_files_is_noticed_without_a_write(quick_path: Path, damage: str) -> None:
    await (await create_store(quick_path)).close()
    clock = FakeClock()
    store = await open_file(quick_path / NAME, clock=clock)
    await store.commit(create("objects/things/a/one", b"x" * 20_000))
    await store.check()
    DAMAGES[damage](quick_path)
    await clock.advance(file_checks.CHECK_SECONDS)
    with pytest.raises(errors.StoreFilesLost):
        await store.commit(create("objects/things/a/late", b"x"))
    await store.close()


async def test_objects_can_still_be_read_after_the_files_were_removed(quick_path: Path) -> None:
    store = await create_store(quick_path)
    remove_all(quick_path)
    with pytest.raises(errors.StoreFilesLost):
        await store.commit(create("objects/things/a/late", b"x"))
    assert await store.count("objects/things/a/") in {20, 21}
    assert await store.read("objects/things/a/007") is not None
    await store.close()


async def test_server_that_lost_its_files_does_not_remove_those_of_the_next_one(quick_path: Path) -> None:
    store = await create_store(quick_path)
    remove_all(quick_path)
    following = await create_store(quick_path)
    await store.close()
    assert isinstance(await following.commit(create("objects/things/a/late", b"x")), int)
    await following.close()


@pytest.mark.parametrize("is_noticed", [True, False], ids=["while running", "at its end"])
async def test_server_whose_files_were_all_removed_came_up_empty(quick_path: Path, *, is_noticed: bool) -> None:
    store = await create_store(quick_path)
    acknowledged = await store.revision()
    remove_all(quick_path)
    if is_noticed:
        with pytest.raises(errors.StoreFilesLost):
            await store.check()
        assert [file.name for file in quick_path.iterdir()] == [f"{NAME}-watermark"]
    await store.close()
    with pytest.raises(errors.CannotOpen, match=f"held changes up to revision {acknowledged}"):
        await open_file(quick_path / NAME)
    assert [file.name for file in quick_path.iterdir() if file.stat().st_mode & 0o077] == []


async def test_wal_truncated_between_two_checks_is_noticed_though_it_has_grown_again(quick_path: Path) -> None:
    store = await create_store(quick_path)
    wal = quick_path / f"{NAME}-wal"
    size = wal.stat().st_size
    os.truncate(wal, 0)
    os.truncate(wal, size)  # a hole, up to the expected size of the WAL
    with pytest.raises(errors.StoreFilesLost, match="overwritten"):
        await store.commit(create("objects/things/a/late", b"x"))
    await store.close()


async def test_wal_that_begins_anew_after_a_checkpoint_is_not_taken_for_damage(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probate.store.sqlite.files.checkpoints.CHECKPOINT_PAGES", 20)
    store = await create_store(quick_path, 200)
    for _ in range(3):
        revision = await store.revision()
        await store.compact(revision)
        await store.commit_many([create(f"objects/more/{revision}/{number:03}", b"x" * 700) for number in range(100)])
    await store.check()
    await store.close()


def remove_most(folder: Path) -> None:
    for end in ("", "-wal", "-shm", "-lock"):
        (folder / f"{NAME}{end}").unlink()


def restore(copy: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / f"{NAME}-wal").unlink()
        shutil.copy(folder / copy / NAME, folder / NAME)

    return act


LOSSES: dict[str, Callable[[Path], None]] = {
    "database removed": remove(NAME),
    "all but the watermark removed": remove_most,
    "database emptied": truncate(NAME, 0),
    "WAL removed": remove(f"{NAME}-wal"),
    "WAL emptied": truncate(f"{NAME}-wal", 0),
    "WAL truncated": truncate(f"{NAME}-wal", 50_000),
    "older copy restored": restore("older"),
    "another store put in place": restore("another"),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_store_that_lost_acknowledged_writes_is_refused_at_start(quick_path: Path, loss: str) -> None:
    await (await create_store(quick_path)).close()
    (quick_path / "older").mkdir()
    shutil.copy(quick_path / NAME, quick_path / "older" / NAME)
    (quick_path / "another").mkdir()
    await (await create_store(quick_path / "another", 400)).close()
    await asyncio.to_thread(written_and_killed, quick_path)
    LOSSES[loss](quick_path)
    before = contents(quick_path)
    with pytest.raises(errors.CannotOpen) as refused:
        await open_file(quick_path / NAME)
    assert f"{NAME}-watermark" in str(refused.value), "the message says what to do to go on all the same"
    assert contents(quick_path) == before, "a refused store was changed"
    (quick_path / f"{NAME}-watermark").unlink()
    if (quick_path / NAME).exists() and (quick_path / NAME).stat().st_size:
        await (await open_file(quick_path / NAME)).close()


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the content of the files. (SQLite creates its shared-memory file and an empty WAL even to read.)"""
    found = {file.name: file.read_bytes() for file in folder.glob(f"{NAME}*")}
    return {name: content for name, content in found.items() if content and not name.endswith(("-shm", "-lock"))}


def written_and_killed(folder: Path) -> None:
    """Runs a process that writes and is killed: its WAL holds the acknowledged writes."""
    script = f"""
import asyncio, os, pathlib, signal
from probate.store.contract import create
from probate.store.sqlite.store import open_file
async def main():
    store = await open_file(pathlib.Path({str(folder / NAME)!r}))
    for number in range(50):
        await store.commit(create(f"objects/things/c/{{number:03}}", b"x" * 500))
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9


async def test_damaged_watermark_is_refused(quick_path: Path) -> None:
    await (await create_store(quick_path)).close()
    watermark = quick_path / f"{NAME}-watermark"
    watermark.write_bytes(watermark.read_bytes().replace(b'"revision"', b'"revisjon"'))
    with pytest.raises(errors.CannotOpen, match="watermark"):
        await open_file(quick_path / NAME)


async def test_second_server_does_not_get_a_store_whose_lock_file_was_removed(quick_path: Path) -> None:
    store = await create_store(quick_path)
    (quick_path / f"{NAME}-lock").unlink()
    script = f"""
import asyncio, pathlib
from probate.core import errors
from probate.store.sqlite.store import open_file
try:
    asyncio.run(open_file(pathlib.Path({str(quick_path / NAME)!r})))
except errors.CannotOpen as error:
    print(error)
"""
    other = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "in use by another process" in other.stdout
    await store.close()


def test_server_whose_files_are_removed_says_so_and_does_not_come_up_empty(quick_path: Path) -> None:
    with run_killable_server(quick_path, f"sqlite:{NAME}", *GC_CONTROLLERS) as server:
        maps = f"{server.url}/api/v1/namespaces/default/configmaps"
        assert httpx.post(maps, json={"metadata": {"name": "kept"}}).status_code == 201
        for file in quick_path.glob(f"{NAME}*"):
            if not file.name.endswith("-watermark"):
                file.unlink()
        answer = httpx.post(maps, json={"metadata": {"name": "lost"}})
        assert answer.status_code == 500
        assert answer.json()["kind"] == "Status"
        assert "was removed" in answer.json()["message"]
        ready = httpx.get(f"{server.url}/readyz")
        assert ready.status_code == 500
        assert "was removed" in ready.text
        assert httpx.get(f"{server.url}/livez").status_code == 200
        assert httpx.get(f"{maps}/kept").status_code == 200
        assert "ERROR probate.store.sqlite" in server.log.read_text()
        server.kill()
    command = [sys.executable, "-m", "probate", "serve", "--store", f"sqlite:{NAME}", *GC_CONTROLLERS, "--listen", "127.0.0.1:0"]
    again = subprocess.run(command, cwd=quick_path, capture_output=True, text=True, timeout=30, check=False)
    assert again.returncode == 1
    assert again.stderr.count("\n") == 1
    assert f"{NAME} is missing" in again.stderr

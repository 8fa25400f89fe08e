"""Files that must not be opened: each is rejected with a message that says what to do, and left unchanged."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from probate.core import errors
from probate.store.contract import create
from probate.store.sqlite import schema
from probate.store.sqlite.store import open_file


async def create_store(path: Path, count: int) -> Path:
    store = await open_file(path)
    await store.commit_many([create(f"objects/things/a/{number:05}", b"x" * 500) for number in range(count)])
    await store.close()
    return path


async def refusal(path: Path) -> str:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(errors.CannotOpen) as refused:
        await open_file(path)
    assert (path.read_bytes() if path.is_file() else b"") == before, "a refused file was changed"
    assert str(path) in str(refused.value)
    return str(refused.value)


async def test_a_store_of_a_newer_version_is_refused_naming_both_versions(tmp_path: Path) -> None:
    path = await create_store(tmp_path / "probate.db", 1)
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()
    message = await refusal(path)
    assert f"store version {schema.VERSION + 1}" in message
    assert f"knows up to {schema.VERSION}" in message
    assert "Upgrade" in message


async def test_a_store_of_version_1_loses_its_namespace_index(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    store = await open_file(path)
    await store.commit(create("objects/pods/a/x", b"{}", add_entries=["inside/a/objects/pods/a/x", "owned/u/a/objects/pods/a/x"]))
    await store.close()
    db = apsw.Connection(str(path))
    db.execute("ALTER TABLE log DROP COLUMN crc")
    db.execute("PRAGMA user_version = 1")
    db.close()
    for _ in range(2):
        store = await open_file(path)
        assert [await store.count(range_) for range_ in ("objects/", "inside/", "owned/")] == [1, 0, 1]
        await store.close()


async def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, today I was nearly overwritten by a database.\n" * 100)
    assert "not a Probate store" in await refusal(path)


async def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "browser-history.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE visits (url TEXT)")
    db.close()
    assert "another program" in await refusal(path)


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
async def test_a_damaged_page_is_found_at_open(tmp_path: Path, place: float) -> None:
    path = await create_store(tmp_path / "probate.db", 3000)
    page = int(path.stat().st_size / 4096 * place)
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xde\xad\xbe\xef" * 1024)
    assert "damaged" in await refusal(path)


async def test_a_truncated_file_is_found_at_open(tmp_path: Path) -> None:
    path = await create_store(tmp_path / "probate.db", 3000)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    assert "damaged" in await refusal(path)


async def test_a_header_that_is_damaged_after_its_magic_is_found_at_open(tmp_path: Path) -> None:
    path = await create_store(tmp_path / "probate.db", 10)
    with path.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff" * 84)
    assert "damaged" in await refusal(path)


async def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    assert "is a folder" in await refusal(tmp_path)
    assert "there is no folder" in await refusal(tmp_path / "nowhere" / "probate.db")


async def test_a_second_process_is_refused_naming_the_first(tmp_path: Path) -> None:
    path = tmp_path / "probate.db"
    hold = f"""
import asyncio, pathlib, sys
from probate.store.sqlite.store import open_file
async def main():
    await open_file(pathlib.Path({str(path)!r}))
    print("held", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert await asyncio.to_thread(first.stdout.readline) == b"held\n"
        with pytest.raises(errors.CannotOpen, match=f"in use by process {first.pid}"):
            await open_file(path)
        first.kill()
    await (await open_file(path)).close()


async def test_a_store_opened_twice_in_one_process_is_refused_and_free_after_close(tmp_path: Path) -> None:
    store = await open_file(tmp_path / "probate.db")
    with pytest.raises(errors.CannotOpen, match="in use by process"):
        await open_file(tmp_path / "probate.db")
    await store.close()
    await (await open_file(tmp_path / "probate.db")).close()

"""Measures a cascade against raw SQLite: from the DELETE of an owner until a watch has received the deletion of the last
dependent.

    make bench-cascade [ARGS="1000 10000"]

The objects are written into the store first. Then a real server starts on it and gets the requests over HTTP, as from a client.
The baseline is apsw: it deletes the same number of rows, with an index row and a log row for each, in durable batches of 2,000,
in the same run.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import orjson
import uvloop

from probate.server.codec import object_codec
from probate.server.storage import index_entries
from probate.store.contract import create
from probate.store.sqlite.store import open_file

SIZES = (1_000, 10_000, 100_000)
NAMESPACE = "bench"
MEMORY_BAR = 400
FEW_ROUNDS = 30
OTHERS_ROUNDS = 3
SETTLE_SECONDS = 1.0
"""The time in which a server that is ready loads its lazy modules."""
ALONE_SECONDS = 0.6
"""The time after which the server no longer counts a request as recent: while requests are recent, its time slices are shorter."""
ROUNDS = {1_000: 4, 10_000: 5, 100_000: 3}
FEW, MANY = 1_000, 100_000
PARTS = tuple(f"root{letter}" for letter in "abcdefghij")
"""Ten owners. Together they have the dependents that a single owner has otherwise, or each has as many if these are few: a
measurement of a few milliseconds must be repeated often to be undisturbed."""
_ADDED = b'"type":"ADDED"'


class Shape(NamedTuple):
    name: str
    policy: str
    fanout: int  # 0: all dependents have the same owner
    bar: float


SHAPES = (
    Shape("background, flat", "Background", 0, 0.25),
    Shape("foreground, flat", "Foreground", 0, 0.20),
    Shape("background, tree of ten", "Background", 10, 0.15),
    Shape("foreground, tree of ten", "Foreground", 10, 0.15),
)


class Deleted(NamedTuple):
    seconds: list[float]  # for each root
    megabytes: float


def objects(number: int, fanout: int, root: str = "root") -> Iterator[dict[str, Any]]:
    """Returns a root and its dependents, owners before their dependents."""
    under = root.removeprefix("root")
    yield _object(root, f"u-{root}", None)
    for n in range(number):
        owner = root if not fanout or n < fanout else f"d{under}{n // fanout - 1}"
        yield _object(f"d{under}{n}", f"u-d{under}{n}", owner)


def _object(name: str, uid: str, owner: str | None) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": f"u-{owner}", "blockOwnerDeletion": True}
        meta["ownerReferences"] = [reference]
    return {"metadata": meta, "data": {"k": "v" * 64}}


async def fill(path: Path, number: int, fanout: int, *, roots: Sequence[str] = ("root",)) -> None:
    """Creates a store with this many objects under each root."""
    store = await open_file(path)
    space = {"metadata": {"name": NAMESPACE, "uid": "u-ns"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    await store.commit(create(f"objects/namespaces/-/{NAMESPACE}", object_codec.stored(space)))
    batch = []
    for one in itertools.chain.from_iterable(objects(number, fanout, root) for root in roots):
        key, value = f"objects/configmaps/{NAMESPACE}/{one['metadata']['name']}", object_codec.stored(one)
        batch.append(create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value))))
        if len(batch) == 2_000:
            await store.commit_many(batch)
            batch = []
    await store.commit_many(batch)
    # The collector has processed these objects: the benchmark measures the cascade, not the creation of the objects.
    revision = await store.revision()
    await store.commit(create("objects/positions.probate.dev/-/collector", b"%d" % revision))
    await store.close()


@contextlib.asynccontextmanager
async def server(path: Path) -> AsyncIterator[tuple[int, int]]:
    """Runs a server on the store. Yields its process id and its port."""
    command = [sys.executable, "-m", "probate", "serve", "--insecure", "--store", f"sqlite:{path}", "--listen", "127.0.0.1:0"]
    kubeconfig = ["--kubeconfig", str(path.with_suffix(".kubeconfig"))]
    process = subprocess.Popen([*command, *kubeconfig], stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        await asyncio.sleep(SETTLE_SECONDS)
        yield process.pid, int(line.split("http://127.0.0.1:")[1].split()[0].rstrip("/"))
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait)


async def request(port: int, method: str, path: str, *, body: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def count_deleted(reader: asyncio.StreamReader, wanted: int) -> float:
    """Returns the time at which the last of this many deletions arrived."""
    seen, rest = 0, b""
    while seen < wanted:
        data = await reader.read(1 << 20)
        if not data:
            raise SystemExit(f"the watch ended after {seen:,} of {wanted:,}")
        text = rest + data
        seen += text.count(b'{"type":"DELETED"')
        rest = text[-16:] if not text.endswith(b'{"type":"DELETED"') else b""
    return time.perf_counter()


def remove_store(path: Path) -> None:
    """Removes a store file and the files beside it. With a leftover watermark, the server would refuse the next store."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


async def cascade(folder: Path, number: int, shape: Shape, *, roots: Sequence[str] = ("root",)) -> Deleted:
    """Returns how long the deletion of each root with this many dependents takes, one root after the other."""
    path = folder / f"{number}-{shape.policy}-{shape.fanout}.db"
    await fill(path, number, shape.fanout, roots=roots)
    async with server(path) as (pid, port):
        where = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        reader, watching = await request(port, "GET", f"{where}?watch=1")
        await _read_all(reader, len(roots) * (number + 1))
        took = []
        for root in roots:
            await asyncio.sleep(ALONE_SECONDS)
            began = time.perf_counter()
            _, writer = await request(port, "DELETE", f"{where}/{root}", body=orjson.dumps({"propagationPolicy": shape.policy}))
            took.append(await count_deleted(reader, number + 1) - began)
            writer.close()
        memory = _peak_megabytes(pid)
        watching.close()
    remove_store(path)
    return Deleted(took, memory)


async def _read_all(reader: asyncio.StreamReader, number: int) -> None:
    """Reads the initial events of a watch: this many."""
    seen, rest = 0, b""
    while seen < number:
        text = rest + await reader.read(1 << 24)
        seen += text.count(_ADDED)
        rest = text[-len(_ADDED) + 1 :]


def _peak_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def raw(folder: Path, number: int) -> float:
    """Returns the seconds that SQLite alone takes to delete this many rows with their index and log rows."""
    path = folder / "raw.db"
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
    db.execute(
        "CREATE TABLE obj(key TEXT PRIMARY KEY, rev INT, uid TEXT, value BLOB) WITHOUT ROWID;"
        "CREATE TABLE log(rev INTEGER PRIMARY KEY, key TEXT, op INT, value BLOB);"
        "CREATE TABLE own(owner TEXT, key TEXT, block INT, PRIMARY KEY(owner, key)) WITHOUT ROWID"
    )
    value = object_codec.stored(_object("d1", "u-d1", "root"))
    for start in range(0, number, 2_000):
        rows = [(f"objects/configmaps/{NAMESPACE}/d{n}", n, f"{n:036}", value) for n in range(start, min(start + 2_000, number))]
        with db:
            db.executemany("INSERT INTO obj VALUES(?,?,?,?)", rows)
            db.executemany("INSERT INTO own VALUES('root',?,1)", [(row[0],) for row in rows])
    began, revision = time.perf_counter(), number
    while keys := db.execute("SELECT key FROM own WHERE owner = 'root' LIMIT 2000").fetchall():
        with db:
            log = []
            for (key,) in keys:
                revision += 1
                log.append((revision, key, db.execute("SELECT value FROM obj WHERE key = ?", (key,)).get))
            db.executemany("INSERT INTO log VALUES(?,?,3,?)", log)
            db.executemany("DELETE FROM obj WHERE key = ?", keys)
            db.executemany("DELETE FROM own WHERE owner = 'root' AND key = ?", keys)
    took = time.perf_counter() - began
    db.close()
    for left in folder.glob("raw.db*"):
        left.unlink()
    return took


async def few_among_many(folder: Path, stored: int) -> float:
    """Returns the seconds to collect ten dependents while this many other objects are stored: the median of many rounds."""
    path = folder / f"many-{stored}.db"
    await fill(path, stored, 0)
    async with server(path) as (_, port):
        where = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        took = []
        for round_ in range(FEW_ROUNDS):
            owner = await _post(port, where, {"metadata": {"name": f"owner-{round_}"}})
            reference = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
            }
            made = [
                await _post(port, where, {"metadata": {"name": f"few-{round_}-{n}", "ownerReferences": [reference]}})
                for n in range(10)
            ]
            after = made[-1]["metadata"]["resourceVersion"]
            reader, watching = await request(port, "GET", f"{where}?watch=1&resourceVersion={after}")
            began = time.perf_counter()
            _, writer = await request(port, "DELETE", f"{where}/owner-{round_}")
            took.append(await count_deleted(reader, 11) - began)
            writer.close()
            watching.close()
    remove_store(path)
    return statistics.median(took)


async def _post(port: int, path: str, body: dict[str, Any]) -> dict[str, Any]:
    reader, writer = await request(port, "POST", path, body=orjson.dumps(body))
    text = b""
    while True:
        text += await reader.read(1 << 16)
        with contextlib.suppress(orjson.JSONDecodeError):
            found: dict[str, Any] = orjson.loads(text)
            writer.close()
            return found


async def others(folder: Path, number: int) -> tuple[float, float]:
    """Runs `others_meanwhile` several times and returns the best result."""
    rounds = [await others_meanwhile(folder, number) for _ in range(OTHERS_ROUNDS)]
    return min(idle for idle, _ in rounds), min(busy for _, busy in rounds)


async def others_meanwhile(folder: Path, number: int) -> tuple[float, float]:
    """Returns the 99th percentile of another client's reads: on an idle server, and during a cascade of this many objects."""
    path = folder / "meanwhile.db"
    await fill(path, number, 0)
    async with server(path) as (_, port):
        where = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        async with prober(port) as idle:
            await asyncio.sleep(2)
        reader, watching = await request(port, "GET", f"{where}?watch=1&resourceVersion={number + 1}")
        async with prober(port) as busy:
            _, writer = await request(port, "DELETE", f"{where}/root", body=orjson.dumps({"propagationPolicy": "Background"}))
            await count_deleted(reader, number + 1)
        writer.close()
        watching.close()
    remove_store(path)
    return idle[0], busy[0]


@contextlib.asynccontextmanager
async def prober(port: int, *more: str) -> AsyncIterator[list[float]]:
    """Reads in the background during the block. At its end, the list holds the 99th percentile of the response times."""
    found: list[float] = []
    program = str(Path(__file__).with_name("prober.py"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, program, str(port), *more, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    await asyncio.sleep(0.2)  # until the prober has begun
    yield found
    answer, _ = await process.communicate(b"enough")
    found.append(float(answer))


class Measured(NamedTuple):
    """The best results of several rounds in objects per second, by shape, and those of SQLite alone. `memory` is the maximum."""

    rates: dict[str, float]
    limits: dict[str, float]
    memory: float
    in_parts: dict[str, float]  # the same number of objects, deleted a tenth at a time if there are many


async def measure(folder: Path, number: int) -> Measured:
    """Measures everything alternately, since the speed of a machine varies, and returns the best of each."""
    done: dict[str, list[Deleted]] = {shape.name: [] for shape in SHAPES}
    in_parts: dict[str, list[Deleted]] = {shape.name: [] for shape in SHAPES if number == MANY}
    limits: dict[str, list[float]] = {shape.name: [] for shape in SHAPES}
    for _ in range(ROUNDS.get(number, 2)):
        for shape in SHAPES:
            roots = PARTS if number <= FEW else ("root",)
            limits[shape.name] += [raw(folder, number) for _ in roots]
            done[shape.name].append(await cascade(folder, number, shape, roots=roots))
            if number == MANY:
                in_parts[shape.name].append(await cascade(folder, number // len(PARTS), shape, roots=PARTS))
    return Measured(
        {name: number / min(min(one.seconds) for one in some) for name, some in done.items()},
        {name: number / min(some) for name, some in limits.items()},
        max(one.megabytes for some in done.values() for one in some),
        {name: number / min(sum(one.seconds) for one in some) for name, some in in_parts.items()},
    )


def tell(number: int, found: Measured) -> None:
    for shape in SHAPES:
        rate, limit = found.rates[shape.name], found.limits[shape.name]
        verdict = f"bar {shape.bar:.2f} {'reached' if rate / limit >= shape.bar else 'MISSED'}"
        rates = f"{rate:>9,.0f} /s {limit:>10,.0f} /s raw {rate / limit:>6.2f} x raw"
        print(f"{shape.name:26} {number:>8,} objects {rates}   {verdict}")
    is_small = number < 100_000 or found.memory < MEMORY_BAR
    print(f"{'memory':26} {found.memory:>8.0f} MB at most   bar {MEMORY_BAR} MB {'reached' if is_small else 'MISSED'}", flush=True)


def tell_growth(found: Measured) -> None:
    """Prints whether an object of a large cascade takes longer than one of a small cascade.

    Both are measured alternately, for the same total time and in stores of the same size: otherwise the best of many short runs
    would profit more from fast moments of the machine than the best of a few long runs.
    """
    for name, rate in found.in_parts.items():
        growth = rate / found.rates[name]
        verdict = f"bar 1.00 {'reached' if growth <= 1 else 'MISSED'}"
        print(f"{name:26} {MANY:,} at once against ten times {MANY // len(PARTS):,}: {growth:.2f} x the time for each   {verdict}")


async def main(folder: Path, sizes: tuple[int, ...]) -> None:
    for number in sizes:
        found = await measure(folder, number)
        tell(number, found)
        tell_growth(found)
    largest = max(sizes)
    small, large = await few_among_many(folder, 1_000), await few_among_many(folder, largest * 10)
    verdict = f"bar 1.50 {'reached' if large / small <= 1.5 else 'MISSED'}"
    print(
        f"ten dependents             {small * 1e3:.1f} ms among 1,000, {large * 1e3:.1f} ms among {largest * 10:,}: "
        f"{large / small:.2f} x   {verdict}"
    )
    idle, busy = await others(folder, largest)
    verdict = f"bar 3.00 {'reached' if busy / idle <= 3 else 'MISSED'}"
    print(
        f"others' reads, 99 of 100   {idle * 1e3:.1f} ms, {busy * 1e3:.1f} ms while {largest:,} are collected: "
        f"{busy / idle:.2f} x   {verdict}"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        os.chdir(place)
        uvloop.run(main(Path(place), tuple(map(int, sys.argv[1:])) or SIZES))

"""Measures tenants: how fast one is deleted, what a thousand of them cost a server, and what they cost each other.

    make bench-tenants                 everything (a few minutes)
    make bench-tenants ARGS=--quick    fewer rounds, and 200 tenants instead of 1,000

All servers have TLS and RBAC, as in production, and everything is created through the API. A deletion takes from the DELETE of a
Tenant until a watch of tenants has delivered its deletion. Its limit is raw SQLite that deletes as many rows (bench/cascade.py).
The other ratios compare two measurements of the same run that alternate.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import servers
import uvloop
from api import Ask, Rounds, config_map
from cascade import ALONE_SECONDS, count_deleted, prober, raw
from client import request
from report import below, say, verdict
from tenancy import TENANTS, TenantServer, tenant_ids

OBJECTS = 10_000
LISTED = 500
OWN = 10
"""ConfigMaps that each other tenant has."""
SWEEP_BAR, SWEEP_SECONDS = 0.15, 2.0
MEMORY_BAR = 200.0
START_BAR, WAIT_BAR, LIST_BAR = 3.0, 3.0, 1.5
ONE, OTHER = "one-00", "other0"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Options(NamedTuple):
    tenants: int = 1_000
    rounds: int = 5
    seconds: float = 1.5


QUICK = Options(tenants=200, rounds=2, seconds=0.7)


@contextlib.contextmanager
def secured(folder: Path) -> Iterator[TenantServer]:
    folder.mkdir(exist_ok=True)
    with servers.secured(folder) as server:
        yield TenantServer(folder, server)


# The deletion of a tenant


async def deletions(folder: Path, options: Options) -> None:
    """Deletes tenants, one after the other, first while nothing else happens and then while another tenant reads."""
    with secured(folder) as server:
        await server.create_tenants([OTHER])
        _, home = await server.user_of(OTHER)
        took, limits, idle, busy = [], [], [], []
        for id_ in tenant_ids(options.rounds):
            limits.append(await asyncio.to_thread(raw, folder, OBJECTS))
            await prepare(server, id_)
            took.append(await deletion(server, id_))
        for id_ in tenant_ids(options.rounds):
            await prepare(server, id_)
            async with prober(server.server.at.port, str(home)) as waits:
                await asyncio.sleep(2)
            idle += waits
            async with prober(server.server.at.port, str(home)) as waits:
                await deletion(server, id_)
            busy += waits
    tell_deletions(min(took), min(limits))
    tell_waits(min(idle), min(busy))


async def prepare(server: TenantServer, tenant: str) -> None:
    """Creates a tenant with all of its objects."""
    await server.create_tenants([tenant])
    await server.fill(tenant, OBJECTS)
    await asyncio.sleep(ALONE_SECONDS)


async def deletion(server: TenantServer, tenant: str) -> float:
    """Returns the seconds from the DELETE until a watch has delivered that the tenant is gone."""
    after = (await server.get(TENANTS))["metadata"]["resourceVersion"]
    async with connected(server, request("GET", f"{TENANTS}?watch=1&resourceVersion={after}")) as reader:
        began = time.perf_counter()
        async with connected(server, request("DELETE", f"{TENANTS}/{tenant}")):
            return await count_deleted(reader, 1) - began


@contextlib.asynccontextmanager
async def connected(server: TenantServer, asked: bytes) -> AsyncIterator[asyncio.StreamReader]:
    """Sends a request and yields its response after the head."""
    reader, writer = await asyncio.open_connection(*server.server.at, ssl=server.admin)
    writer.write(asked)
    await reader.readuntil(b"\r\n\r\n")
    yield reader
    writer.close()


def tell_deletions(took: float, limit: float) -> None:
    ratio = limit / took
    text = f"{OBJECTS / took:>9,.0f} /s {OBJECTS / limit:>10,.0f} /s raw {ratio:>6.2f} x raw"
    say(f"deletion, {OBJECTS:,} objects", text, verdict(ratio, SWEEP_BAR))
    say("", f"{took:>9.2f} s", below(took, SWEEP_SECONDS, "s"))


def tell_waits(idle: float, busy: float) -> None:
    text = f"{idle * 1e3:.1f} ms, {busy * 1e3:.1f} ms while a tenant is deleted: {busy / idle:.2f} x"
    say("others' reads, 99 of 100", text, at_most(busy / idle, WAIT_BAR))


def at_most(ratio: float, bar: float) -> str:
    return f"bar {bar:.2f} {'reached' if ratio <= bar else 'MISSED'}"


# Many tenants


async def many(folder: Path, options: Options) -> None:
    """Compares a server with many tenants with one that has only the tenant that is measured."""
    ids = tenant_ids(options.tenants)
    with secured(folder / "many") as crowd:
        took = await crowd.create_tenants(ids)
        text = f"{took:>9.1f} s until all were provisioned, {took / len(ids) * 1e3:.1f} ms each"
        say(f"{len(ids):,} tenants", text, "no bar")
        tell_memory(crowd, "which created them")
    starts(folder, options)
    with secured(folder / "many") as crowd:
        await crowd.settle()
        tell_memory(crowd, "after a start")
        await crowd.create(contents(ids), len(ids) * OWN)
        with secured(folder / "alone") as alone:
            await lists(crowd, alone, options)
            await view(alone, options)


def tell_memory(server: TenantServer, which: str) -> None:
    memory = server.server.megabytes()
    say("memory, all idle", f"{memory:>9.0f} MB resident, {which}", below(memory, MEMORY_BAR, "MB"))


def starts(folder: Path, options: Options) -> None:
    """Compares the starts of a server with many tenants and of one with an empty store. (Its certificates are there already.)"""
    took: dict[str, list[float]] = {"empty": [], "many": []}
    for _ in range(options.rounds + 1):
        for name, seconds in took.items():
            with secured(folder / name) as server:
                seconds.append(server.server.seconds)
    empty, full = (min(seconds[1:]) for seconds in took.values())
    text = f"{full:>9.2f} s until ready, {empty:.2f} s on an empty store: {full / empty:.2f} x"
    say("start", text, at_most(full / empty, START_BAR))


def contents(ids: list[str]) -> Iterator[tuple[str, bytes]]:
    """The ConfigMaps that other tenants have."""
    for number, id_ in itertools.product(range(OWN), ids):
        yield f"/api/v1/namespaces/{id_}-default/configmaps", config_map(f"c{number:06}")


async def lists(crowd: TenantServer, alone: TenantServer, options: Options) -> None:
    """Compares the lists of a tenant among many with those of a tenant that is alone."""
    asked = {}
    for server in (crowd, alone):
        await server.create_tenants([ONE])
        path = f"/api/v1/namespaces/{ONE}-default/configmaps"
        await server.create(((path, config_map(f"c{number:06}")) for number in range(LISTED)), LISTED)
        asked[server] = (await server.user_of(ONE))[0]
    for what, path in (("namespaced", CONFIG_MAPS), ("all namespaces", "/api/v1/configmaps")):
        # With a selector, no list is cached.
        for which, query in (("", "?labelSelector=app%3Dx"), (", cached", "")):
            asks = {server: listing(f"{path}{query}", context) for server, context in asked.items()}
            await compare(f"list, {what}{which}", crowd, alone, asks=asks, options=options)


def listing(path: str, context: ssl.SSLContext) -> Ask:
    get = request("GET", path)
    return Ask(lambda: get, connections=4, context=context)


async def compare(what: str, one: TenantServer, other: TenantServer, *, asks: dict[TenantServer, Ask], options: Options) -> None:
    first, second = (Rounds(server.server, asks[server], b"200") for server in (one, other))
    for _ in range(options.rounds):
        await first.go(options.seconds)
        await second.go(options.seconds)
    ratio = second.rate / first.rate
    text = f"{first.rate:>9,.0f} /s among {options.tenants:,} tenants {second.rate:>8,.0f} /s alone, {ratio:.2f} x the time"
    cost = f"{first.cost / second.cost:.2f} by processor time, {first.cost * 1e3:.2f} ms" if second.cost else ""
    say(what, f"{text} ({cost})", at_most(ratio, LIST_BAR))


# The view of a tenant


async def view(server: TenantServer, options: Options) -> None:
    """Compares requests of a tenant's user with the same requests of a user of the platform."""
    people = {"default": (await server.user_of(ONE))[0], f"{ONE}-default": await server.user_of_platform("bench")}
    numbers = itertools.count()
    for what in ("get", "create", "list"):
        asks = [request_of(what, namespace, context, numbers=numbers) for namespace, context in people.items()]
        tenant, platform = (Rounds(server.server, ask, ask.expected) for ask in asks)
        for _ in range(options.rounds):
            await tenant.go(options.seconds)
            await platform.go(options.seconds)
        cost = f"{tenant.cost * 1e3:.2f} ms of processor time, {platform.cost * 1e3:.2f} ms in the physical view"
        text = f"{tenant.rate:>9,.0f} /s {platform.rate:>10,.0f} /s in the physical view {tenant.rate / platform.rate:>6.2f} x"
        say(f"{what} by a tenant", f"{text} ({cost})", "no bar")


def request_of(what: str, namespace: str, context: ssl.SSLContext, *, numbers: Iterator[int]) -> Ask:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    match what:
        case "get":
            get = request("GET", f"{path}/c000000")
            return Ask(lambda: get, context=context)
        case "create":
            path = f"/api/v1/namespaces/{namespace}/secrets"  # the ConfigMaps are listed
            return Ask(lambda: request("POST", path, secret(next(numbers))), b"201", context=context)
        case _:
            return listing(f"{path}?labelSelector=app%3Dx", context)


def secret(number: int) -> bytes:
    return json.dumps({"metadata": {"name": f"s{number:07}", "labels": {"app": "x"}}, "stringData": {"k": "v" * 64}}).encode()


async def main(folder: Path, options: Options, only: str) -> None:
    print(f"objects of about 350 bytes; best of {options.rounds} rounds", flush=True)
    for name, measure in (("deletion", deletions), ("many", many)):
        if only in name:
            (folder / name).mkdir()
            await measure(folder / name, options)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter rounds, fewer tenants")
    arguments.add_argument("--only", default="", help="`deletion` or `many`")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as home:
        uvloop.run(main(Path(home), QUICK if chosen.quick else Options(), chosen.only))

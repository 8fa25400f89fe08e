"""The systems under test: one server on SQLite, or two servers on three etcd members with a proxy on every connection.

A target runs for many histories and is recovered after each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from linearizability.api_client import ApiClient
from linearizability.rights import RBAC, ROLE_OBJECT
from support.etcd_members import Cluster
from support.etcd_proxy import Proxy
from support.server_process import GC_CONTROLLERS, ServerProcess

ETCD_RIGHTS_BOUND = 5.0
"""Seconds by which an authorization decision may be stale on etcd, where another server may have changed the permission."""
PROBATE = ("-m", "probate")
ELECTIONS = ("--heartbeat-interval=50", "--election-timeout=500")
"""Short timeouts, so that the effects of a missing member show within a short history."""


class Target:
    """Servers on one store. `program` is the program to run: planted bugs use another one."""

    name = "sqlite"
    rights_bound = 0.0

    def __init__(self, folder: Path, *, program: Sequence[str] = PROBATE) -> None:
        self._folder = folder
        self._program = program
        self._stack = AsyncExitStack()
        self.servers: list[ServerProcess] = []
        self.apis: list[ApiClient] = []
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        await self._serve(f"sqlite:{self._folder / 'probate.db'}")
        await self._prepare()

    async def _serve(self, store: str) -> None:
        def start() -> ServerProcess:
            return ServerProcess(self._folder, store, *GC_CONTROLLERS, program=self._program)

        server = await asyncio.to_thread(start)
        self._stack.push_async_callback(asyncio.to_thread, server.discard)
        api = ApiClient(len(self.servers), server.url)
        self._stack.push_async_callback(api.close)
        self.servers.append(server)
        self.apis.append(api)

    async def _prepare(self) -> None:
        await self.apis[0].request_until_done("POST", f"{RBAC}/clusterroles", ROLE_OBJECT)

    async def start_again(self, server: ServerProcess) -> None:
        """Starts a server that was killed. (Two faults may have killed it; it is started once.)"""
        async with self._starting:
            if not server.is_running:
                await asyncio.to_thread(server.restart)

    async def restart_servers(self) -> None:
        """Restarts every server, so that it has no cached state and no connections."""
        for server in self.servers:
            server.kill()
        await self.recover()

    async def recover(self) -> None:
        """Resumes and restarts all processes, and waits until every server serves."""
        for server in self.servers:
            server.resume()
            await self.start_again(server)
        for api in self.apis:
            await api.request_until_done("GET", "/api/v1/namespaces/default")


class EtcdTarget(Target):
    """Two servers on three members."""

    name = "etcd"
    rights_bound = ETCD_RIGHTS_BOUND

    async def _start(self) -> None:
        self.cluster = Cluster(directory=self._folder / "etcd", durable=False, flags=ELECTIONS)
        self.peers = [await self._proxy(member.peer_url.removeprefix("http://")) for member in self.cluster.members]
        self.cluster.advertise([f"http://{proxy.endpoint}" for proxy in self.peers])
        self._stack.push_async_callback(asyncio.to_thread, self._stop_members)
        await asyncio.to_thread(self.cluster.start)
        self.links: list[list[Proxy]] = []  # from each server to each member
        for number in range(2):
            links = [await self._proxy(endpoint) for endpoint in self.cluster.endpoints]
            self.links.append(links)
            order = links[number:] + links[:number]  # each server starts with another member
            await self._serve(f"etcd://{','.join(proxy.endpoint for proxy in order)}/linearizability")
        await self._prepare()

    async def _proxy(self, target: str) -> Proxy:
        return await self._stack.enter_async_context(Proxy(target))

    def used_member(self, server: int) -> int:
        """Returns the member to which a server sent its last request."""
        return max(range(len(self.links[server])), key=lambda number: self.links[server][number].last_request)

    async def recover(self) -> None:
        for member in self.cluster.members:
            member.resume()
            if not member.is_running:
                member.spawn()
        for proxy in (*self.peers, *(link for links in self.links for link in links)):
            if proxy.is_holding:
                proxy.cut()
        for member in self.cluster.members:
            await asyncio.to_thread(member.wait_until_serving)
        await super().recover()

    def _stop_members(self) -> None:
        for member in self.cluster.members:
            member.kill()

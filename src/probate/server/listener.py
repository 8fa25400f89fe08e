"""The process's socket and its life: bind, serve, stop on a signal."""

from __future__ import annotations

import asyncio
import errno
import functools
import ipaddress
import os
import re
import signal
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from probate import errors
from probate.server.app import App
from probate.server.connections import IDLE_SECONDS, Connection
from probate.server.tls.serving import Serving

GOOD_BYE_SECONDS = 1.0
"""How long a client may take to answer when a connection ends."""


def bind(listen: str, *, is_insecure: bool = True) -> socket.socket:
    """A listening socket on HOST:PORT (port 0: any free one). `CannotOpen` says what is wrong with the address."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise errors.CannotOpen(f"{listen!r} is no address to listen on. Give HOST:PORT, such as 127.0.0.1:8080")
    if is_insecure and not is_loopback(host):
        raise _not_loopback(host)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, int(port)), family=family, backlog=1024)
    except OSError as error:
        hint = " Is another server running?" if error.errno == errno.EADDRINUSE else ""
        why = os.strerror(error.errno or 0)
        raise errors.CannotOpen(f"cannot listen on {listen}: {why}.{hint} Give another address with --listen") from error
    if is_insecure and not is_loopback(listening.getsockname()[0]):  # a machine may call anything its localhost
        listening.close()
        raise _not_loopback(host)
    return listening


def _not_loopback(host: str) -> errors.CannotOpen:
    return errors.CannotOpen(
        f"plain HTTP is served on loopback only, and {host} is not loopback. "
        "Listen on 127.0.0.1, [::1] or localhost, or serve without --insecure"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url(listening: socket.socket, scheme: str = "http") -> str:
    """Where clients on this machine find the server."""
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class Listener(uvicorn.Server):
    """Serves an app on a socket until SIGTERM or SIGINT; `on_start` is called once requests are answered."""

    def __init__(self, app: App, on_start: Callable[[], None], *, patience: float, serving: Serving | None = None) -> None:
        connection: Any = functools.partial(Connection, patience)  # uvicorn calls it as it would call a class
        config = uvicorn.Config(
            app,
            http=connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # who the client is, no header of its own may say
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=10,
        )
        super().__init__(config)
        self._app = app
        self._serving = serving
        self._in_use: ssl.SSLContext | None = None
        self._sockets: list[socket.socket] = []
        self._patience = patience
        self.servers: list[asyncio.base_events.Server] = []
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections. (uvicorn's own way knows no limits for handshakes, nor for clients that do not answer a good-bye.)"""
        await self.lifespan.startup()
        self._sockets = sockets or []
        await self._accept()
        self.started = True
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """uvicorn calls this ten times a second."""
        if self._serving is not None and self._serving.context is not self._in_use:
            await self._accept()
            self._say_good_bye()
        return await super().on_tick(counter)

    async def _accept(self) -> None:
        """Accept connections with the context there is now. Those that are under way go on."""
        before, self._in_use = self.servers, None if self._serving is None else self._serving.context
        loop, given = asyncio.get_running_loop(), self._secured(self._in_use)
        self.servers = [await loop.create_server(self._connection, sock=one.dup(), **given) for one in self._sockets]
        for server in before:
            server.close()

    def _say_good_bye(self) -> None:
        """Who has shown a certificate shows it again: whoever signed it may not be believed any more. Answers are finished."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection) and connection.peer is not None:
                connection.shutdown()

    def _connection(self) -> asyncio.Protocol:
        given: Any = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        made: asyncio.Protocol = self.config.http_protocol_class(**given)
        return made

    def _secured(self, context: ssl.SSLContext | None) -> dict[str, Any]:
        if context is None:
            return {"backlog": self.config.backlog}
        limits = {"ssl_handshake_timeout": self._patience, "ssl_shutdown_timeout": GOOD_BYE_SECONDS}
        return {"backlog": self.config.backlog, "ssl": context, **limits}

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on a signal and return, so that the process can close its store. (uvicorn's own way ends it on the spot.)"""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

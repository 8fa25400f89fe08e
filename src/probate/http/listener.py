"""The process's socket and its life: bind, serve, stop on a signal."""

from __future__ import annotations

import asyncio
import errno
import functools
import ipaddress
import logging
import os
import re
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from probate.core import errors, memory_trim
from probate.core.logs import facts
from probate.http import acceptor
from probate.http.connection import IDLE_SECONDS, Connection
from probate.http.tls.server_context import Serving
from probate.server.app import App
from probate.settings import DEFAULT_MAX_CONNECTIONS, MIN_MAX_CONNECTIONS

MAX_DESCRIPTORS = 65_536
"""As many are asked for; the system may allow less."""
FEWEST_BY_DEFAULT = 1_000
"""A server that could serve fewer connections does not start, unless `--max-connections` asks for no more."""
TICKS_A_SECOND = 10

log = logging.getLogger(__name__)


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


def allow_descriptors() -> int:
    """As many file descriptors for the process as the system allows: one is needed for each connection. Returns how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def fit_connections(wanted: int) -> int:
    """How many connections fit into the file descriptors that the system allows, after asking for more; `wanted` at most.

    The default is lowered where it does not fit, down to `FEWEST_BY_DEFAULT`. Any other figure is what somebody asked for: if that
    does not fit, `CannotOpen` says so.
    """
    allowed, needed = allow_descriptors(), wanted + acceptor.RESERVED
    fits = min(wanted, allowed - acceptor.RESERVED)
    if fits < wanted and (wanted != DEFAULT_MAX_CONNECTIONS or fits < FEWEST_BY_DEFAULT):
        lower = f"or lower --max-connections to {fits:,} or less" if fits >= MIN_MAX_CONNECTIONS else "(there are too few for any)"
        raise errors.CannotOpen(
            f"{wanted:,} connections need {needed:,} file descriptors ({acceptor.RESERVED} are kept for files and others), "
            f"and the system allows this process {allowed:,}. Raise the limit (ulimit -n {needed}) {lower}"
        )
    if fits < wanted:
        log.warning("too few file descriptors, limit of connections lowered", extra=facts(connections=fits, descriptors=allowed))
    return fits


class Listener(uvicorn.Server):
    """Serves an app on a socket until SIGTERM or SIGINT; `on_start` is called once requests are answered."""

    def __init__(
        self,
        app: App,
        on_start: Callable[[], None],
        *,
        patience: float,
        serving: Serving | None = None,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
    ) -> None:
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
        self._in_use = self._context()
        self.servers: list[asyncio.base_events.Server] = []
        self._on_start = on_start
        self._trimmer = memory_trim.Trimmer()
        limit = max(1, min(max_connections, allow_descriptors() - acceptor.RESERVED))
        self._gate = acceptor.Gate(self._connection, self._context, patience=patience, limit=limit, limits=app.limit_log)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections. (uvicorn's own way knows no limits for handshakes, nor for clients that do not answer a good-bye.)"""
        await self.lifespan.startup()
        for one in sockets or ():
            self._gate.open(one)
        self.started = True
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """uvicorn calls this ten times a second (`TICKS_A_SECOND`)."""
        if self._context() is not self._in_use:
            self._in_use = self._context()
            self._say_good_bye()
        if counter % TICKS_A_SECOND == 0:
            activity = self.server_state.total_requests + self._gate.departures
            await self._trimmer.look(activity, len(self.server_state.connections))
        return await super().on_tick(counter)

    def _context(self) -> ssl.SSLContext | None:
        """With which handshakes begin now."""
        return None if self._serving is None else self._serving.context

    def _say_good_bye(self) -> None:
        """Who has shown a certificate shows it again: whoever signed it may not be believed any more. Answers are finished."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection) and connection.peer is not None:
                connection.shutdown()

    def _connection(self) -> Connection:
        given: Any = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        made: Connection = self.config.http_protocol_class(**given)  # type: ignore[assignment]
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gate.close()
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

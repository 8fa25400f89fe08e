"""The process's listening socket: binds it, serves on it, and stops on a signal."""

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
from typing import Any, Protocol

import uvicorn

from probate.core import errors, memory_trim
from probate.core.logs import facts
from probate.core.sparse_tables import Table
from probate.http import acceptor
from probate.http.connection import IDLE_SECONDS, Connection
from probate.http.limit_log import LimitLog
from probate.http.tls.server_context import TlsServerContext
from probate.settings import DEFAULT_MAX_CONNECTIONS, MIN_MAX_CONNECTIONS

MAX_DESCRIPTORS = 65_536
"""How many file descriptors the process requests; the system may allow fewer."""
MIN_DEFAULT_CONNECTIONS = 1_000
"""A server that can serve fewer connections does not start, unless `--max-connections` is that low."""
TICKS_PER_SECOND = 10

log = logging.getLogger(__name__)


def bind(listen: str, *, is_insecure: bool = True) -> socket.socket:
    """Returns a listening socket on HOST:PORT (port 0: any free port). Raises `CannotOpen` if the address cannot be used."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise errors.CannotOpen(f"cannot listen on {listen!r}: not a HOST:PORT address. Give one such as 127.0.0.1:8080")
    if is_insecure and not is_loopback(host):
        raise _not_loopback(host)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, int(port)), family=family, backlog=1024)
    except OSError as error:
        hint = " Is another server running?" if error.errno == errno.EADDRINUSE else ""
        reason = os.strerror(error.errno or 0)
        raise errors.CannotOpen(f"cannot listen on {listen}: {reason}.{hint} Give another address with --listen") from error
    if is_insecure and not is_loopback(listener.getsockname()[0]):  # a machine may resolve localhost to any address
        listener.close()
        raise _not_loopback(host)
    return listener


def _not_loopback(host: str) -> errors.CannotOpen:
    return errors.CannotOpen(
        f"--insecure serves plain HTTP on loopback addresses only, and {host} is not one. "
        "Listen on 127.0.0.1, [::1] or localhost, or omit --insecure"
    )


def is_loopback(host: str) -> bool:
    """Whether the address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url(listener: socket.socket, scheme: str = "http") -> str:
    """Returns the server's URL for clients on this machine."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def raise_descriptor_limit() -> int:
    """Raises the limit of file descriptors as far as the system allows, since each connection needs one. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    desired = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < desired:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (desired, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def fit_connections(requested: int) -> int:
    """Returns how many connections the system's limit of file descriptors allows, after raising it; at most `requested`.

    Lowers the default if it does not fit, down to `MIN_DEFAULT_CONNECTIONS`. Any other number is the user's choice: if it does not
    fit, raises `CannotOpen`.
    """
    allowed, needed = raise_descriptor_limit(), requested + acceptor.RESERVED_DESCRIPTORS
    fits = min(requested, allowed - acceptor.RESERVED_DESCRIPTORS)
    if fits < requested and (requested != DEFAULT_MAX_CONNECTIONS or fits < MIN_DEFAULT_CONNECTIONS):
        lower = f"or lower --max-connections to {fits:,} or less" if fits >= MIN_MAX_CONNECTIONS else "(there are too few for any)"
        raise errors.CannotOpen(
            f"{requested:,} connections need {needed:,} file descriptors ({acceptor.RESERVED_DESCRIPTORS} are kept for everything "
            f"else), and the system allows this process {allowed:,}. Raise the limit (ulimit -n {needed}) {lower}"
        )
    if fits < requested:
        log.warning("too few file descriptors, limit of connections lowered", extra=facts(connections=fits, descriptors=allowed))
    return fits


class Application(Protocol):
    """An ASGI application that the listener can stop."""

    limit_log: LimitLog

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    def stop(self) -> None:
        """Ends open watches, so that their connections can close."""
        ...


class Listener(uvicorn.Server):
    """Serves an app on a socket until SIGTERM or SIGINT. Calls `on_start` once it answers requests."""

    def __init__(
        self,
        app: Application,
        on_start: Callable[[], None],
        *,
        patience: float,
        server_context: TlsServerContext | None = None,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
    ) -> None:
        connection: Any = functools.partial(Connection, patience)  # uvicorn calls it like a class
        config = uvicorn.Config(
            app,
            http=connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # no header may claim to be another client
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=10,
        )
        super().__init__(config)
        self._app = app
        self._server_context = server_context
        self._last_context = self._ssl_context()
        self.servers: list[asyncio.base_events.Server] = []
        self._on_start = on_start
        self._trimmer = memory_trim.Trimmer(self._tables)
        limit = max(1, min(max_connections, raise_descriptor_limit() - acceptor.RESERVED_DESCRIPTORS))
        self._acceptor = acceptor.Acceptor(
            self._create_connection, self._ssl_context, patience=patience, limit=limit, limits=app.limit_log
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to accept connections. (uvicorn limits neither handshakes nor clients that do not answer a TLS close.)"""
        await self.lifespan.startup()
        for listener in sockets or ():
            self._acceptor.listen_on(listener)
        self.started = True
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second (`TICKS_PER_SECOND`)."""
        if self._ssl_context() is not self._last_context:
            self._last_context = self._ssl_context()
            self._close_certificate_connections()
        if counter % TICKS_PER_SECOND == 0:
            activity = self.server_state.total_requests + self._acceptor.closed_connections
            await self._trimmer.look(activity, len(self.server_state.connections))
        return await super().on_tick(counter)

    def _tables(self) -> tuple[Table, ...]:
        """Returns the sets and dicts that have an entry for each connection or request."""
        return self.server_state.connections, self.server_state.tasks, *self._acceptor.tables()

    def _ssl_context(self) -> ssl.SSLContext | None:
        """Returns the context that new handshakes use."""
        return None if self._server_context is None else self._server_context.context

    def _close_certificate_connections(self) -> None:
        """Closes connections with a client certificate after their response: the CA that signed it may not be trusted any more."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection) and connection.peer is not None:
                connection.shutdown()

    def _create_connection(self) -> Connection:
        options: Any = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        connection: Connection = self.config.http_protocol_class(**options)  # type: ignore[assignment]
        return connection

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._acceptor.close()
        self._app.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stops serving on a signal and returns, so that the process can close its store. (uvicorn would end the process.)"""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

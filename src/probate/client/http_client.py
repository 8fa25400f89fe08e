"""Sends requests to a running server over HTTP, for commands. Each has a connection of its own; each call blocks until the answer.

Controllers use the asynchronous `client.objects` instead. What is the same for both comes from there: resources, events, and how an
error response becomes an exception.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from probate.api.objects import Object
from probate.client.http_kubeconfig import ServerAccess
from probate.client.objects import GroupVersionResource, WatchEvent, error_from_status
from probate.core import errors

TIMEOUT_SECONDS = 30.0
"""How long to wait for a connection, and for each part of an answer."""
MAX_LINE_BYTES = 64 * 1024 * 1024
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class HttpClient:
    """A client of one server. Its methods raise an `ApiError` for an error response.

    They raise `StoreUnavailable` if the server does not answer: the request may or may not have been processed.
    """

    def __init__(self, access: ServerAccess, timeout: float = TIMEOUT_SECONDS) -> None:
        self.access = access
        self._address = urlsplit(access.url)
        self._timeout = timeout
        self._tls = _tls_context(access) if self._address.scheme == "https" else None

    def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON, timeout: float = 0) -> Object:
        """Returns what is at a path, if the answer begins within `timeout` seconds, or else `TIMEOUT_SECONDS`."""
        with self._exchange("GET", path, query or {}, accept=accept, timeout=timeout) as response:
            return self._read(response)

    def create(self, path: str, body: Object) -> Object:
        """Posts an object, or an order to a subresource, and returns the answer."""
        return self._write("POST", path, body)

    def delete(self, path: str, body: Object) -> Object:
        """Deletes what is at a path, with these options, and returns the answer."""
        return self._write("DELETE", path, body)

    def watch(self, resource: GroupVersionResource, query: Mapping[str, str], *, seconds: float) -> Iterator[WatchEvent]:
        """Yields the events of a watch, which the server ends after these seconds.

        Raises an `ApiError` if the server refuses the watch, reports an error in it, or is silent for longer than that.
        """
        asked = {"watch": "1", "timeoutSeconds": str(max(1, int(seconds))), **query}
        with self._exchange("GET", resource.path(), asked, timeout=seconds + self._timeout) as response:
            _check(response, self.access.url)
            while line := response.readline(MAX_LINE_BYTES):
                yield _parse_event(line, self.access.url)

    def _write(self, method: str, path: str, body: Object) -> Object:
        with self._exchange(method, path, {}, body=body) as response:
            return self._read(response)

    def _read(self, response: http.client.HTTPResponse) -> Object:
        _check(response, self.access.url)
        return _parse(response.read(), self.access.url)

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        body: Object | None = None,
        accept: str = JSON,
        timeout: float = 0,
    ) -> Iterator[http.client.HTTPResponse]:
        """Sends a request, and yields the response. Closes the connection afterwards."""
        target = f"{self._address.path}{path}{'?' if query else ''}{urlencode(query)}"
        content = None if body is None else orjson.dumps(body)
        connection = _Connection(
            self._address.hostname or "", self._address.port, tls=self._tls, server_name=self.access.server_name
        )
        connection.timeout = timeout or self._timeout
        try:
            connection.request(method, target, content, {"Accept": accept, "Content-Type": JSON, **_credentials(self.access)})
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise errors.StoreUnavailable(_failure_text(self.access, error)) from error
        finally:
            connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection, with TLS if it gets a TLS context, that expects the certificate of `server_name`, or else of the host."""

    def __init__(self, host: str, port: int | None, *, tls: ssl.SSLContext | None, server_name: str) -> None:
        super().__init__(host, port or (http.client.HTTP_PORT if tls is None else http.client.HTTPS_PORT))
        self._tls = tls
        self._server_name = server_name or host
        self.timeout = TIMEOUT_SECONDS

    def connect(self) -> None:
        """Connects to the server."""
        self.sock: Any = socket.create_connection((self.host, self.port), self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _tls_context(access: ServerAccess) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.authority.decode("ascii") or None)
        if not access.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.certificate:
            _load_certificate(context, access)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise errors.CannotOpen(f"{access.source} has a certificate or key that cannot be used: {error}") from None
    return context


def _load_certificate(context: ssl.SSLContext, access: ServerAccess) -> None:
    """Loads the client's certificate and key. The standard library reads them from a file only: one that lives for this call."""
    with tempfile.TemporaryDirectory(prefix="probate-") as folder:  # only its owner may enter it
        path = Path(folder) / "client.pem"
        path.write_bytes(access.certificate + b"\n" + access.key)
        context.load_cert_chain(path)


def _credentials(access: ServerAccess) -> dict[str, str]:
    token = access.token
    if access.token_file:
        try:
            token = Path(access.token_file).read_text().strip()
        except OSError as error:
            raise errors.CannotOpen(f"the token file {access.token_file} cannot be read: {error.strerror}") from None
    return {"Authorization": f"Bearer {token}"} if token else {}


def _check(response: http.client.HTTPResponse, url: str) -> None:
    """Raises an `ApiError` for an error response."""
    if response.status < HTTPStatus.MULTIPLE_CHOICES:
        return
    status = _parse(response.read(), url, response.status)
    raise error_from_status(status, response.status)


def _parse(body: bytes, url: str, code: int = 200) -> Object:
    """Returns the JSON object of a body. Raises an `ApiError`, never `NotFound`, if something else than an API server answers."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        content = None
    if not isinstance(content, dict):
        raise errors.ApiError(f"{url} answers {code} without a JSON object: is it an API server?")
    return content


def _parse_event(line: bytes, url: str) -> WatchEvent:
    event = _parse(line, url)
    type_, object_ = event.get("type"), event.get("object")
    if not isinstance(type_, str) or not isinstance(object_, dict):
        raise errors.ApiError(f"{url} answers a watch with something else than events: is it an API server?")
    if type_ == "ERROR":
        raise error_from_status(object_, int(object_.get("code") or 500))
    return WatchEvent(type_, object_)


def _failure_text(access: ServerAccess, error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {access.url} cannot be verified ({error.verify_message}). Check the authority in {access.source}"
        )
    if isinstance(error, TimeoutError):
        return f"{access.url} does not answer in time. Check that the server runs"
    detail = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return f"{access.url} does not answer: {detail}. Check that the server runs, and the address in {access.source}"

"""Client certificate authorities come from files that change while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from probate.http import listener
from probate.http.listener import Listener
from probate.http.tls.certificate_folder import CertificateFolder
from probate.http.tls.server_context import TlsFiles, TlsServerContext
from support import signed_certificates as certificates
from support.in_process_server import running
from support.signed_certificates import SignedCertificate

ASKED = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"


def files(path: Path, *believed: SignedCertificate) -> TlsFiles:
    folder = CertificateFolder(path / "pki")
    folder.ensure(("localhost",), time.time())
    (path / "believed.crt").write_bytes(b"".join(one.pem for one in believed))
    return TlsFiles(folder.path_of("server.crt"), folder.path_of("server.key"), (path / "believed.crt",))


@asynccontextmanager
async def served(serving: TlsServerContext) -> AsyncIterator[int]:
    """The port of a server."""
    begun = asyncio.Event()
    async with running(collects=False) as house:
        with listener.bind("127.0.0.1:0", is_insecure=False) as listening:
            server = Listener(house.app, begun.set, patience=10, server_context=serving)
            working = asyncio.create_task(server.serve([listening]))
            await begun.wait()
            yield listening.getsockname()[1]
            server.should_exit = True
            await working


@asynccontextmanager
async def connected(
    port: int, path: Path, shown: SignedCertificate
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which one request has been answered."""
    context = ssl.create_default_context(cafile=str(path / "pki" / "ca.crt"))
    (path / "client.pem").write_bytes(shown.client_pem)
    context.load_cert_chain(path / "client.pem")
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
    try:
        writer.write(ASKED)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await reader.readexactly(2)
        yield reader, writer
    finally:
        writer.close()


async def test_an_authority_that_is_taken_away_is_believed_no_more(tmp_path: Path) -> None:
    stays, goes = certificates.new_root("stays"), certificates.new_root("goes")
    serving = TlsServerContext(files(tmp_path, stays, goes))
    async with served(serving) as port:
        async with connected(port, tmp_path, certificates.new_leaf(goes, "ann")) as (reader, _):
            files(tmp_path, stays)
            assert serving.refresh()
            assert await asyncio.wait_for(reader.read(), 60) == b""  # the connection was kept, and is ended
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with connected(port, tmp_path, certificates.new_leaf(goes, "ann")):
                pass
        async with connected(port, tmp_path, certificates.new_leaf(stays, "ann")):
            pass


async def test_client_with_a_certificate_gets_no_session_ticket(tmp_path: Path) -> None:
    one = certificates.new_root("one")
    async with (
        served(TlsServerContext(files(tmp_path, one))) as port,
        connected(port, tmp_path, certificates.new_leaf(one, "ann")) as (_, writer),
    ):
        session = writer.get_extra_info("ssl_object").session
        assert session is None or not session.has_ticket


def exchange(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> tuple[ssl.SSLSession | None, bool]:
    """Sends one request, resuming a session if one is given. Returns the session, and whether it was resumed."""
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost", session=session) as secured,
    ):
        secured.sendall(ASKED)
        if not secured.recv(4096).startswith(b"HTTP/1.1 200"):
            raise ConnectionError
        return secured.session, bool(secured.session_reused)


async def test_resumed_session_was_accepted_without_verifying_its_certificate(tmp_path: Path) -> None:
    one = certificates.new_root("one")
    async with served(TlsServerContext(files(tmp_path, one))) as port:
        context = ssl.create_default_context(cafile=str(tmp_path / "pki" / "ca.crt"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        (tmp_path / "client.pem").write_bytes(certificates.new_leaf(one, "ann").client_pem)
        context.load_cert_chain(tmp_path / "client.pem")
        session, _ = await asyncio.to_thread(exchange, port, context)
        assert session is not None
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(exchange, port, context, session)
        _, is_earlier = await asyncio.to_thread(exchange, port, context, session)
        assert not is_earlier  # the server has forgotten the session, and the certificate is shown again


async def test_client_without_a_certificate_may_resume_its_session(tmp_path: Path) -> None:
    async with served(TlsServerContext(files(tmp_path, certificates.new_root("one")))) as port:
        context = ssl.create_default_context(cafile=str(tmp_path / "pki" / "ca.crt"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        session, _ = await asyncio.to_thread(exchange, port, context)
        assert await asyncio.to_thread(exchange, port, context, session)


async def test_certificate_of_a_handshake_outlived_an_authority_removed_meanwhile(tmp_path: Path) -> None:
    stays, goes = certificates.new_root("stays"), certificates.new_root("goes")
    serving = TlsServerContext(files(tmp_path, stays, goes))
    async with served(serving) as port:
        context = ssl.create_default_context(cafile=str(tmp_path / "pki" / "ca.crt"))
        (tmp_path / "client.pem").write_bytes(certificates.new_leaf(goes, "ann").client_pem)
        context.load_cert_chain(tmp_path / "client.pem")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(come, go, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        writer.write(go.read())
        come.write(await reader.read(100_000))  # the server has chosen whom it believes
        async with connected(port, tmp_path, certificates.new_leaf(goes, "bob")) as (others, _):
            files(tmp_path, stays)
            assert serving.refresh()
            assert await asyncio.wait_for(others.read(), 60) == b""  # open connections were closed
        client.do_handshake()
        client.write(ASKED)  # (who asks nothing is cut off in any case)
        writer.write(go.read())
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(reader.read(), 20)  # until the server ends the connection
        writer.close()

"""A webhook that allows every request as fast as it can. bench/extensions.py starts it with a port and a certificate."""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from typing import cast

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_UID = re.compile(rb'"uid":"([^"]+)"')
_SAID = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"%b","allowed":true}}'


class Hook(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._got = b""

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        length = _LENGTH.search(self._got, 0, end) if end >= 0 else None
        if end < 0 or (length is not None and len(self._got) < end + 4 + int(length[1])):
            return
        uid = _UID.search(self._got, end)
        body = _SAID % (uid[1] if uid is not None else b"")
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        self._got = b""


async def main(port: int, certificate: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = await asyncio.get_running_loop().create_server(Hook, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2]))

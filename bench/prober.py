"""The other client of bench/hostile.py: requests one small object every two milliseconds until its input ends.

    python bench/prober.py PORT           in plain HTTP
    python bench/prober.py PORT FOLDER    over TLS, with the admin's certificate in this folder

It prints the time within which 99 of 100 responses arrived. It runs in a process of its own, so that it measures the server and
not the process that loads it. A response other than 200, or a connection that the server closes, counts as a minute.
"""

from __future__ import annotations

import select
import socket
import ssl
import statistics
import sys
import time

PAUSE = 0.002
REFUSED = 60.0
"""Seconds that a refused request counts."""
ASK = b"GET /api/v1/namespaces/default HTTP/1.1\r\nHost: x\r\n\r\n"


def ask(connection: socket.socket) -> float:
    began = time.perf_counter()
    connection.sendall(ASK)
    text = connection.recv(1 << 16)
    while len(text) < _length(text):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the server has ended the connection")
        text += part
    return time.perf_counter() - began if text.startswith(b"HTTP/1.1 200") else REFUSED


def _length(text: bytes) -> int:
    head, end, _ = text.partition(b"\r\n\r\n")
    if not end:
        return len(text) + 1
    return len(head) + len(end) + int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


def connect(port: int, folder: str) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port))
    if not folder:
        return plain
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    context.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")
    return context.wrap_socket(plain, server_hostname="localhost")


def main(port: int, folder: str = "") -> None:
    try:
        with connect(port, folder) as connection:
            took = [ask(connection) for _ in range(10)]  # the first are not like the others
            took.clear()
            while len(took) < 200 or not select.select([sys.stdin], [], [], PAUSE)[0]:
                took.append(ask(connection))
            print(statistics.quantiles(took, n=100)[98])
    except OSError:
        print(REFUSED)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

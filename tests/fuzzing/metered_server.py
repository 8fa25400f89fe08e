"""Runs `probate …` and tells on a socket how much processor time its event loop, and all of its threads, have taken.

    python tests/fuzzing/metered_server.py PORT serve --store memory: …

Each line that a client writes to PORT is answered with two numbers of nanoseconds: those of the main thread, which runs the event
loop, and those of the whole process. Processor time says what a request costs, whatever else runs on the machine.
"""

from __future__ import annotations

import socketserver
import sys
import threading
import time


class _Meter(socketserver.StreamRequestHandler):
    loop_clock = time.pthread_getcpuclockid(threading.main_thread().ident or 0)

    def handle(self) -> None:
        while self.rfile.readline():
            self.wfile.write(f"{time.clock_gettime_ns(self.loop_clock)} {time.process_time_ns()}\n".encode())


def main() -> None:
    port = int(sys.argv.pop(1))
    meter = socketserver.ThreadingTCPServer(("127.0.0.1", port), _Meter)
    meter.daemon_threads = True
    threading.Thread(target=meter.serve_forever, daemon=True).start()
    from probate.__main__ import main as probate  # noqa: PLC0415 the server starts here

    probate()


if __name__ == "__main__":
    main()

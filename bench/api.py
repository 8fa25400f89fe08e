"""Measures the API against a bare uvicorn that answers the same number of bytes, in the same run, with wrk.

    make bench-api

Prints requests a second, the ratio to the bare server, and the slowest of a hundred at 32 connections; then the memory with
10,000 objects. Needs wrk (Debian: apt-get install wrk).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

SECONDS = 4
PATH = "/api/v1/namespaces/default/configmaps"
CREATE = """
local n = 0
request = function()
  n = n + 1
  local body = '{"metadata":{"name":"c' .. n .. '","labels":{"app":"x"}},"data":{"k":"' .. string.rep("v", 64) .. '"}}'
  return wrk.format("POST", "%s", {["Content-Type"] = "application/json"}, body)
end
"""


@contextlib.contextmanager
def started(command: list[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ | environment) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def bare(size: int) -> Iterator[str]:
    command = [sys.executable, "-m", "uvicorn", "bare:app", "--port", "18999", "--log-level", "error"]
    url = "http://127.0.0.1:18999/"
    with started(command, Path(__file__).parent, BARE_SIZE=str(size)):
        wait_for(url)
        yield url


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url)
            return
    raise SystemExit(f"nothing answers at {url}")


def wrk(url: str, *more: str, connections: int = 32) -> tuple[float, str]:
    """Requests a second, and the time within which 99 of a hundred were answered."""
    program = shutil.which("wrk")
    assert program is not None
    command = [program, "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency", *more, url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    if "Non-2xx" in said:
        raise SystemExit(said)
    rate, slow = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"99%\s+(\S+)", said)
    assert rate is not None
    assert slow is not None
    return float(rate[1]), slow[1]


def compare(what: str, url: str, *more: str, bar: float, size: int, connections: int = 32) -> None:
    ours, slow = wrk(url, *more, connections=connections)
    with bare(size) as other:
        limit, _ = wrk(other, connections=connections)
    ratio = ours / limit
    verdict = f"bar {bar:.2f} {'reached' if ratio >= bar else 'MISSED'}"
    print(f"{what:20} {ours:>9,.0f} /s {limit:>10,.0f} /s bare {ratio:>6.2f} x bare   99% within {slow:>8}   {verdict}", flush=True)


def resident_megabytes(process: subprocess.Popen[str]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024


def main(folder: Path) -> None:
    began = time.perf_counter()
    command = [sys.executable, "-m", "probate", "serve", "--listen", "127.0.0.1:0", "--kubeconfig", ""]
    with started(command, folder) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        print(f"{'ready after start':20} {time.perf_counter() - began:>9.2f} s")
        url = found[0] + PATH
        script = folder / "create.lua"
        script.write_text(CREATE % PATH)
        compare("create", found[0], "-s", str(script), bar=0.25, size=300)
        name = httpx.get(f"{url}?limit=1").json()["items"][0]["metadata"]["name"]
        one = httpx.get(f"{url}/{name}").content
        compare("get", f"{url}/{name}", bar=0.45, size=len(one))
        many = httpx.get(f"{url}?limit=500").content
        compare("list of 500", f"{url}?limit=500", bar=0.3, size=len(many), connections=8)
        print(f"{'resident memory':20} {resident_megabytes(process):>9.0f} MB")


if __name__ == "__main__":
    if shutil.which("wrk") is None:
        raise SystemExit("bench/api.py needs wrk. Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        main(Path(place))

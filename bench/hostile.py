"""Measures how long other clients wait for responses during an attack, and how much memory the server needs for it.

    make bench-hostile                  all attacks (a few minutes)
    make bench-hostile ARGS=--quick     shorter ones

The other clients request one small object, over TLS, every two milliseconds: first without an attack, then during one attack
after the other (`attacker.py`, a process of its own), each on a new server. Three results count: the time within which 99 of 100
responses arrive, compared with the same server just before the attack; whether a new client can connect and gets a response from
`/livez`; and whether the server's resident size returns to its earlier value within a minute after the attack.

Attacks by clients that do not read run in plain HTTP as well, because the same limits apply there.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import servers
import uvloop
from attacker import ATTACKS, CLIENT, ISSUER, MALLORY, forged_token
from cascade import prober
from report import say
from servers import Server

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.oidc_issuer import run_issuer

BAR = 3.0
MEMORY_BAR = 1_500.0
"""The maximum memory in megabytes while all memory limits are reached at once."""
KEPT_BAR = 1.2
"""The maximum resident size after an attack, relative to that before."""
SETTLE_SECONDS = 60.0
LARGE = 27
ISSUER_SECONDS = 10.0
"""How long the slow issuer takes to respond."""
UNBARRED = ("large bodies",)
"""Objects of 150,000 parts, within all limits, from a user who may write them. Python parses each without a pause."""
PLAIN_TOO = ("lists nobody reads", "answers dropped")
OPTIONS = ("--controllers", "collector,namespaces,definitions", "--store", "memory:")
OPENAPI, LIST = "/openapi/v2", "/api/v1/namespaces/large/configmaps"


class Found(NamedTuple):
    """The effect of one attack: how much longer other clients waited, the maximum memory, and the memory kept after it."""

    ratio: float
    most: float
    kept: float
    is_newcomer_in: bool

    @property
    def is_good(self) -> bool:
        return self.ratio <= BAR and self.kept <= KEPT_BAR and self.is_newcomer_in


class Bench(NamedTuple):
    """One server that is attacked. `pki` is the folder of its certificates; None in plain HTTP."""

    server: Server
    pki: Path | None
    attack: str
    seconds: float

    @property
    def folder(self) -> str:
        return "" if self.pki is None else str(self.pki)

    async def found(self) -> Found:
        """Runs the attack and measures its effect."""
        port = self.server.at.port
        async with prober(port, *filter(None, [self.folder])) as idle:
            await asyncio.sleep(self.seconds)
        before = most = self.server.megabytes()
        async with self._attacked(), prober(port, *filter(None, [self.folder])) as busy:
            is_in = await asyncio.to_thread(self._is_newcomer_let_in)
            for _ in range(int(self.seconds * 5)):
                await asyncio.sleep(0.2)
                most = max(most, self.server.megabytes())
        kept, seconds = await self._settled(before)
        found = Found(busy[0] / idle[0], most, kept / before, is_in)
        self._tell(found, f"{idle[0] * 1000:6.2f} ms idle {busy[0] * 1000:8.2f} ms attacked", f"after {seconds:2.0f} s")
        return found

    def _tell(self, found: Found, waits: str, when: str) -> None:
        sizes = f"{found.most:5.0f} MB at most, {found.kept:4.2f} x kept {when}"
        newcomer = "" if found.is_newcomer_in else ", NOBODY NEW IS LET IN"
        barred = "no bar" if self.attack in UNBARRED else f"bar {BAR:.1f}, {KEPT_BAR} {'reached' if found.is_good else 'MISSED'}"
        name = self.attack if self.pki is not None else f"{self.attack} (plain)"
        say(name, f"{waits} {found.ratio:8.2f} x, {sizes}{newcomer}", barred)

    @contextlib.asynccontextmanager
    async def _attacked(self) -> AsyncIterator[None]:
        """Runs the attacker. Yields once the attack has begun."""
        program = str(Path(__file__).with_name("attacker.py"))
        command = [sys.executable, program, str(self.server.at.port), self.folder, self.attack]
        process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        await process.stdout.readline()
        try:
            yield
        finally:
            await process.communicate(b"enough")

    def _is_newcomer_let_in(self) -> bool:
        """Whether a new, anonymous client can connect and read `/livez`."""
        context = None if self.pki is None else servers.whoever()
        try:
            with servers.connected(self.server.at, context) as line:
                line.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                return line.recv(100).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    async def _settled(self, before: float) -> tuple[float, float]:
        """Waits until the resident size is back at its earlier value or the time is up. Returns the size and the time it took."""
        began = time.monotonic()
        while (size := self.server.megabytes()) > KEPT_BAR * before and time.monotonic() - began < SETTLE_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        return size, time.monotonic() - began


@contextlib.contextmanager
def options_for(folder: Path, attack: str) -> Iterator[tuple[str, ...]]:
    """Returns the server's options for the attack."""
    if "issuer" not in attack:
        yield ()
        return
    with run_issuer(folder) as issuer:
        issuer.delay = ISSUER_SECONDS
        pki = folder / "probate.pki"
        pki.mkdir(exist_ok=True)
        (pki / ISSUER).write_text(issuer.url)
        yield "--oidc-issuer-url", issuer.url, "--oidc-client-id", CLIENT, "--oidc-ca-file", str(issuer.ca_file)


def prepare(server: Server, pki: Path | None, attack: str) -> None:
    """Creates the objects that the attack needs and reads them once, so that the server's caches are filled before it."""
    context = None
    if pki is not None:
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    if "lists" in attack:
        servers.fill(server, context, LARGE)
        servers.ask(server, context, LIST)
    if "dropped" in attack:
        servers.ask(server, context, OPENAPI)
    if "forged" in attack and pki is not None:
        refuse_one_token(server, pki)
    if "watches" in attack and pki is not None:
        rbac, group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default", "rbac.authorization.k8s.io"
        about, rules = {"metadata": {"name": MALLORY}}, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}]
        servers.ask(server, context, f"{rbac}/roles", body={**about, "rules": rules})
        subjects = [{"kind": "User", "apiGroup": group, "name": MALLORY}]
        role = {"apiGroup": group, "kind": "Role", "name": MALLORY}
        servers.ask(server, context, f"{rbac}/rolebindings", body={**about, "roleRef": role, "subjects": subjects})


def refuse_one_token(server: Server, pki: Path) -> None:
    """Sends one forged token, so that the server has loaded what verifies tokens before its size is measured."""
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    token = forged_token((pki / ISSUER).read_text(), 0).decode()
    url = f"https://localhost:{server.at.port}/api/v1/namespaces"
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"}), context=context)


async def measure(folder: Path, attack: str, seconds: float, *, is_plain: bool = False) -> Found:
    """Measures one attack on a new server."""
    folder.mkdir()  # noqa: ASYNC240
    pki = None if is_plain else folder / "probate.pki"
    start = servers.probate if is_plain else servers.secured
    with options_for(folder, attack) as more, start(folder, *OPTIONS, *more) as server:
        await asyncio.to_thread(prepare, server, pki, attack)
        return await Bench(server, pki, attack, seconds).found()


async def main(folder: Path, seconds: float, only: str) -> None:
    print("others' reads over TLS, 99 of 100 within", flush=True)
    asked = [(attack, False) for attack in ATTACKS] + [(attack, True) for attack in PLAIN_TOO]
    found = {}
    for number, (attack, is_plain) in enumerate(asked):
        if only in attack:
            found[attack, is_plain] = await measure(folder / str(number), attack, seconds, is_plain=is_plain)
    barred = [one for (attack, _), one in found.items() if attack not in UNBARRED]
    most = max(one.most for one in found.values())
    say("memory", f"{most:,.0f} MB at most", f"bar {MEMORY_BAR:,.0f} {'reached' if most <= MEMORY_BAR else 'MISSED'}")
    worst = {"worst": max(one.ratio for one in barred), "kept": max(one.kept for one in barred)} if barred else {}
    print(json.dumps({**worst, "megabytes": most}))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter attacks")
    arguments.add_argument("--only", default="", help="only attacks with this in their name")
    chosen = arguments.parse_args()
    if chosen.quick:
        os.environ["BENCH_WATCHES"] = "2500"
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place), 2.0 if chosen.quick else 5.0, chosen.only))

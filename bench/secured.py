"""Measures the cost of TLS, authentication and RBAC, compared with a server without them.

    make bench-secured                 everything (about two minutes)
    make bench-secured ARGS=--quick    shorter rounds

Two servers run, one of them with --insecure, each on its own store on disk. Each measurement alternates between the insecure
server and the other one with each kind of credential, and takes the best time. The user is an ordinary one, whose role grants
ConfigMaps in one namespace. Connections are kept open, as clients do, so handshakes do not count.

The client is one process and does its half of TLS, so on a machine with few processors it is close to its own limit. The output
therefore shows two ratios: of the rates, and of the processor time that each server takes for a request.
"""

from __future__ import annotations

import argparse
import itertools
import json
import ssl
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import servers
import uvloop
from api import PATH, QUICK, Ask, Options, Rounds, config_map
from client import Address, fetch, request
from report import say, verdict
from servers import Server

from probate.http.tls import authority
from probate.http.tls.authority import KeyPair, Subject

BAR = 0.7
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
GROUP = "rbac.authorization.k8s.io"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RULES = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"]}]
SUBJECTS = [
    {"kind": "User", "apiGroup": GROUP, "name": "bench"},
    {"kind": "ServiceAccount", "name": "bench", "namespace": "default"},
]


class Who(NamedTuple):
    """One kind of credential: the TLS context of connections and the token of requests."""

    shown: str
    context: ssl.SSLContext
    token: str = ""


def with_certificate(folder: Path, pair: KeyPair) -> ssl.SSLContext:
    context = servers.whoever()
    (folder / "client.pem").write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(folder / "client.pem")
    return context


def pair_of(folder: Path, name: str) -> KeyPair:
    return KeyPair(*((folder / "probate.pki" / f"{name}.{end}").read_bytes() for end in ("crt", "key")))


async def prepare(at: Address, admin: ssl.SSLContext | None) -> dict[str, Any]:
    """Grants the users their rights. Returns a token of the service account."""

    async def post(path: str, object_: Any) -> Any:
        return json.loads(await fetch(at, request("POST", path, json.dumps(object_).encode()), admin))

    about = {"metadata": {"name": "bench"}}
    await post(f"{RBAC}/roles", {**about, "rules": RULES})
    reference = {"apiGroup": GROUP, "kind": "Role", "name": "bench"}
    await post(f"{RBAC}/rolebindings", {**about, "roleRef": reference, "subjects": SUBJECTS})
    await post(ACCOUNTS, about)
    made: dict[str, Any] = await post(f"{ACCOUNTS}/bench/token", {"spec": {}})
    await post(PATH, {"metadata": {"name": "sample"}, "data": {"k": "v" * 64}})
    return made


def listed(folder: Path) -> str:
    """Writes the server's token file. Returns a token in it."""
    made = subprocess.run([sys.executable, "-m", "probate", "token", "bench"], capture_output=True, text=True, check=True)
    (folder / "tokens.csv").write_text(made.stdout)
    return made.stderr.strip()


def ask(what: str, numbers: itertools.count[int], who: Who | None) -> Ask:
    token, context = (who.token, who.context) if who is not None else ("", None)
    if what == "get":
        get = request("GET", f"{PATH}/sample", token=token)
        return Ask(lambda: get, context=context)
    return Ask(lambda: request("POST", PATH, config_map(f"c{next(numbers):07}"), token=token), b"201", context=context)


async def compare(what: str, plain: Server, secured: Server, *, people: list[Who], options: Options) -> None:
    """Measures each kind of credential in turn. Returns the best result of each."""
    numbers = itertools.count()
    rounds = [Rounds(secured, one, one.expected) for one in (ask(what, numbers, who) for who in people)]
    alone = ask(what, numbers, None)
    limit = Rounds(plain, alone, alone.expected)
    for _ in range(options.rounds):
        for one in (limit, *rounds):
            await one.go(options.seconds)
    for who, one in zip(people, rounds, strict=True):
        ratio, cost = one.rate / limit.rate, limit.cost / one.cost if one.cost else 0.0
        text = f"{one.rate:>9,.0f} /s {limit.rate:>10,.0f} /s insecure {ratio:>6.2f} x ({cost:.2f} by processor time)"
        say(f"{what}, {who.shown}", f"{text}, 99% within {one.slow * 1000:.2f} ms", verdict(ratio, BAR))


async def main(folder: Path, options: Options) -> None:
    print(f"ConfigMaps of about 350 bytes; best of {options.rounds} rounds of {options.seconds} s", flush=True)
    one, other = folder / "plain", folder / "secured"
    for place in (one, other):
        place.mkdir()
    token = listed(other)
    with servers.probate(one) as plain, servers.secured(other, "--token-file", "tokens.csv") as secured:
        await prepare(plain.at, None)
        made = await prepare(secured.at, with_certificate(other, pair_of(other, "admin")))
        pair = authority.issue(pair_of(other, "ca"), Subject("bench"), time.time(), lifetime=timedelta(days=1))
        people = [
            Who("certificate", with_certificate(other, pair)),
            Who("service account", servers.whoever(), made["status"]["token"]),
            Who("token of the file", servers.whoever(), token),
        ]
        for what in ("get", "create"):
            await compare(what, plain, secured, people=people, options=options)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter rounds")
    chosen = QUICK if arguments.parse_args().quick else Options()
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as home:
        uvloop.run(main(Path(home), chosen))

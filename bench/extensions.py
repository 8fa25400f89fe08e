"""Measures what extensions cost: a create with a webhook, a create with a policy, and a server-side apply compared with an
update.

    make bench-extensions                 everything (about a minute)
    make bench-extensions ARGS=--quick    shorter rounds

The ratio counts: each measurement alternates with its baseline on the same server, and takes the best time of each. A create with
a webhook waits for another process, so it has no required ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import servers
import trustme
import uvloop
from api import PATH, QUICK, Ask, Options, Rounds, config_map
from cascade import prober
from client import fetch, request
from report import say, verdict
from servers import Server

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = "application/apply-patch+yaml"
RULES, ITEMS = 20, 1_000
ATTACK_SECONDS = 8
NUMBER = 64
"""Deployments that are changed in turn, so that no request waits for a change of the same one."""
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def body(object_: Any) -> bytes:
    return json.dumps(object_).encode()


def deployment(name: str, number: int) -> bytes:
    labels = {"app": name}
    container = {"name": "c", "image": f"image:{number}", "ports": [{"name": "http", "containerPort": 80}]}
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return body({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec})


async def by_turns(what: str, one: Ask, other: Ask, *, server: Server, options: Options, bar: float | None) -> None:
    """Compares the first with the second."""
    first, second = Rounds(server, one, one.expected), Rounds(server, other, other.expected)
    for _ in range(options.rounds):
        await first.go(options.seconds)
        await second.go(options.seconds)
    ratio = first.rate / second.rate
    text = f"{first.rate:>9,.0f} /s {second.rate:>10,.0f} /s without {ratio:>6.2f} x"
    slow = f"99% of {one.connections} within {first.slow * 1000:.2f} ms"
    say(what, f"{text}, {slow}", "no bar" if bar is None else verdict(ratio, bar))


def creates(namespace: str, numbers: itertools.count[int]) -> Ask:
    path = PATH.replace("/default/", f"/{namespace}/")
    return Ask(lambda: request("POST", path, config_map(f"c{next(numbers):07}")), b"201")


async def through_a_webhook(server: Server, folder: Path, options: Options) -> None:
    authority = trustme.CA()
    certificate = folder / "hook.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    with servers.hook(certificate) as at:
        client = {"url": f"https://127.0.0.1:{at.port}/", "caBundle": base64.b64encode(authority.cert_pem.bytes()).decode()}
        hook = {"name": "bench.example.com", "clientConfig": client, "rules": [RULE], "sideEffects": "None"}
        hook |= {"admissionReviewVersions": ["v1"], "namespaceSelector": {"matchLabels": {"hooked": "yes"}}}
        path = f"{REGISTRATION}/validatingwebhookconfigurations"
        await fetch(server.at, request("POST", path, body({"metadata": {"name": "bench"}, "webhooks": [hook]})))
        numbers = itertools.count()
        await by_turns(
            "create, one webhook", creates("hooked", numbers), creates("default", numbers), server=server, options=options, bar=None
        )
        await fetch(server.at, request("DELETE", f"{path}/bench"))


async def through_a_policy(server: Server, options: Options) -> None:
    denied = "object.metadata.name != 'denied'"
    match = {"resourceRules": [RULE], "namespaceSelector": {"matchLabels": {"hooked": "yes"}}}
    policy = {"metadata": {"name": "bench"}, "spec": {"matchConstraints": match, "validations": [{"expression": denied}]}}
    await fetch(server.at, request("POST", f"{REGISTRATION}/validatingadmissionpolicies", body(policy)))
    binding = {"metadata": {"name": "bench"}, "spec": {"policyName": "bench", "validationActions": ["Deny"]}}
    await fetch(server.at, request("POST", f"{REGISTRATION}/validatingadmissionpolicybindings", body(binding)))
    try:
        await fetch(server.at, request("POST", PATH.replace("default", "hooked"), config_map("denied")))
    except SystemExit:  # the policy refused the request, so policies are evaluated
        numbers = itertools.count(5_000_000)
        await by_turns(
            "create, one policy", creates("hooked", numbers), creates("default", numbers), server=server, options=options, bar=None
        )
    else:
        say("create, one policy", "policies are not evaluated", "no bar")


async def by_apply(server: Server, options: Options) -> None:
    names = [f"d{number}" for number in range(NUMBER)]
    query = "?fieldManager=bench&force=true"
    for name in names:
        await fetch(server.at, request("PATCH", f"{DEPLOYMENTS}/{name}{query}", deployment(name, 0), media=APPLY))
    numbers = itertools.count(1)

    def update() -> bytes:
        number = next(numbers)
        name = names[number % NUMBER]
        return request("PUT", f"{DEPLOYMENTS}/{name}", deployment(name, number))

    def apply() -> bytes:
        number = next(numbers)
        name = names[number % NUMBER]
        return request("PATCH", f"{DEPLOYMENTS}/{name}{query}", deployment(name, number), media=APPLY)

    await by_turns("apply beside update", Ask(apply), Ask(update), server=server, options=options, bar=0.5)


def greedy() -> Any:
    """Returns a custom kind with twenty rules over a list of a thousand items, each as expensive as a definition allows."""
    rules = [{"rule": f"self.all(one, one in self || one == -{number})", "message": f"rule {number}"} for number in range(RULES)]
    numbers = {"type": "array", "maxItems": ITEMS, "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    schema = {"type": "object", "properties": {"numbers": numbers}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "greedies", "kind": "Greedy"}
    spec = {"group": "bench.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "greedies.bench.example.com"}, "spec": spec}


async def while_rules_are_exceeded(server: Server) -> None:
    """Returns the response times of other clients' reads while a client writes objects whose rules exceed the cost limit."""
    await fetch(server.at, request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body(greedy())))
    path = "/apis/bench.example.com/v1/namespaces/default/greedies"
    kind = {"apiVersion": "bench.example.com/v1", "kind": "Greedy"}
    written = request("POST", path, body({**kind, "metadata": {"generateName": "g-"}, "numbers": list(range(ITEMS))}))
    async with prober(server.at.port) as idle:
        await asyncio.sleep(2)
    refusals: list[str] = []
    async with prober(server.at.port) as busy:
        began = time.perf_counter()
        while time.perf_counter() - began < ATTACK_SECONDS:
            try:
                await fetch(server.at, written)
            except SystemExit as refused:
                refusals.append(str(refused))
    ratio = busy[0] / idle[0]
    told = (
        f"{idle[0] * 1000:.1f} ms, {busy[0] * 1000:.1f} ms while {len(refusals)} writes exceeded the cost of rules: {ratio:.2f} x"
    )
    say("others' reads, 99 of 100", told, f"bar 3.00 {'reached' if ratio <= 3 else 'MISSED'}")


async def main(folder: Path, options: Options) -> None:
    print(f"a store on disk; best of {options.rounds} rounds of {options.seconds} s", flush=True)
    with servers.probate(folder, "--controllers", "collector,namespaces,definitions") as server:
        space = {"metadata": {"name": "hooked", "labels": {"hooked": "yes"}}}
        await fetch(server.at, request("POST", "/api/v1/namespaces", body(space)))
        await through_a_webhook(server, folder, options)
        await through_a_policy(server, options)
        await by_apply(server, options)
        await while_rules_are_exceeded(server)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter rounds")
    chosen = QUICK if arguments.parse_args().quick else Options()
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place), chosen))

"""Sends thousands of unusual requests: half by schemathesis from the server's own OpenAPI documents, half by `fuzzing`.

    make fuzz                         ten minutes, with new examples each time
    make fuzz ARGS="--seconds 60"

The server must answer every request soon and without a server error, and a refusal must be a readable `Status`. A watch is closed
as soon as it has begun. Half of the requests are aimed at an existing namespace and at a few object names, in every response
format, so that not all of them end with "not found".
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from fuzzing.samples import DEFINITION
from fuzzing.verdict import PATIENT_SECONDS, exchange
from fuzzing.walk import walk
from support.http_server import run_memory_server

EXAMPLES = 15
"""Of one operation in one go."""
NAMES = ("a", "b", "default", "things.example.com")
ACCEPTED = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "text/plain",
)
SLOW = frozenset(
    {
        "pods",
        "podtemplates",
        "replicationcontrollers",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "cronjobs",
        "jobs",
    }
)
"""Kinds with pods in them: it takes seconds to make the first example."""


class Operation(NamedTuple):
    """One method of one path, and how requests to it are made."""

    name: str
    make: Callable[[GenerationMode], st.SearchStrategy[Any]]
    kind: dict[str, str] | None


class Fuzzer:
    """Sends requests and looks at the answers. `codes` has how many there were of each."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._url = url
        self._chance = chance
        self._session = requests.Session()
        self.codes: Counter[int] = Counter()
        self.slowest = 0.0

    def prepare(self) -> None:
        """Something to ask about."""
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self._session.post(self._url + definitions, json=DEFINITION, timeout=PATIENT_SECONDS).raise_for_status()

    def operations(self, *, is_quick: bool) -> list[Operation]:
        """All that the documents describe. A quick run leaves out what takes long to make up."""
        index = self._get("/openapi/v3")["paths"]
        documents = (self._get(one["serverRelativeURL"]) for one in index.values())
        found = [operation for document in documents for operation in _operations(document)]
        return [one for one in found if not (is_quick and SLOW & set(one.name.split("/")))]

    def run(self, operation: Operation, until: float) -> None:
        """Send a few requests of each mode, as long as there is time."""
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if time.monotonic() < until:
                self._run(operation, operation.make(mode), until)

    def _run(self, operation: Operation, cases: st.SearchStrategy[Any], until: float) -> None:
        @hypothesis.seed(self._chance.getrandbits(32))
        @hypothesis.settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(cases, st.randoms(use_true_random=False))
        def send(case: Any, chance: random.Random) -> None:
            # Drawn to the end also when there is no time left to send it: an example that draws less is taken for a flaky one.
            request = _aimed(case.as_transport_kwargs(base_url=self._url), case, operation, chance=chance)
            if time.monotonic() < until:
                self._send(request)

        send()

    def _send(self, request: dict[str, Any]) -> None:
        began = time.monotonic()
        code, _ = exchange(self._session, request)
        self.codes[code] += 1
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _get(self, path: str) -> Any:
        return self._session.get(self._url + path, timeout=PATIENT_SECONDS).json()


def _operations(document: dict[str, Any]) -> Iterator[Operation]:
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]
        about = document["paths"][operation.path][operation.method]
        kind = about.get("x-kubernetes-group-version-kind")
        yield Operation(
            f"{operation.method} {operation.path}",
            lambda mode, operation=operation: operation.as_strategy(generation_mode=mode),  # type: ignore[misc]
            kind[0] if isinstance(kind, list) else kind,
        )


def _aimed(request: dict[str, Any], case: Any, operation: Operation, *, chance: random.Random) -> dict[str, Any]:
    """The request, more often than not at something that is there."""
    parts = operation.name.partition(" ")[2].split("/")
    if chance.random() < 0.6:
        given = {"{namespace}": "default", "{name}": chance.choice(NAMES)}
        request["url"] = request["url"].partition("//")[0] + "//" + request["url"].split("/")[2]
        request["url"] += "/".join(given.get(part, part if "{" not in part else "x") for part in parts)
    request["headers"] = {**request["headers"], "Accept": chance.choice(ACCEPTED)}
    if isinstance(request.get("json"), dict) and operation.kind and chance.random() < 0.7:
        kind = operation.kind
        version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
        meta = request["json"].get("metadata")
        named = {**(meta if isinstance(meta, dict) and chance.random() < 0.5 else {}), "name": chance.choice(NAMES[:2])}
        named.pop("namespace", None)
        request["json"] = {**request["json"], "apiVersion": version, "kind": kind["kind"], "metadata": named}
    return request


def fuzz(url: str, *, seconds: float, seed: int, is_quick: bool) -> Fuzzer:
    """Ask the server for so long. Raises `Wrong` at the first answer that must not be."""
    chance = random.Random(seed)  # noqa: S311
    fuzzer = Fuzzer(url, chance)
    fuzzer.prepare()
    operations = fuzzer.operations(is_quick=is_quick)
    until = time.monotonic() + seconds
    chance.shuffle(operations)
    for operation in itertools.cycle(operations):
        if time.monotonic() >= until:
            break
        with contextlib.suppress(hypothesis.errors.Unsatisfiable):
            fuzzer.run(operation, until)
    return fuzzer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options.add_argument("--quick", action="store_true", help="leave out kinds whose examples take long to make")
    given = options.parse_args()
    print(f"fuzzing for {given.seconds:.0f} seconds; to do the same again: --seed {given.seed}", flush=True)
    with run_memory_server("--history", "1s") as server:
        url, pid = server.url, server.pid
        found = fuzz(url, seconds=given.seconds / 2, seed=given.seed, is_quick=given.quick)
        counted = ", ".join(f"{code}: {count}" for code, count in sorted(found.codes.items()))
        print(f"{found.codes.total()} requests, slowest answer {found.slowest:.2f} s; {counted}", flush=True)
        walker, grown = walk(url, pid, seconds=given.seconds / 2, seed=given.seed)
    for name in sorted({name for name, _ in walker.codes}):
        counted = ", ".join(f"{code}: {count}" for (kind, code), count in sorted(walker.codes.items()) if kind == name)
        print(f"{name}: {counted}")
    print(f"{walker.codes.total()} requests, slowest answer {walker.slowest:.2f} s, grown by {grown >> 20} MiB")


if __name__ == "__main__":
    main()

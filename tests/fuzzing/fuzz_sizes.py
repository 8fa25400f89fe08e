"""Puts values of 100 KB, and the most expensive ones up to the body limit, into everything that is parsed, and meters the server.

    make fuzz-sizes                         all fields of all kinds; several minutes
    make fuzz-sizes ARGS="--only CronJob"

It measures processor time (of the event loop, and of the whole server), divided by that of plain data of the same size: a
ConfigMap with one long text. It fails if a value takes more than `MOST_LOOP` times as much on the event loop, which all clients
share, or more than `MOST_TOTAL` times as much in total, and prints the most expensive values.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import requests

from fuzzing.meter import Cost, Meter, cost, metered_server
from fuzzing.oversize_fields import Field, fields
from fuzzing.oversize_requests import Request, oversize_requests, plain, prepare
from fuzzing.oversize_values import USUAL
from fuzzing.verdict import Wrong, exchange

FIRST_SIZE = 100_000
LARGE_SIZE = 2_500_000
DEAREST = 60
MOST_LOOP = 8.0
MOST_TOTAL = 20.0
LEAST_LOOP, LEAST_TOTAL = 100.0, 1000.0
"""Milliseconds. What is cheaper than this is in order whatever plain data costs."""


class Found(NamedTuple):
    name: str
    size: int
    code: int
    cost: Cost
    plain: Cost

    @property
    def loop_ratio(self) -> float:
        return self.cost.loop / max(self.plain.loop, 1.0)

    @property
    def total_ratio(self) -> float:
        return self.cost.total / max(self.plain.total, 1.0)

    @property
    def is_too_dear(self) -> bool:
        is_loop = self.cost.loop > LEAST_LOOP and self.loop_ratio > MOST_LOOP
        return is_loop or (self.cost.total > LEAST_TOTAL and self.total_ratio > MOST_TOTAL)

    def line(self) -> str:
        mark = "TOO DEAR" if self.is_too_dear else ""
        return (
            f"{self.cost.loop:9.1f} ms on the loop ({self.loop_ratio:6.1f} x plain) {self.cost.total:9.1f} ms in all "
            f"({self.total_ratio:6.1f} x) {self.size:>8} bytes {self.code}  {self.name} {mark}"
        )


class Sizes:
    """Sends requests one at a time and meters each."""

    def __init__(self, url: str, meter: Meter) -> None:
        self._url = url
        self._meter = meter
        self._session = requests.Session()
        self.failures = 0
        self._plain: dict[tuple[bool, int], Cost] = {}

    def prepare(self) -> None:
        prepare(self._session, self._url)

    def measure(self, request: Request, size: int) -> Found:
        code, taken, told = self._metered(request, size)
        like = max(size, min(LARGE_SIZE, -(-told // FIRST_SIZE) * FIRST_SIZE))  # what is defaulted can be larger than what was sent
        found = Found(request.name, size, code, taken, self._plain_cost(like, has_parts=request.has_parts))
        if found.is_too_dear:
            print(found.line(), flush=True)
        return found

    def _plain_cost(self, size: int, *, has_parts: bool) -> Cost:
        if (has_parts, size) not in self._plain:
            tried = [self._metered(plain(has_parts=has_parts), size)[1] for _ in range(3)]
            self._plain[has_parts, size] = Cost(min(one.loop for one in tried), min(one.total for one in tried))
        return self._plain[has_parts, size]

    def _metered(self, request: Request, size: int) -> tuple[int, Cost, int]:
        sent = request.sent(size)
        sent["url"] = self._url + sent["url"]
        before = self._meter.read()
        try:
            code, body = exchange(self._session, sent)
        except Wrong as error:
            print(f"{request.name} at {size} bytes: {str(error)[:300]}", flush=True)
            self.failures += 1
            code, body = 500, b""
        after = self._meter.rest()
        if code == 201:
            try:
                self._remove(sent["url"], body)
            except requests.RequestException as error:
                print(f"{request.name} at {size} bytes cannot be deleted: {error}", flush=True)
                self.failures += 1
            after_removal = self._meter.rest()
            return code, max(cost(before, after), cost(after, after_removal)), len(body)
        return code, cost(before, after), len(body)

    def _remove(self, url: str, body: bytes) -> None:
        meta = orjson.loads(body).get("metadata") or {}
        if name := meta.get("name"):
            path = f"{url.partition('?')[0]}/{name}"
            media = {"Content-Type": "application/merge-patch+json"}
            self._session.patch(path, data='{"metadata":{"finalizers":null}}', headers=media, timeout=30)
            self._session.delete(path, json={"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, timeout=30)


def of_field(field: Field) -> Request:
    return Request(field.name, lambda size: {"method": "POST", "url": field.url(), "data": orjson.dumps(field.object(size))})


def search(sizes: Sizes, tried: Iterable[Request]) -> Iterator[Found]:
    """Each at the first size, and the dearest of them at the largest."""
    first = {}
    for number, request in enumerate(tried):
        first[request.name] = (sizes.measure(request, FIRST_SIZE), request)
        if number % 1000 == 0:
            print(f"{number} are done", file=sys.stderr, flush=True)
    yield from (found for found, _ in first.values())
    dearest = sorted(first.values(), key=lambda one: max(one[0].loop_ratio, one[0].total_ratio / 4), reverse=True)
    for _, request in dearest[:DEAREST]:
        yield sizes.measure(request, LARGE_SIZE)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="what has this in its name")
    options.add_argument("--requests", action="store_true", help="leave out the fields of built-in kinds")
    options.add_argument("--fields", action="store_true", help="try nothing else")
    options.add_argument("--thorough", action="store_true", help="put texts of all shapes into each field")
    given = options.parse_args()
    walked = fields(None if given.thorough else USUAL)
    tried = [*(() if given.fields else oversize_requests()), *(() if given.requests else map(of_field, walked))]
    wanted = [one for one in tried if given.only in one.name]
    print(f"{len(wanted)} of {len(tried)} fields and requests, each of {FIRST_SIZE} bytes", flush=True)
    with tempfile.TemporaryDirectory() as folder, metered_server(Path(folder), "--nodes", "1", "--history", "1s") as (url, meter):
        sizes = Sizes(url, meter)
        sizes.prepare()
        found = list(search(sizes, wanted))
    for one in sorted(found, key=lambda one: (one.is_too_dear, one.cost.loop))[-DEAREST:]:
        print(one.line())
    sys.exit(sizes.failures or any(one.is_too_dear for one in found))


if __name__ == "__main__":
    main()

"""Measures what controllers cost: a Deployment of 5,000 pods, and whether churn leaves anything behind.

    make bench-living [ARGS=--quick]

It runs a real server with simulated nodes, on which pods start and end without delay, so all time is the server's own: that of
the controllers, the scheduler, the collector and the nodes. A round of churn is a Deployment that rolls once and a Job that
completes, both deleted in the foreground. The benchmark compares the server's memory after thirty rounds with its memory a
hundred rounds later. The caches of the store and of the server have limits; they are filled before, so that they do not count as
growth.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
import report
import servers
import uvloop

from probate.api.objects import Object

OPTIONS = ("--nodes", "10", "--pod-start-delay", "0s", "--pod-stop-delay", "0s", "--event-ttl", "10s")
"""With the default of an hour, memory would grow during all of the churn, because Events are kept that long."""
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
FOREGROUND = {"propagationPolicy": "Foreground"}
EARLY = 30
"""The round that the last one is compared with."""
GROWTH_BAR = 10
"""The maximum growth in percent."""
FILLING = 110
"""Megabytes that are written and read before the churn: more than the store's caches hold."""


class Size(NamedTuple):
    pods: int
    rounds: int


FULL, QUICK = Size(5_000, 130), Size(500, 60)
OF_A_ROUND = 20
"""The number of pods of the Deployment."""


class Cluster:
    """A client of the measured server."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def send(self, method: str, path: str, body: Object) -> Object:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await self._http.request(method, path, content=orjson.dumps(body), headers={"content-type": media})
        if answer.is_error:
            raise SystemExit(f"{method} {path} was answered {answer.text}")
        found: Object = orjson.loads(answer.content)
        return found

    async def until(self, path: str, name: str, is_done: Callable[[str, Object], bool]) -> None:
        """Watches the object until `is_done` accepts an event."""
        async with aclosing(self._told(path, name)) as told:
            async for type_, found in told:
                if is_done(type_, found):
                    return

    async def delete(self, path: str, name: str) -> None:
        """Deletes an object in the foreground and waits until it is removed."""
        async with aclosing(self._told(path, name)) as told:
            async for type_, _ in told:
                if type_ == "ADDED":  # the watch has begun
                    await self.send("DELETE", f"{path}/{name}", FOREGROUND)
                if type_ == "DELETED":
                    return

    async def _told(self, path: str, name: str) -> AsyncGenerator[tuple[str, Object], None]:
        """Yields the events of a watch of the object, starting with its current state."""
        asked = {"watch": "1", "fieldSelector": f"metadata.name={name}"}
        async with self._http.stream("GET", path, params=asked) as watch:
            async for line in watch.aiter_lines():
                event = orjson.loads(line)
                yield event["type"], event["object"]
        raise SystemExit(f"the watch of {name} ended")

    async def queued(self) -> int:
        """Returns the number of objects in all controllers' queues, including delayed ones."""
        text = (await self._http.get("/metrics")).text
        lengths = re.findall(r"^(?:probate_controller_queue_length{.*}|probate_gc_queue_length) (\S+)$", text, re.MULTILINE)
        return int(sum(map(float, lengths)))

    async def fill(self) -> None:
        """Fills the store's caches by writing and reading objects."""
        for number in range(FILLING):
            await self.send("POST", CONFIG_MAPS, {"metadata": {"name": f"large-{number}"}, "data": {"k": "v" * 1_000_000}})
            await self._http.get(f"{CONFIG_MAPS}/large-{number}")


def template(app: str, **spec: Any) -> Object:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "one"}], **spec}}


def deployment(name: str, pods: int) -> Object:
    spec = {"replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": template(name)}
    return {"metadata": {"name": name}, "spec": spec}


def job(name: str) -> Object:
    pod = template(name, restartPolicy="Never")
    pod["metadata"]["annotations"] = {"probate.dev/duration": "0s"}
    return {"metadata": {"name": name}, "spec": {"completions": 10, "parallelism": 10, "template": pod}}


def is_rolled_out(_: str, found: Object) -> bool:
    """Whether all pods of the new version are available, and no others exist."""
    wanted, status = found["spec"]["replicas"], found.get("status", {})
    counts = [status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    return status.get("observedGeneration") == found["metadata"]["generation"] and counts == [wanted] * 3


def is_complete(_: str, found: Object) -> bool:
    return any(one["type"] == "Complete" for one in found.get("status", {}).get("conditions", ()))


async def many(cluster: Cluster, server: servers.Server, pods: int) -> None:
    async def make() -> None:
        await cluster.send("POST", DEPLOYMENTS, deployment("many", pods))
        await cluster.until(DEPLOYMENTS, "many", is_rolled_out)

    for what, act in (("made", make), ("deleted", lambda: cluster.delete(DEPLOYMENTS, "many"))):
        began, busy = time.perf_counter(), server.cpu()
        await act()
        took, work = time.perf_counter() - began, server.cpu() - busy
        found = f"{took:6.1f} s {took / pods * 1e3:8.2f} ms each, {work / pods * 1e3:.2f} ms of them at work"
        report.say(f"{pods:,} pods {what}", found, f"{server.megabytes():.0f} MB")


async def live_and_die(cluster: Cluster, number: int) -> None:
    """Runs one round of churn."""
    name = f"round-{number}"
    await asyncio.gather(cluster.send("POST", DEPLOYMENTS, deployment(name, OF_A_ROUND)), cluster.send("POST", JOBS, job(name)))
    await cluster.until(DEPLOYMENTS, name, is_rolled_out)
    changed = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}}
    await cluster.send("PATCH", f"{DEPLOYMENTS}/{name}", changed)
    await cluster.until(DEPLOYMENTS, name, is_rolled_out)
    await cluster.until(JOBS, name, is_complete)
    await asyncio.gather(cluster.delete(DEPLOYMENTS, name), cluster.delete(JOBS, name))


async def churn(cluster: Cluster, server: servers.Server, rounds: int) -> None:
    await cluster.fill()
    began, early, queued = time.perf_counter(), 0.0, 0
    for number in range(1, rounds + 1):
        await live_and_die(cluster, number)
        if number == EARLY:
            early, queued = server.megabytes(), await cluster.queued()
    took, late = time.perf_counter() - began, server.megabytes()
    growth = (late / early - 1) * 100
    found = f"{took:6.1f} s {early:8.1f} MB after {EARLY}, {late:.1f} MB after {rounds}: {growth:+.1f} %"
    report.say(f"{rounds} rounds of churn", found, report.below(abs(growth), GROWTH_BAR, "%"))
    report.say("", f"queues: {queued} after {EARLY}, {await cluster.queued()} after {rounds}", "")


async def main(folder: Path, size: Size) -> None:
    for measure, number in ((many, size.pods), (churn, size.rounds)):
        place = folder / measure.__name__
        place.mkdir()
        with servers.probate(place, *OPTIONS) as server:
            url = f"http://{server.at.host}:{server.at.port}"
            async with httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(30, read=600)) as http:
                await measure(Cluster(http), server, number)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as folder_:
        uvloop.run(main(Path(folder_), QUICK if "--quick" in sys.argv else FULL))

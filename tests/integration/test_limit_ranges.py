"""LimitRanges: defaults of containers, and rejections in Kubernetes' words."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from support.in_process_server import InProcessServer, running

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncGenerator[InProcessServer, None]:
    async with running(collects=False) as server:
        yield server


async def limit(server: InProcessServer, kind: str, **limits: Any) -> None:
    spec = {"limits": [{"type": kind, **limits}]}
    await server.create("limitranges", "default", {"metadata": {"generateName": "l-"}, "spec": spec})


def pod(requests: Any = None, limits: Any = None, number: int = 1) -> Any:
    resources = {"requests": requests or {}, "limits": limits or {}}
    containers = [{"name": f"c{index}", "image": "i", "resources": resources} for index in range(number)]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers}}


async def test_containers_get_defaults_and_the_pod_is_annotated(server: InProcessServer) -> None:
    await limit(server, "Container", default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "500m"})
    made = await server.create("pods", "default", pod({"memory": "10Mi"}))
    [container] = made["spec"]["containers"]
    assert container["resources"] == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "10Mi"}}
    said = "LimitRanger plugin set: cpu request for container c0; cpu, memory limit for container c0"
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == said


async def test_container_with_all_resources_gets_no_defaults(server: InProcessServer) -> None:
    await limit(server, "Container", default={"cpu": "2"})
    made = await server.create("pods", "default", pod({"cpu": "1"}, {"cpu": "1"}))
    assert "annotations" not in made["metadata"]


REFUSED: list[tuple[str, str, Any, Any, str]] = [
    (
        "too little",
        "Container",
        {"min": {"cpu": "1"}},
        pod({"cpu": "500m"}, {"cpu": "2"}),
        "minimum cpu usage per Container is 1, but request is 500m",
    ),
    ("nothing asked for", "Pod", {"min": {"cpu": "1"}}, pod(), "minimum cpu usage per Pod is 1.  No request is specified"),
    (
        "too much",
        "Container",
        {"max": {"memory": "1Gi"}},
        pod({}, {"memory": "2Gi"}),
        "maximum memory usage per Container is 1Gi, but limit is 2Gi",
    ),
    ("no limit", "Pod", {"max": {"cpu": "1"}}, pod({"cpu": "1m"}), "maximum cpu usage per Pod is 1.  No limit is specified"),
    (
        "too much together",
        "Pod",
        {"max": {"cpu": "1"}},
        pod({}, {"cpu": "600m"}, 2),
        "maximum cpu usage per Pod is 1, but limit is 1200m",
    ),
    (
        "too far apart",
        "Container",
        {"maxLimitRequestRatio": {"cpu": "2"}},
        pod({"cpu": "1"}, {"cpu": "3"}),
        "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
    ),
    (
        "no ratio",
        "Pod",
        {"maxLimitRequestRatio": {"cpu": "2"}},
        pod({"cpu": "1"}),
        "cpu max limit to request ratio per Pod is 2, but no limit is specified or limit is 0",
    ),
    (
        "several",
        "Pod",
        {"min": {"cpu": "1", "memory": "1Mi"}},
        pod(),
        "[minimum cpu usage per Pod is 1.  No request is specified, minimum memory usage per Pod is 1Mi.  No request is specified]",
    ),
]


@pytest.mark.parametrize(("_name", "kind", "limits", "object_", "why"), REFUSED, ids=[one[0] for one in REFUSED])
async def test_resources_outside_the_range_are_rejected(
    server: InProcessServer, _name: str, kind: str, limits: Any, object_: Any, why: str
) -> None:
    await limit(server, kind, **limits)
    response = await server.request("POST", PODS, object_)
    assert response.code == 403
    assert response.json["message"] == f'pods "p" is forbidden: {why}'


async def test_claims_are_limited_also_when_they_grow(server: InProcessServer) -> None:
    await limit(server, "PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})

    def claim(size: str) -> Any:
        return {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}}

    refused = await server.request("POST", CLAIMS, claim("5Gi"))
    why = "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi"
    assert refused.json["message"] == f'persistentvolumeclaims "c" is forbidden: {why}'
    refused = await server.request("POST", CLAIMS, claim("1Mi"))
    assert refused.json["message"].endswith("minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi")
    assert (await server.request("POST", CLAIMS, claim("2Gi"))).code == 201


async def test_pod_resize_is_limited(server: InProcessServer) -> None:
    await server.create("pods", "default", pod({"cpu": "1"}, {"cpu": "1"}))
    await limit(server, "Container", max={"cpu": "2"})
    wider = {"spec": {"containers": [{"name": "c0", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}}]}}
    response = await server.request("PATCH", f"{PODS}/p/resize", wider, media="application/strategic-merge-patch+json")
    assert response.json["message"] == 'pods "p" is forbidden: maximum cpu usage per Container is 2, but limit is 3'


async def test_limit_ranges_of_other_namespaces_do_not_apply(server: InProcessServer) -> None:
    await limit(server, "Pod", min={"cpu": "1"})
    assert (await server.request("POST", "/api/v1/namespaces/kube-public/pods", pod())).code == 201


async def test_quota_counts_defaults_from_limit_ranges(server: InProcessServer) -> None:
    await limit(server, "Container", default={"cpu": "2"})
    await server.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": {"limits.cpu": "3"}}})
    assert (await server.request("POST", PODS, pod())).code == 201
    again = {**pod(), "metadata": {"name": "q"}}
    assert "used: limits.cpu=2, limited: limits.cpu=3" in (await server.request("POST", PODS, again)).json["message"]

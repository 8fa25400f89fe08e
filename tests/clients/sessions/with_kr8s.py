"""A session with `kr8s`: objects, kinds found by name, owners, a watch."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import kr8s
import kr8s.asyncio
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, Pod, new_class

NAMESPACE = sys.argv[1]


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, **fields}


def objects() -> None:
    """Objects are created, found, patched, labelled and deleted."""
    made = ConfigMap(named("a", data={"k": "1"}))
    made.create()
    assert made.exists()
    made.patch({"data": {"k": "2"}})
    made.patch([{"op": "add", "path": "/data/l", "value": "3"}], type="json")
    made.label(set="three")
    made.annotate(note="x")
    [found] = kr8s.get("configmaps", namespace=NAMESPACE, label_selector={"set": "three"})
    assert (found.data, found.annotations) == ({"k": "2", "l": "3"}, {"note": "x"})
    made.delete()
    made.wait("delete", timeout=60)
    try:
        ConfigMap.get("a", namespace=NAMESPACE, timeout=1)
    except kr8s.NotFoundError:
        return
    raise AssertionError("it is still there")


async def applying() -> None:
    """kr8s cannot apply, so this sends the request itself."""
    api = await kr8s.asyncio.api()
    body = {"apiVersion": "v1", "kind": "ConfigMap", **named("applied", data={"k": "1"})}
    options = {"version": "v1", "namespace": NAMESPACE, "url": "configmaps/applied", "params": {"fieldManager": "three"}}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    async with api.call_api("PATCH", content=json.dumps(body), headers=headers, **options) as answer:
        assert answer.status_code == 201
    [made] = [one async for one in api.get("configmaps", "applied", namespace=NAMESPACE)]
    assert made.metadata.managedFields[0]["manager"] == "three"


def watching() -> None:
    """A watch delivers changes as they happen."""
    made = ConfigMap(named("w"))
    seen = []
    made.create()
    for kind, found in kr8s.watch("configmaps", namespace=NAMESPACE, field_selector="metadata.name=w"):
        seen.append((kind, found.raw.get("data", {})))
        if kind == "ADDED":
            made.patch({"data": {"k": "1"}})
        elif kind == "MODIFIED":
            made.delete()
        else:
            break
    assert seen == [("ADDED", {}), ("MODIFIED", {"k": "1"}), ("DELETED", {"k": "1"})], seen


def workloads() -> None:
    """A Deployment becomes ready, is scaled, and owns its pods."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = Deployment(named("web", spec=spec))
    deployment.create()
    deployment.wait("condition=Available", timeout=60)
    deployment.scale(2)
    while not (deployment.ready() and len(deployment.pods()) == 2):
        deployment.refresh()
    pod = Pod.gen(name="child", image="one", namespace=NAMESPACE)
    pod.create()
    deployment.adopt(pod)
    deployment.delete(propagation_policy="Foreground")
    pod.wait("delete", timeout=60)
    deployment.wait("delete", timeout=60)


def custom_kinds() -> None:
    """A CRD that is created during the session."""
    group = f"{NAMESPACE}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    definition = CustomResourceDefinition({"metadata": {"name": f"things.{group}"}, "spec": spec})
    definition.create()
    definition.wait("condition=Established", timeout=60)
    thing = new_class("Thing", version=f"{group}/v1", namespaced=True)
    thing(named("t", spec={"a": 1})).create()
    assert [one.spec.a for one in kr8s.get(thing, namespace=NAMESPACE)] == [1]
    definition.delete()
    definition.wait("delete", timeout=60)


if __name__ == "__main__":
    objects()
    asyncio.run(applying())
    watching()
    workloads()
    custom_kinds()

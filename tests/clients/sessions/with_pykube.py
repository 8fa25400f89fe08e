"""A session with `pykube-ng`: queries, strategic merge patches of local changes, a watch, tables, kinds found at run time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pykube

NAMESPACE = sys.argv[1]


def refusal(call: Callable[[], Any]) -> int:
    """Returns the status code of a call that fails."""
    try:
        call()
    except pykube.exceptions.HTTPError as error:
        return int(error.code)
    raise AssertionError("it was not refused")


def body(version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": NAMESPACE, "labels": {"set": "five"}}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **fields}


def objects(api: pykube.HTTPClient) -> None:
    """Objects are created, found, updated, patched and deleted."""
    made = pykube.ConfigMap(api, body("v1", "ConfigMap", "a", data={"k": "1"}))
    made.create()
    assert refusal(pykube.ConfigMap(api, body("v1", "ConfigMap", "a")).create) == 409
    made.obj["data"] = {"k": "2"}
    made.update()
    assert made.obj["data"] == {"k": "2"}
    made.labels["more"] = "yes"
    made.update(is_strategic=False)
    [found] = pykube.ConfigMap.objects(api).filter(namespace=NAMESPACE, selector={"set": "five", "more__in": {"yes", "no"}})
    assert (found.name, found.obj["data"]) == ("a", {"k": "2"})
    table = pykube.ConfigMap.objects(api).filter(namespace=NAMESPACE).as_table()
    assert [column["name"] for column in table.columns] == ["Name", "Data", "Age"]
    made.delete()
    assert pykube.ConfigMap.objects(api).filter(namespace=NAMESPACE).get_or_none(name="a") is None


def applying(api: pykube.HTTPClient) -> None:
    """pykube cannot apply, so this sends the request itself."""
    url, kind = "configmaps/applied", {"Content-Type": "application/apply-patch+yaml"}
    data = json.dumps(body("v1", "ConfigMap", "applied", data={"k": "1"}))
    options = {"version": "v1", "namespace": NAMESPACE, "url": url, "headers": kind, "params": {"fieldManager": "five"}}
    api.raise_for_status(api.patch(data=data, **options))
    pykube.ConfigMap.objects(api).filter(namespace=NAMESPACE).get_by_name("applied").delete()


def watching(api: pykube.HTTPClient) -> None:
    """A watch delivers changes as they happen."""
    query = pykube.ConfigMap.objects(api).filter(namespace=NAMESPACE, selector={"set": "five"})
    since = query.response["metadata"]["resourceVersion"]
    pykube.ConfigMap(api, body("v1", "ConfigMap", "w")).create()
    seen = []
    for kind, found in query.watch(since=since):
        seen.append((kind, found.obj.get("data")))
        if kind == "ADDED":
            found.patch({"data": {"k": "1"}})
        elif kind == "MODIFIED":
            found.delete()
        else:
            break
    assert seen == [("ADDED", None), ("MODIFIED", {"k": "1"}), ("DELETED", {"k": "1"})], seen


def scale(deployment: pykube.Deployment, replicas: int) -> None:
    """Retries on a conflict: pykube sends the object as it last read it, and the controller may have changed it."""
    while True:
        try:
            deployment.reload()
            deployment.scale(replicas)
        except pykube.exceptions.HTTPError as error:
            if error.code != 409:
                raise
        else:
            return


def workloads(api: pykube.HTTPClient) -> None:
    """A Deployment becomes ready, is scaled and deleted."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = pykube.Deployment(api, body("apps/v1", "Deployment", "web", spec=spec))
    deployment.create()
    scale(deployment, 2)
    for _, found in pykube.Deployment.objects(api).filter(namespace=NAMESPACE).watch():
        if found.obj["status"].get("readyReplicas") == 2 and found.ready:
            break
    deployment.delete(propagation_policy="Foreground")


def custom_kinds(api: pykube.HTTPClient) -> None:
    """A CRD that is created during the session is found by its name."""
    group = f"{NAMESPACE}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    pykube.CustomResourceDefinition(api, {**definition, "metadata": {"name": f"things.{group}"}}).create()
    thing = pykube.object_factory(api, f"{group}/v1", "Thing")
    thing(api, body(f"{group}/v1", "Thing", "t", spec={"a": 1})).create()
    assert [one.obj["spec"] for one in thing.objects(api).filter(namespace=NAMESPACE)] == [{"a": 1}]


if __name__ == "__main__":
    client = pykube.HTTPClient(pykube.KubeConfig.from_env())
    objects(client)
    applying(client)
    watching(client)
    workloads(client)
    custom_kinds(client)

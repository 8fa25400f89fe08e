"""A session with the official Python client `kubernetes`: typed and dynamic client, paging, watches, informer, leader election."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

NAMESPACE = sys.argv[1]
PATIENCE = 60.0


def refusal(call: Callable[[], Any]) -> int:
    """Returns the status code of a call that fails."""
    try:
        call()
    except ApiException as error:
        return int(error.status)
    raise AssertionError("it was not refused")


def configmap(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"set": "one"}), data=data)


def objects(core: client.CoreV1Api) -> None:
    """Objects are created, read, listed, replaced, patched by each method and deleted."""
    made = core.create_namespaced_config_map(NAMESPACE, configmap("a", k="1"))
    assert made.metadata.uid
    assert made.metadata.creation_timestamp.tzinfo
    assert refusal(lambda: core.create_namespaced_config_map(NAMESPACE, configmap("a"))) == 409
    assert refusal(lambda: core.read_namespaced_config_map("absent", NAMESPACE)) == 404
    assert refusal(lambda: core.create_namespaced_config_map(NAMESPACE, configmap("Not A Name"))) == 422
    made.data = {"k": "2"}
    replaced = core.replace_namespaced_config_map("a", NAMESPACE, made)
    assert replaced.data == {"k": "2"}
    assert refusal(lambda: core.replace_namespaced_config_map("a", NAMESPACE, made)) == 409  # its resourceVersion is outdated
    assert core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"l": "3"}}).data == {"k": "2", "l": "3"}
    operations = [{"op": "remove", "path": "/data/l"}]
    assert core.patch_namespaced_config_map("a", NAMESPACE, operations).data == {"k": "2"}
    assert core.delete_namespaced_config_map("a", NAMESPACE)["status"] == "Success"


def pages(core: client.CoreV1Api) -> None:
    """A paged list returns each object once, at one revision."""
    for number in range(7):
        core.create_namespaced_config_map(NAMESPACE, configmap(f"page-{number}"))
    names, following = [], None
    while following != "":
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="set=one", limit=3, _continue=following)
        names += [one.metadata.name for one in page.items]
        following = page.metadata._continue or ""
        core.create_namespaced_config_map(NAMESPACE, configmap(f"page-{len(names)}-late"))
    assert names == [f"page-{number}" for number in range(7)]
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="set=one")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="set in (one,two)").items == []


def watching(core: client.CoreV1Api) -> None:
    """A watch delivers each change once, in order."""
    since = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, configmap("w"))
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=since, timeout_seconds=60):
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))
        if event["type"] == "ADDED":
            core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"k": "1"}})
        elif event["type"] == "MODIFIED":
            core.delete_namespaced_config_map("w", NAMESPACE)
        else:
            watcher.stop()
    assert seen == [("ADDED", "w", None), ("MODIFIED", "w", {"k": "1"}), ("DELETED", "w", {"k": "1"})], seen


def workloads(apps: client.AppsV1Api) -> None:
    """A Deployment becomes ready, is scaled, and is deleted with its dependents."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    apps.create_namespaced_deployment(NAMESPACE, {"metadata": {"name": "web"}, "spec": spec})
    watcher = watch.Watch()
    wanted, field = 2, "metadata.name=web"
    for event in watcher.stream(apps.list_namespaced_deployment, NAMESPACE, field_selector=field, timeout_seconds=60):
        if wanted == 2 and event["object"].status.ready_replicas == 2:
            wanted = 3
            scale = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
            assert (scale.kind, scale.spec.replicas) == ("Scale", 3)
        elif event["object"].status.ready_replicas == wanted == 3:
            apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")
            wanted = 0
        elif event["type"] == "DELETED":
            watcher.stop()
    assert wanted == 0
    assert apps.list_namespaced_replica_set(NAMESPACE).items == []


def applying(api: client.ApiClient) -> None:
    """The dynamic client applies: managed fields, a conflict, force."""
    everything = dynamic.DynamicClient(api)
    configmaps = everything.resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager: str, value: str, *, force: bool = False) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"k": value}}
        options = {"field_manager": manager, "force_conflicts": force}
        return everything.server_side_apply(configmaps, body, namespace=NAMESPACE, **options)

    apply("one", "1")
    assert apply("one", "1").metadata.managedFields[0].operation == "Apply"
    assert refusal(lambda: apply("two", "2")) == 409
    assert apply("two", "2", force=True).data.k == "2"
    listed = configmaps.get(namespace=NAMESPACE, field_selector="metadata.name=applied")
    assert [one.metadata.name for one in listed.items] == ["applied"]
    assert configmaps.delete("applied", NAMESPACE).status == "Success"
    assert everything.resources.get(kind="Deployment", group="apps").name == "deployments"


def custom_kinds(api: client.ApiClient) -> None:
    """A CRD with a status subresource."""
    group = f"{NAMESPACE}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    client.ApiextensionsV1Api(api).create_custom_resource_definition({"metadata": {"name": f"things.{group}"}, "spec": spec})
    things = client.CustomObjectsApi(api)
    where = (group, "v1", NAMESPACE, "things")
    things.create_namespaced_custom_object(
        *where, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "a": 1}
    )
    things.patch_namespaced_custom_object(*where, "t", {"a": 2})
    things.patch_namespaced_custom_object_status(*where, "t", {"a": 3, "status": {"b": 4}})
    found = things.get_namespaced_custom_object(*where, "t")
    assert (found["a"], found["status"]) == (2, {"b": 4})
    [event] = watch.Watch().stream(things.list_namespaced_custom_object, *where, timeout_seconds=1)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "t")
    things.delete_namespaced_custom_object(*where, "t")


def informing(core: client.CoreV1Api) -> None:
    """The informer caches objects and delivers events."""
    added, deleted = threading.Event(), threading.Event()
    informer = SharedInformer(core.list_namespaced_config_map, namespace=NAMESPACE, label_selector="set=one")
    informer.add_event_handler("ADDED", lambda _: added.set())
    informer.add_event_handler("DELETED", lambda _: deleted.set())
    informer.start()
    core.create_namespaced_config_map(NAMESPACE, configmap("informed"))
    assert added.wait(PATIENCE)
    core.delete_namespaced_config_map("informed", NAMESPACE)
    assert deleted.wait(PATIENCE)
    assert informer.cache.list() == []
    informer.stop()


def electing() -> None:
    """Leader election: one of two candidates leads; the other takes over when it fails."""
    leads = {"one": threading.Event(), "two": threading.Event()}
    over = threading.Event()

    def lead(name: str) -> None:
        leads[name].set()
        over.wait(PATIENCE)
        raise RuntimeError("the work of a leader has failed, as it is to")

    def candidate(name: str) -> None:
        lock = LeaseLock("leader", NAMESPACE, name)
        settings = electionconfig.Config(lock, 3, 2, 1, onstarted_leading=lambda: lead(name), onstopped_leading=lambda: None)
        leaderelection.LeaderElection(settings).run()

    candidates = [threading.Thread(target=candidate, args=(name,)) for name in leads]
    for thread in candidates:
        thread.start()
        assert leads["one"].wait(PATIENCE)
    assert client.CoordinationV1Api().read_namespaced_lease("leader", NAMESPACE).spec.holder_identity == "one"
    assert not leads["two"].is_set()
    over.set()
    assert leads["two"].wait(PATIENCE)
    for thread in candidates:
        thread.join(PATIENCE)


if __name__ == "__main__":
    logging.disable()  # stopping an informer and a leader logs errors that are expected
    config.load_kube_config()
    with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        objects(core)
        pages(core)
        watching(core)
        workloads(client.AppsV1Api(api))
        applying(api)
        custom_kinds(api)
        informing(core)
        electing()

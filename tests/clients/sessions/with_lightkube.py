"""A session with `lightkube`: typed objects, apply with and without force, watch, wait, custom resources."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import CascadeType, PatchType

NAMESPACE = sys.argv[1]


def refusal(call: Callable[[], Any]) -> int:
    """Returns the status code of a call that fails."""
    try:
        call()
    except ApiError as error:
        return int(error.status.code)
    raise AssertionError("it was not refused")


def configmap(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=NAMESPACE, labels={"set": "four"}), data=data)


def objects(client: Client) -> None:
    """Objects are created, read, listed in pages, replaced, patched by each method and deleted."""
    made = client.create(configmap("a", k="1"))
    assert refusal(lambda: client.create(configmap("a"))) == 409
    assert refusal(lambda: client.get(ConfigMap, "absent")) == 404
    made.data = {"k": "2"}
    client.replace(made)
    assert refusal(lambda: client.replace(made)) == 409
    assert client.patch(ConfigMap, "a", {"data": {"l": "3"}}).data == {"k": "2", "l": "3"}
    assert client.patch(ConfigMap, "a", {"data": {"k": None}}, patch_type=PatchType.MERGE).data == {"l": "3"}
    operations = [{"op": "replace", "path": "/data/l", "value": "4"}]
    assert client.patch(ConfigMap, "a", operations, patch_type=PatchType.JSON).data == {"l": "4"}
    for number in range(5):
        client.create(configmap(f"b-{number}"))
    assert len(list(client.list(ConfigMap, labels={"set": "four"}, chunk_size=2))) == 6
    client.delete(ConfigMap, "a")
    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap, labels={"set": "four"})) == []


def applying(client: Client) -> None:
    """Two managers, a conflict, force."""
    client.apply(configmap("applied", k="1"), field_manager="one")
    assert refusal(lambda: client.apply(configmap("applied", k="2"), field_manager="two")) == 409
    assert client.apply(configmap("applied", k="2"), field_manager="two", force=True).data == {"k": "2"}
    assert client.apply(configmap("applied", l="3"), field_manager="one").data == {"k": "2", "l": "3"}
    client.delete(ConfigMap, "applied")


def watching(client: Client) -> None:
    """A watch delivers changes as they happen."""
    client.create(configmap("w"))
    seen = []
    for kind, found in client.watch(ConfigMap, fields={"metadata.name": "w"}):
        seen.append((kind, found.data))
        if kind == "ADDED":
            client.patch(ConfigMap, "w", {"data": {"k": "1"}})
        elif kind == "MODIFIED":
            client.delete(ConfigMap, "w")
        else:
            break
    assert seen == [("ADDED", None), ("MODIFIED", {"k": "1"}), ("DELETED", {"k": "1"})], seen


def workloads(client: Client) -> None:
    """A Deployment becomes ready, is scaled and deleted."""
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[Container("c", image="one")]))
    spec = DeploymentSpec(replicas=1, selector=LabelSelector(matchLabels={"app": "web"}), template=template)
    client.create(Deployment(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=spec))
    client.wait(Deployment, "web", for_conditions=["Available"])
    scale = Deployment.Scale(metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=ScaleSpec(replicas=2))
    assert client.replace(scale).spec.replicas == 2
    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)


def custom_kinds(client: Client) -> None:
    """A CRD that is created during the session, without a typed model."""
    group = f"{NAMESPACE}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    from lightkube.models import apiextensions_v1 as definitions  # noqa: PLC0415  it takes long to import
    from lightkube.resources.apiextensions_v1 import CustomResourceDefinition  # noqa: PLC0415

    shape = definitions.CustomResourceValidation(openAPIV3Schema=definitions.JSONSchemaProps.from_dict(schema))
    parts = definitions.CustomResourceSubresources(status={})
    version = definitions.CustomResourceDefinitionVersion("v1", served=True, storage=True, schema=shape, subresources=parts)
    names = definitions.CustomResourceDefinitionNames(kind="Thing", plural="things")
    spec = definitions.CustomResourceDefinitionSpec(group, names, "Namespaced", [version])
    client.create(CustomResourceDefinition(metadata=ObjectMeta(name=f"things.{group}"), spec=spec))
    client.wait(CustomResourceDefinition, f"things.{group}", for_conditions=["Established"])
    thing = create_namespaced_resource(group, "v1", "Thing", "things")
    client.create(thing(metadata=ObjectMeta(name="t", namespace=NAMESPACE), spec={"a": 1}))
    client.apply(thing.Status(metadata=ObjectMeta(name="t", namespace=NAMESPACE), status={"b": 2}), field_manager="one")
    found = client.get(thing, "t")
    assert (found.spec, found.status) == ({"a": 1}, {"b": 2})
    client.delete(CustomResourceDefinition, f"things.{group}")


if __name__ == "__main__":
    with Client(namespace=NAMESPACE) as client:
        objects(client)
        applying(client)
        watching(client)
        workloads(client)
        custom_kinds(client)

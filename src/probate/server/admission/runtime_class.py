"""Runtime classes as they are now, and the pods that get them."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.kinds.core.pods.runtime_class import RuntimeClasses
from probate.server import api_errors
from probate.server.context import Api

Object = dict[str, Any]


def install(api: Api) -> None:
    """Let pods have the classes that there are."""

    def configure(objects: dict[str, Object]) -> None:
        api.runtime_classes = RuntimeClasses(objects.values())

    api.configured.tell("node.k8s.io", "v1", "runtimeclasses", configure)


def admit(api: Api, resource: Resource, pod: Object) -> None:
    """Give a new pod what its class has. `Forbidden` if it cannot have what it asks for."""
    if why := api.runtime_classes.admit(pod):
        raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)

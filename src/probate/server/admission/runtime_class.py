"""Sets the overhead and the scheduling of new pods from their RuntimeClass."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.kinds.core.pods.runtime_class import RuntimeClasses
from probate.server import api_errors
from probate.server.context import ServerContext


def install(api: ServerContext) -> None:
    """Subscribes to the runtime classes."""

    def configure(objects: dict[str, Object]) -> None:
        api.runtime_classes = RuntimeClasses(objects.values())

    api.admission_configuration.subscribe("node.k8s.io", "v1", "runtimeclasses", configure)


def admit(api: ServerContext, resource: Resource, pod: Object) -> None:
    """Applies the class of a new pod. Raises `Forbidden` if the class does not exist or conflicts with the pod."""
    if why := api.runtime_classes.admit(pod):
        raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)

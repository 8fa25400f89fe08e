"""Sets the overhead and the scheduling of new pods from their RuntimeClass."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.kinds.core.pods.runtime_class import RuntimeClasses
from probate.server import api_errors
from probate.server.admission.configuration import PluginConfiguration


class RuntimeClassAdmission:
    """The runtime classes, and what they set."""

    def __init__(self) -> None:
        self._classes = RuntimeClasses()

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the RuntimeClass objects. Before that, no class exists."""
        configuration.subscribe(GroupResource("node.k8s.io", "runtimeclasses"), self._configure, includes_tenants=True)

    def _configure(self, objects: dict[str, Object]) -> None:
        self._classes = RuntimeClasses(objects.values())

    def admit(self, resource: Resource, pod: Object) -> None:
        """Applies the class of a new pod. Raises `Forbidden` if the class does not exist or conflicts with the pod."""
        if why := self._classes.admit(pod):
            raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)

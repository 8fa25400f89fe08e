"""Sets the priority of new pods from their PriorityClass, and allows only one default class."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.kinds.core.pods.priority import Priorities
from probate.server import api_errors
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import Target

GROUP = "scheduling.k8s.io"
CLASSES = GroupResource(GROUP, "priorityclasses")


class PriorityAdmission:
    """The priority classes, and what they allow."""

    def __init__(self) -> None:
        self._classes = Priorities()

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the PriorityClass objects. Before that, only the system's classes exist."""
        configuration.subscribe(CLASSES, self._configure, includes_tenants=True)

    def _configure(self, objects: dict[str, Object]) -> None:
        self._classes = Priorities(objects.values())

    def admit(self, resource: Resource, pod: Object) -> None:
        """Sets the priority of a new pod. Raises `Forbidden` if its class does not exist or its priority does not match."""
        if why := self._classes.admit(pod):
            raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)

    def check_default(self, at: Target, new: Object, old: Object | None) -> None:
        """Raises `Forbidden` if a class would become the default although another one is."""
        if at.resource.plural != CLASSES.resource or not new.get("globalDefault") or (old or {}).get("globalDefault"):
            return
        name = new["metadata"].get("name") or ""
        if other := self._classes.other_default(new):
            why = f"PriorityClass {other} is already marked as default. Only one default can exist"
            raise api_errors.forbidden(at.resource, name, why)

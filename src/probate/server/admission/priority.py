"""Sets the priority of new pods from their PriorityClass, and allows only one default class."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.kinds.core.pods.priority import Priorities
from probate.server import api_errors
from probate.server.context import ServerContext
from probate.server.request import Target

GROUP = "scheduling.k8s.io"


def install(api: ServerContext) -> None:
    """Subscribes to the priority classes."""

    def configure(objects: dict[str, Object]) -> None:
        api.priority_classes = Priorities(objects.values())

    api.admission_configuration.subscribe(GROUP, "v1", "priorityclasses", configure)


def admit(api: ServerContext, resource: Resource, pod: Object) -> None:
    """Sets the priority of a new pod. Raises `Forbidden` if its class does not exist or its priority does not match."""
    if why := api.priority_classes.admit(pod):
        raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)


async def check(api: ServerContext, _user: User, at: Target, new: Object, old: Object | None) -> None:
    """Raises `Forbidden` if a class would become the default although another one is."""
    if at.resource.plural != "priorityclasses" or not new.get("globalDefault") or (old or {}).get("globalDefault"):
        return
    name = new["metadata"].get("name") or ""
    if other := api.priority_classes.other_default(name):
        why = f"PriorityClass {other} is already marked as default. Only one default can exist"
        raise api_errors.forbidden(at.resource, name, why)

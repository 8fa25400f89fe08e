"""Priority classes as they are now, and the pods that get them."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.rbac.users import User
from probate.kinds.core.pods.priority import Priorities
from probate.server import api_errors
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

GROUP = "scheduling.k8s.io"


def install(api: Api) -> None:
    """Let pods have the classes that there are."""

    def configure(objects: dict[str, Object]) -> None:
        api.priorities = Priorities(objects.values())

    api.configured.tell(GROUP, "v1", "priorityclasses", configure)


def admit(api: Api, resource: Resource, pod: Object) -> None:
    """Give a new pod its priority. `Forbidden` if it cannot have what it asks for."""
    if why := api.priorities.admit(pod):
        raise api_errors.forbidden(resource, pod["metadata"].get("name") or "", why)


async def check(api: Api, _user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Forbidden` if a class would be everybody's although another one is."""
    if at.resource.plural != "priorityclasses" or not new.get("globalDefault") or (old or {}).get("globalDefault"):
        return
    name = new["metadata"].get("name") or ""
    if other := api.priorities.other_default(name):
        why = f"PriorityClass {other} is already marked as default. Only one default can exist"
        raise api_errors.forbidden(at.resource, name, why)

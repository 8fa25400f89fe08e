"""Sets the defaults of built-in kinds. `apply` runs for every object in a request, whatever the verb.

    pod = {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    apply(GroupVersionKind("", "v1", "Pod"), pod)      # pod["spec"]["restartPolicy"] == "Always", and so on

`apply` takes three steps: drop empty fields, set defaults, write the fields that Kubernetes always writes (`omitempty` does the
first and last). The result is the object as Kubernetes would read it back, so applying twice equals applying once. Custom resources
are not changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import omitempty, registry
from probate.kinds.builtin import catalog

Default = Callable[[Object], None]


def apply(kind: GroupVersionKind, object_: Object) -> None:
    """Sets the object's defaults in place, as Kubernetes does when it reads one. Never raises and keeps every given value."""
    struct, default = _known(*kind)
    if struct is not None:
        struct.drop(object_)
    if default is not None:
        default(object_)
    if struct is not None:
        struct.write(object_)


@functools.lru_cache(maxsize=300)
def _known(group: str, version: str, kind: str) -> tuple[omitempty.Struct | None, Default | None]:
    schema = catalog.schema(group, version, kind)
    if schema is None:
        return None, None
    return omitempty.struct(schema), _default(group, version, kind)


def _default(group: str, version: str, name: str) -> Default | None:
    kind = registry.find(group, name)
    if kind is None:
        return None
    default = kind.defaults_of_version.get(version, kind.defaults)
    return None if default is None else default()


def kinds_with_defaults() -> list[tuple[str, str]]:
    """Returns the group and name of each kind that has defaults."""
    return [(kind.group, kind.name) for kind in registry.every_kind() if kind.defaults is not None]

"""Converts keys of the store between a tenant's view and the physical view: of objects, of index entries, and of ranges.

    tenant's view     objects/pods/web/p              objects/foos.a.com/-/x               owned/<uid>/web/objects/pods/web/p
    physical view     objects/pods/111111-web/p       objects/foos.111111-a.com/-/111111-x  owned/<uid>/111111-web/objects/…

A range ends in `/` and is converted like the beginning of a key. What each family of index entries contains before the key of its
object is a table; a family that is not in it belongs to one tenant as a whole, like a namespace: `quota/web`, `quota/111111-web`.
Addresses and ports of Services are unique among all tenants, so their entries are the same in every view.
"""

from __future__ import annotations

from probate.api import object_keys
from probate.api.gvk import GroupKind, GroupResource
from probate.tenants.view import object_conversion
from probate.tenants.view.name_converter import NameConverter, ToTenant

OBJECT_FAMILY = object_keys.OBJECTS.removesuffix("/")
BY_UID_AND_NAMESPACE = frozenset({"owned", "blocking"})
UNCHANGED = frozenset({"ip", "nodeport"})
"""Families whose keys are the same in all views."""
BY_UID = BY_UID_AND_NAMESPACE | {"waiting", "orphaning"}
"""Families whose entries are about the object with one uid."""
_CUSTOM = "custom"
_SEGMENTS = {**dict.fromkeys(BY_UID, 1), **dict.fromkeys(BY_UID_AND_NAMESPACE, 2), _CUSTOM: 1, "since": 1}
"""How many segments come between the family of an index entry and the key of its object."""
HOLDING_OBJECT_KEYS = frozenset(_SEGMENTS)
"""Families whose entries end in the key of an object."""


def convert_key(names: NameConverter, key: str) -> str:
    """Converts a key, or a range that ends in `/`."""
    family, slash, rest = key.partition("/")
    if family == OBJECT_FAMILY:
        return f"{family}{slash}{_convert_object_path(names, rest)}"
    if family in UNCHANGED:
        return key
    if family not in _SEGMENTS:
        return f"{family}{slash}{names.namespace(rest)}"
    about, paths = _split_entry(family, rest)
    return "/".join((family, *_convert_about(names, family, about), *(_convert_object_key(names, path) for path in paths)))


def own_key(names: ToTenant, key: str) -> str | None:
    """Returns the tenant's key of an object or entry of the tenant; None for one whose names are not those of the tenant.

    `convert_key` leaves a name without the tenant's prefix as it is. This function tells such keys apart: it is the one for keys
    that may belong to anybody.
    """
    family, _, rest = key.partition("/")
    if family == OBJECT_FAMILY:
        path = _own_object_path(names, rest)
        return None if path is None else f"{family}/{path}"
    if family in UNCHANGED:
        return key
    if family not in _SEGMENTS:
        return f"{family}/{rest.removeprefix(names.prefix)}" if rest.startswith(names.prefix) else None
    return _own_entry(names, family, rest)


def own_resource(names: ToTenant, resource: GroupResource) -> GroupResource | None:
    """Returns the tenant's name of a resource in which the tenant can have objects; None for any other."""
    if names.platform.is_shared(resource):
        return resource
    if not resource.group.startswith(names.prefix):
        return None
    renamed = GroupResource(resource.group.removeprefix(names.prefix), resource.resource)
    return None if names.platform.is_shared(renamed) else renamed


def run_of(entry: str) -> str:
    """Returns the beginning that an index entry has in common with all those between which the order can differ in another view."""
    family, _, rest = entry.partition("/")
    if family == _CUSTOM:
        return f"{family}/{rest.partition('.')[0]}."
    about, paths = _split_entry(family, rest)
    if not paths or not paths[0].startswith(object_keys.OBJECTS):
        return entry
    plural, dot, _ = object_keys.resource_in(paths[0]).partition(".")
    return "/".join((family, *about, OBJECT_FAMILY, f"{plural}.")) if dot else entry


def _split_entry(family: str, rest: str) -> tuple[list[str], list[str]]:
    """Splits what follows the family of an entry: into the segments about it, and the key of its object, if it is long enough."""
    parts = rest.split("/", _SEGMENTS[family])
    return parts[: _SEGMENTS[family]], parts[_SEGMENTS[family] :]


def _convert_about(names: NameConverter, family: str, about: list[str]) -> list[str]:
    """Converts what comes between the family of an index entry and the key of its object."""
    if family in BY_UID_AND_NAMESPACE and len(about) > 1 and about[1] != object_keys.NO_NAMESPACE:
        return [about[0], names.namespace(about[1])]
    if family == _CUSTOM and about[0]:
        kind, _, group = about[0].partition(".")
        return [str(names.kind(GroupKind(group, kind)))]
    return about


def _convert_object_key(names: NameConverter, key: str) -> str:
    return convert_key(names, key) if key.startswith(object_keys.OBJECTS) else key


def _convert_object_path(names: NameConverter, path: str) -> str:
    """Converts `<plural.group>/<namespace or ->/<name>`, or the beginning of one."""
    parts = path.split("/")
    resource = object_keys.parse_resource(parts[0])
    if parts[0]:
        parts[0] = str(names.resource(resource))
    if len(parts) > 1:
        if parts[1] != object_keys.NO_NAMESPACE:
            parts[1] = names.namespace(parts[1])
        elif len(parts) > 2 and parts[2]:
            parts[2] = object_conversion.object_name(names, names.tenant_resource(resource), parts[2])
    return "/".join(parts)


def _own_object_path(names: ToTenant, path: str) -> str | None:
    parts = path.split("/")
    resource = own_resource(names, object_keys.parse_resource(parts[0]))
    if resource is None:
        return None
    if len(parts) == 1:
        return None if names.platform.is_shared(resource) else str(resource)
    if parts[1] != object_keys.NO_NAMESPACE:
        if not parts[1].startswith(names.prefix):
            return None
        return "/".join((str(resource), parts[1].removeprefix(names.prefix), *parts[2:]))
    name = own_name(names, resource, parts[2]) if len(parts) > 2 else None
    return None if name is None else "/".join((str(resource), parts[1], name, *parts[3:]))


def own_name(names: ToTenant, resource: GroupResource, name: str) -> str | None:
    """Returns the tenant's name of a cluster-scoped object of the tenant; None if the name is not one of a tenant's object."""
    if resource not in object_conversion.NAMED_BY_GROUP:
        if names.platform.is_shared_object(resource, name):
            return None
        return name.removeprefix(names.prefix) if name.startswith(names.prefix) else None
    first, dot, group = name.partition(".")
    return f"{first}{dot}{group.removeprefix(names.prefix)}" if group.startswith(names.prefix) else None


def _own_entry(names: ToTenant, family: str, rest: str) -> str | None:
    about, paths = _split_entry(family, rest)
    namespace = about[1] if family in BY_UID_AND_NAMESPACE and len(about) > 1 else object_keys.NO_NAMESPACE
    is_in_own_namespace = namespace.startswith(names.prefix)
    if not is_in_own_namespace and (namespace != object_keys.NO_NAMESPACE or not paths):
        return None
    path = paths[0] if paths else ""
    if path.startswith(object_keys.OBJECTS):
        path = own_key(names, path) or ""
        if not path:
            return None
    elif not is_in_own_namespace:
        return None
    return "/".join((family, *_convert_about(names, family, about), *([path] if path else ())))

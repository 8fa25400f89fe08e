"""Converts keys of the store between a tenant's view and the physical view: of objects, of index entries, and of ranges.

    tenant's view     objects/pods/web/p              objects/foos.a.com/-/x               owned/<uid>/web/objects/pods/web/p
    physical view     objects/pods/111111-web/p       objects/foos.111111-a.com/-/111111-x  owned/<uid>/111111-web/objects/…

A range ends in `/` and is converted like the beginning of a key.
"""

from __future__ import annotations

from probate.api import object_keys
from probate.api.gvk import GroupKind
from probate.tenants.view import object_conversion
from probate.tenants.view.name_converter import NameConverter

_BY_UID_AND_NAMESPACE = frozenset({"owned", "blocking"})
_BY_NAMESPACE = frozenset({"quota"})
_BY_KIND = frozenset({"custom"})


def convert_key(names: NameConverter, key: str) -> str:
    """Converts a key, or a range that ends in `/`."""
    family, slash, rest = key.partition("/")
    if f"{family}/" == object_keys.OBJECTS:
        return f"{family}{slash}{_convert_object_path(names, rest)}"
    about, separator, object_path = rest.partition(object_keys.OBJECTS)
    return f"{family}{slash}{_convert_entry(names, family, about)}{separator}{_convert_object_path(names, object_path)}"


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


def _convert_entry(names: NameConverter, family: str, about: str) -> str:
    """Converts what comes between the family of an index entry and the key of its object."""
    parts = about.split("/")
    if family in _BY_UID_AND_NAMESPACE and len(parts) > 1 and parts[1] != object_keys.NO_NAMESPACE:
        parts[1] = names.namespace(parts[1])
    elif family in _BY_NAMESPACE:
        parts[0] = names.namespace(parts[0])
    elif family in _BY_KIND and parts[0]:
        kind, _, group = parts[0].partition(".")
        parts[0] = str(names.kind(GroupKind(group, kind)))
    return "/".join(parts)

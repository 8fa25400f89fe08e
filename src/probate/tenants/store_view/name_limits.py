"""Refuses names whose physical form is too long, in the tenant's terms: the tenant's limit is shorter by its prefix."""

from __future__ import annotations

from probate.api import field_errors, object_keys, status
from probate.api.catalog import Catalog
from probate.api.field_errors import FieldPath
from probate.api.gvk import GroupKind
from probate.core import errors
from probate.core.errors import Details
from probate.tenants.view.object_conversion import NAMESPACES

MAX_LABEL = 63
"""The longest name of a namespace: it is also the value of the label `kubernetes.io/metadata.name`."""
MAX_NAME = 253


def check_name(key: str, physical: str, catalog: Catalog) -> None:
    """Raises `Invalid` if a cluster-scoped object cannot be created under its physical name. `catalog` is the tenant's."""
    seen, stored = key.split("/"), physical.split("/")
    if seen[2:3] != [object_keys.NO_NAMESPACE] or len(stored[-1]) <= len(seen[-1]):
        return
    resource = object_keys.parse_resource(seen[1])
    limit = MAX_LABEL if resource == NAMESPACES else MAX_NAME
    if len(stored[-1]) > limit:
        kind = next((served.kind for served in catalog if served.group_resource == resource), resource.resource)
        raise _too_long(GroupKind(resource.group, kind), seen[-1], limit - (len(stored[-1]) - len(seen[-1])))


def _too_long(kind: GroupKind, name: str, limit: int) -> errors.Invalid:
    shown = field_errors.truncate_name(name) if len(name) > field_errors.MAX_NAME_LENGTH else name
    problem = field_errors.too_long(FieldPath("metadata") / "name", limit)
    details = Details(name=shown, group=kind.group, kind=kind.kind, causes=(problem,))
    return errors.Invalid(status.invalid_message(kind.kind, kind.group, shown, field_errors=[problem]), details)

"""A write as expressions see it: `request`, the object in the version that is wanted, and who may be asked about rights."""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.catalog import Resource
from probate.api.cel.library.authorizer import Authorizer
from probate.api.gvk import GroupVersionKind
from probate.api.policies.validation import Inputs
from probate.api.rbac import cel_authorizer
from probate.server.admission import phases
from probate.server.admission.attributes import Attributes
from probate.server.context import Api

Object = dict[str, Any]

_VERBS = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete", "CONNECT": "connect"}
_LEFT_OUT = ("subResource", "requestSubResource", "name", "namespace", "options")


class Shown(NamedTuple):
    """The write in the version that a policy wants."""

    resource: Resource
    kind: GroupVersionKind
    object: Object | None
    old: Object | None


def shown(write: Attributes, resource: Resource) -> Shown:
    """The write as one of this resource, which is another version of its own."""
    if resource is write.at.resource or write.kind != write.at.resource.group_version_kind:
        return Shown(resource, write.kind, write.object, write.old)
    both = (None if one is None else phases.in_version(one, write.at.resource, resource) for one in (write.object, write.old))
    return Shown(resource, resource.group_version_kind, *both)


def inputs(api: Api, write: Attributes, seen: Shown, namespace: Object | None, params: Object | None) -> Inputs:
    """What expressions are given."""
    return Inputs(seen.object, seen.old, request(write, seen), namespace, params, authorizer(api, write))


def request(write: Attributes, seen: Shown) -> Object:
    """The variable `request`. What is empty is left out, as in an AdmissionReview."""
    at = write.at
    said: Object = {
        "kind": _kind(seen.kind),
        "resource": _resource(seen.resource),
        "subResource": at.subresource,
        "requestKind": _kind(write.kind),
        "requestResource": _resource(at.resource),
        "requestSubResource": at.subresource,
        "name": write.name,
        "namespace": write.namespace,
        "operation": write.operation,
        "userInfo": write.act.user.info,
        "dryRun": write.act.is_dry_run,
        "options": write.options,
    }
    return {name: value for name, value in said.items() if value or name not in _LEFT_OUT}


def authorizer(api: Api, write: Attributes) -> Authorizer:
    """Whom expressions ask what the author of the request may do."""
    at = write.at
    own = cel_authorizer.Attributes(
        _VERBS.get(write.operation, ""), at.resource.group, at.resource.plural, at.subresource, write.namespace, write.name
    )
    return Authorizer(api.deciders(write.act.user), own=own)


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}

"""The variables of CEL expressions in policies: request, authorizer, and the object in the version that the policy matches."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.catalog import Resource
from probate.api.cel.library.authorizer import Authorizer
from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.api.policies.policy_evaluation import Inputs
from probate.api.rbac import cel_authorizer
from probate.api.rbac.cel_authorizer import CelAuthorizer
from probate.server.admission import phases
from probate.server.admission.admission_attributes import Attributes

_VERBS = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete", "CONNECT": "connect"}
_OMITTED_IF_EMPTY = ("subResource", "requestSubResource", "name", "namespace", "options")


class VersionedWrite(NamedTuple):
    """A write in the version that a policy matches."""

    resource: Resource
    kind: GroupVersionKind
    object: Object | None
    old: Object | None


def convert_write(write: Attributes, resource: Resource) -> VersionedWrite:
    """Returns the write converted to this resource, which is another version of the write's own."""
    if resource is write.at.resource or write.kind != write.at.resource.group_version_kind:
        return VersionedWrite(resource, write.kind, write.object, write.old)
    objects = (write.object, write.old)
    both = (None if item is None else phases.convert_version(item, write.at.resource, resource) for item in objects)
    return VersionedWrite(resource, resource.group_version_kind, *both)


def policy_inputs(
    write: Attributes, converted: VersionedWrite, rights: CelAuthorizer, *, namespace: Object | None, params: Object | None
) -> Inputs:
    """Returns everything that expressions are evaluated with. `rights` are those of the user of the request."""
    variable = request_variable(write, converted)
    return Inputs(converted.object, converted.old, variable, namespace, params, authorizer_variable(write, rights))


def request_variable(write: Attributes, converted: VersionedWrite) -> Object:
    """Returns the request variable. Some empty fields are omitted, as in an AdmissionReview."""
    at = write.at
    fields: Object = {
        "kind": _kind(converted.kind),
        "resource": _resource(converted.resource),
        "subResource": at.subresource,
        "requestKind": _kind(write.kind),
        "requestResource": _resource(at.resource),
        "requestSubResource": at.subresource,
        "name": write.name,
        "namespace": write.namespace,
        "operation": write.operation,
        "userInfo": write.request.user.info,
        "dryRun": write.request.is_dry_run,
        "options": write.options,
    }
    return {name: value for name, value in fields.items() if value or name not in _OMITTED_IF_EMPTY}


def authorizer_variable(write: Attributes, rights: CelAuthorizer) -> Authorizer:
    """Returns the variable `authorizer`, which answers what the user of the request may do."""
    at = write.at
    own = cel_authorizer.Attributes(
        _VERBS.get(write.operation, ""), at.resource.group, at.resource.plural, at.subresource, write.namespace, write.name
    )
    return Authorizer(rights, own=own)


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}

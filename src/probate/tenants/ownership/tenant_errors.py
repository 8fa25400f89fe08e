"""The errors of writes that would break what tenants are: see `owned_transactions`."""

from __future__ import annotations

from probate.api import field_errors, object_keys, status, tenants
from probate.api.field_errors import FieldError, FieldPath
from probate.api.tenants import TENANT_LABEL
from probate.core import errors
from probate.core.errors import Details
from probate.tenants.ownership import prefixed_keys

TERMINATING = "TenantTerminating"
"""The cause of the error for creates in a tenant that is being deleted, like Kubernetes' `NamespaceTerminating`."""


def terminating(key: str, tenant: str) -> errors.Forbidden:
    """Nothing can be created in the tenant any more (403). Controllers must not try again."""
    field = "metadata.name" if prefixed_keys.is_cluster_scoped(key) else "metadata.namespace"
    cause = FieldError(TERMINATING, field, f"tenant {tenant} is being terminated")
    details = Details(name=tenant, group=tenants.GROUP, kind=tenants.TENANTS.resource, causes=(cause,))
    return errors.Forbidden(f"nothing can be created in tenant {tenant} because it is being terminated", details)


def between_tenants(key: str, one: str, other: str) -> errors.Forbidden:
    """The object would belong to two tenants (403)."""
    about = object_keys.parse(key)
    resource = about.group_resource
    message = (
        f'{resource} "{about.name}" is forbidden: it would belong to tenant {one} and to tenant {other}. '
        "Use names, a namespace and a kind of one tenant"
    )
    return errors.Forbidden(message, Details(name=about.name, group=resource.group, kind=resource.resource))


def wrong_label(key: str, label: str, tenant: str) -> errors.Invalid:
    """The label names another tenant than the one that the object belongs to; `tenant` is empty if it belongs to none (422)."""
    about = object_keys.parse(key)
    resource = about.group_resource
    why = f"the object belongs to tenant {tenant}" if tenant else "the object belongs to no tenant"
    path = FieldPath("metadata.labels") @ TENANT_LABEL
    problem = field_errors.invalid(path, label, f"{why}, which cannot be changed. The server sets this label: leave it out")
    message = status.invalid_message(resource.resource, resource.group, about.name, field_errors=[problem])
    return errors.Invalid(message, Details(name=about.name, group=resource.group, kind=resource.resource, causes=(problem,)))

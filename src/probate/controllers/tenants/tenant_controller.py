"""Provisions tenants: creates the objects that every tenant has, and restores them if users remove or change them.

A key is a tenant, and it is reconciled whenever the tenant or one of these objects changes, and from time to time. What a tenant
must have is one table (`tenant_objects`). Each object is created if it does not exist; roles and bindings are completed as
Kubernetes completes its own when a server starts: what users have added stays, and so does an object whose annotation
`rbac.authorization.kubernetes.io/autoupdate` is not `true`. One object that fails does not keep the others from being created.

The Service of the server is another table (`server_service`), since it follows that of the platform.

Nothing is ever created in a tenant that is being deleted. The controller reads the tenant from the server first; should its
deletion begin afterwards, the server refuses the create (cause TenantTerminating), which is final.
"""

from __future__ import annotations

import functools

from probate.api import tenants
from probate.api.objects import Object
from probate.api.rbac import bootstrap_roles
from probate.api.rbac.bootstrap_roles import AUTO_UPDATE, BootstrapObject
from probate.api.rbac.rule_resolver import CLUSTER_BINDINGS, CLUSTER_ROLES, GROUP
from probate.api.timestamps import format_time
from probate.client import resources
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource, is_terminating
from probate.client.resources import is_deleting
from probate.controllers.runtime.backoff import Backoff
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.controllers.tenants import tenant_objects, tenant_status
from probate.controllers.tenants.server_service import ServerServices
from probate.controllers.tenants.tenant_objects import NAMESPACES
from probate.core import errors

TITLE = "tenant-controller"
TENANTS = GroupVersionResource(tenants.GROUP, tenants.VERSION, tenants.TENANTS.resource)
RESOURCES = {
    NAMESPACES: resources.NAMESPACES,
    CLUSTER_ROLES: GroupVersionResource(GROUP, "v1", CLUSTER_ROLES),
    CLUSTER_BINDINGS: GroupVersionResource(GROUP, "v1", CLUSTER_BINDINGS),
}
AT_ONCE = 20
"""Tenants that are provisioned at once: a few whose requests take long, since a webhook is slow, must not delay the others."""
FIRST_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 300.0
RESYNC_SECONDS = 600.0
"""How often a tenant is checked although nothing seems to have changed."""
MAX_EVENT_MESSAGE = 1000
TERMINATING_MESSAGE = "The tenant is Terminating: nothing can be created in it any more, and its objects are deleted"


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [TenantProvisioning(context).workers]


class TenantProvisioning:
    """Creates and completes the objects of tenants. Its keys are the ids of tenants."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._tenants = context.informers.for_resource(TENANTS)
        self._objects = {name: context.informers.for_resource(resource) for name, resource in RESOURCES.items()}
        self._services = ServerServices(context.informers)
        self._record = ObjectEventRecorder(context.events, TITLE, api_version=TENANTS.api_version, kind=tenants.KIND)
        self._backoff = Backoff(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._retry_at: dict[str, float] = {}
        self.workers = Workers(TITLE, self._sync, context.clock, at_once=AT_ONCE)
        self._tenants.add_event_handler(self._on_tenant)
        self._objects[CLUSTER_ROLES].share_equal_parts("aggregationRule", "rules")  # those of all tenants are the same
        self._objects[CLUSTER_BINDINGS].share_equal_parts("subjects")
        for resource, informer in self._objects.items():
            informer.add_event_handler(functools.partial(self._on_object, resource))
        self._services.add_handlers(self._add_all, self._add)

    def _on_tenant(self, old: Object | None, new: Object | None) -> None:
        """Enqueues a new tenant, and one whose spec changed; not one whose status the controller has just written. Records when
        the deletion of a tenant begins and ends."""
        if old is not None and new is not None and is_deleting(new) and not is_deleting(old):
            self._record(new, "Normal", "TenantTerminating", message=TERMINATING_MESSAGE)
        if old is not None and new is None:
            self._record(old, "Normal", "TenantDeleted", message="Nothing is left of the tenant")
        if new is not None and (old is None or old["metadata"]["generation"] != new["metadata"]["generation"]):
            self.workers.add(name_of(new))

    def _on_object(self, resource: str, old: Object | None, _: Object | None) -> None:
        """Enqueues the tenant of an object that was changed or deleted."""
        if old is None or not tenant_objects.is_tenant_object(resource, old["metadata"]["name"]):
            return
        self._add(tenants.id_in_name(old["metadata"]["name"]))

    def _add(self, tenant: str) -> None:
        name = NamespacedName("", tenant)
        if self._tenants.get(name) is not None:
            self.workers.add(name)

    def _add_all(self) -> None:
        for tenant in self._tenants:
            self.workers.add(name_of(tenant))

    async def _sync(self, name: NamespacedName) -> Result:
        tenant = await self._client.get(TENANTS, "", name.name)
        if tenant is None or is_deleting(tenant):
            self._forget_failures(name.name)
            return None
        failures = await self._ensure_all(name.name)
        if any(is_terminating(failure) for failure in failures):
            return None
        if (conflict := next((failure for failure in failures if isinstance(failure, errors.Conflict)), None)) is not None:
            raise conflict  # another client changed an object at the same time: the workers try again at once
        await self._report(tenant, [str(failure) for failure in failures])
        if failures:
            return self._retry_seconds(name.name)
        self._forget_failures(name.name)
        return RESYNC_SECONDS

    def _retry_seconds(self, tenant: str) -> float:
        """Returns after how many seconds to try again. An attempt before that, because something changed, makes it no later."""
        now = self._clock.monotonic()
        if self._retry_at.get(tenant, now) <= now:
            self._retry_at[tenant] = now + self._backoff.fail(tenant)
        return self._retry_at[tenant] - now

    def _forget_failures(self, tenant: str) -> None:
        self._retry_at.pop(tenant, None)
        self._backoff.reset(tenant)

    async def _ensure_all(self, tenant: str) -> list[errors.ApiError]:
        """Creates and completes what is missing. Returns what failed."""
        failures: list[errors.ApiError] = []
        for desired in tenant_objects.tenant_objects(tenant):
            try:
                await self._ensure(desired)
            except errors.ApiError as failure:
                failures.append(failure)
        if not failures:  # its namespace exists
            try:
                await self._services.ensure(tenant)
            except errors.ApiError as failure:
                failures.append(failure)
        return failures

    async def _ensure(self, desired: BootstrapObject) -> None:
        informer, name = self._objects[desired.resource], name_of(desired.object)
        existing = informer.get(name) or await self._create(desired)
        if is_deleting(existing):
            raise errors.ApiError(f"{desired.object['kind']} {name} is being deleted: it is created again once it is gone")
        if desired.resource == NAMESPACES or not _is_updated(existing):
            return
        if existing.get("roleRef") != desired.object.get("roleRef"):  # it is immutable: the binding is created again
            await informer.delete(existing)
            await self._create(desired)
        elif (completed := bootstrap_roles.reconcile(desired, existing)) is not None:
            await informer.update(completed)

    async def _create(self, desired: BootstrapObject) -> Object:
        """Creates an object. Returns it, or the one of its name that exists already."""
        informer, name = self._objects[desired.resource], name_of(desired.object)
        try:
            return await informer.create("", desired.object)
        except errors.AlreadyExists:
            existing = await self._client.get(informer.resource, "", name.name)  # the informer does not know it yet
            if existing is None:
                raise
            return existing

    async def _report(self, tenant: Object, problems: list[str]) -> None:
        """Writes the status, unless the tenant has changed since it was read, and an Event if the phase or readiness changed."""
        status = tenant_status.new_status(tenant, problems, format_time(self._clock.now()))
        if status == tenant.get("status"):
            return
        written = await self._tenants.update({**tenant, "status": status}, "status")
        if tenant_status.phase_of(tenant) != status["phase"]:
            self._record(written, "Normal", f"Tenant{status['phase']}", message=f"The tenant is {status['phase']}")
        if problems and tenant_status.readiness_of(tenant) != "False":
            self._record(written, "Warning", tenant_status.FAILED, message="; ".join(problems)[:MAX_EVENT_MESSAGE])


def _is_updated(existing: Object) -> bool:
    """Whether the controller may complete the object: users turn this off with the annotation."""
    return (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "true"

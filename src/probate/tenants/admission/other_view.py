"""OtherView: how targets, objects and users of the view in which a write is handled are named in another view.

view of the write     other view     direction of the names
physical view         tenant's       ToTenant, and ToPhysical back
tenant's view         physical       ToPhysical, and ToTenant back
"""

from __future__ import annotations

import copy
from typing import NamedTuple

from probate.api import object_keys
from probate.api.catalog import Catalog, Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.kinds import conversion
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.view import key_conversion, object_conversion
from probate.tenants.view.name_converter import NameConverter, ToPhysical, ToTenant

TYPE_META = ("kind", "apiVersion")


class OtherView:
    """The other view. `catalog` has its kinds."""

    def __init__(self, there: ToTenant | ToPhysical, back: ToTenant | ToPhysical, catalog: Catalog) -> None:
        self.there = there
        self.back = back
        self._catalog = catalog

    def target(self, at: Target) -> Target | None:
        """Returns the target of a write in the other view; None if its kind does not exist there."""
        renamed = self._resource(at.resource.group_resource)
        resource = None if renamed is None else self._catalog.find(renamed.group, at.resource.version, renamed.resource)
        if resource is None:
            return None
        namespace = at.namespace and self.there.namespace(at.namespace)
        return at._replace(resource=resource, namespace=namespace, name=self.name(at, at.name))

    def _resource(self, resource: GroupResource) -> GroupResource | None:
        names = self.there
        return key_conversion.own_resource(names, resource) if isinstance(names, ToTenant) else names.resource(resource)

    def name(self, at: Target, name: str) -> str:
        """Returns the name of an object that is written at this target in the other view."""
        if at.resource.is_namespaced or not name:
            return name
        return object_conversion.object_name(self.there, self.there.tenant_resource(at.resource.group_resource), name)

    def user(self, user: User) -> User:
        """Returns a user in the other view. Users of the platform have the same name in each."""
        names = self.there
        if isinstance(names, ToPhysical) and not user.tenant:
            return user
        return user._replace(name=names.user(user.name), groups=tuple(map(names.user_group, user.groups)))

    def shown(self, at: Target, other: Target, object_: Object) -> Object:
        """Returns an object that is sent to `at` as the one that would be sent to `other`, in the other view."""
        return _Conversion(self.there, at.resource, other.resource, self._stored_as(at, other)).convert(object_)

    def taken_back(self, at: Target, other: Target, object_: Object) -> Object:
        """Converts an object of the other view, sent to `other`, back."""
        return _Conversion(self.back, other.resource, at.resource, self._stored_as(at, other)).convert(object_)

    def _stored_as(self, at: Target, other: Target) -> GroupResource:
        """Returns the stored resource, as the tenant names it: conversions between views know its fields."""
        resource = other.resource if isinstance(self.there, ToTenant) else at.resource
        return object_keys.parse_resource(object_keys.resource_in(storage_keys.resource_range(resource)))


def of_tenant(names: RecordConverter, catalog: Catalog) -> OtherView:
    """Returns a tenant's view, for writes in the physical view. `catalog` is the tenant's."""
    return OtherView(names.back, names.out, catalog)


def of_platform(names: RecordConverter, catalog: Catalog) -> OtherView:
    """Returns the physical view, for writes in a tenant's view. `catalog` is that of the physical view."""
    return OtherView(names.out, names.back, catalog)


class _Conversion(NamedTuple):
    """The conversion of what is sent to a resource. `stored_as` is the stored resource as the tenant names it."""

    names: NameConverter
    source: Resource
    target: Resource
    stored_as: GroupResource

    def convert(self, object_: Object) -> Object:
        """Returns the object in the other view: one of the resource, or what is sent to a subresource, such as a Scale."""
        source, target, copied = self.source, self.target, copy.deepcopy(object_)
        is_of_resource = (object_.get("kind"), object_.get("apiVersion")) == (source.kind, source.api_version)
        if is_of_resource and source.storage_gvk is not None:
            stored = self._rename(conversion.to_stored(source.group_version_kind, copied))
            converted = conversion.from_stored(source.group_version_kind, stored)
        else:
            converted = self._rename(copied)
        if is_of_resource:
            return {**converted, "kind": target.kind, "apiVersion": target.api_version}
        return {**converted, **{field: object_[field] for field in TYPE_META if field in object_}}

    def _rename(self, object_: Object) -> Object:
        return object_conversion.convert_in_place(self.names, self.stored_as, object_)

"""ScopeGuards: a create succeeds only while its scope exists: its namespace and, for a custom resource, the CRD.

The guards of its transaction hold as long as the scope is as it was read, and not terminating.
"""

from __future__ import annotations

from probate.api.field_errors import FieldError
from probate.core import errors
from probate.core.errors import Details
from probate.server import api_errors
from probate.server.codec import object_codec
from probate.server.kind_rules.contract import ServedKinds
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Guard, Revision, Store, Unchanged

MAX_OPEN_NAMESPACES = 4_000
"""Namespaces whose guards are cached. The cache is valid while no namespace changes."""


class ScopeGuards:
    """The guards of creates in one store."""

    def __init__(self, store: Store, kinds: ServedKinds) -> None:
        self._store = store
        self._kinds = kinds
        self._open_namespaces: dict[str, tuple[Guard, Revision]] = {}  # the guard of each, and at which revision it held

    def cached_guards(self, target: Target) -> tuple[Guard, ...]:
        """Fast path: returns what `guards` would return if it is cached, else an empty tuple."""
        if not target.namespace or target.resource.is_custom:
            return ()
        guard = self._cached_namespace_guard(target.namespace)
        return () if guard is None else (guard,)

    async def guards(self, target: Target) -> tuple[Guard, ...]:
        """Returns guards that the namespace, and the CRD of a custom resource, still are as read: existing and not terminating."""
        guards = (await self.namespace_guard(target.namespace),) if target.namespace else ()
        return (*guards, await self._crd_guard(target)) if target.resource.is_custom else guards

    async def _crd_guard(self, target: Target) -> Guard:
        """Returns the guard that the CRD is unchanged. Raises `Forbidden` if it is being deleted."""
        key = storage_keys.crd_key(target.resource)
        record = await self._store.read(key)
        if record is None:
            raise api_errors.resource_not_found()
        if object_codec.meta(record.value).deletion_timestamp is not None:
            reason = (
                f"objects of this kind cannot be created: the CustomResourceDefinition {key.rpartition('/')[2]} is being deleted"
            )
            raise api_errors.forbidden(target.resource, target.name, reason)
        return Unchanged(key, record.revision)

    def _cached_namespace_guard(self, name: str) -> Guard | None:
        """Returns the cached guard of a namespace, or None if a namespace has changed since it was cached."""
        guard = self._open_namespaces.get(name)
        if guard is None:
            return None
        unchanged = self._store.unchanged_since(storage_keys.NAMESPACES_RANGE)
        return guard[0] if unchanged is not None and unchanged.since <= guard[1] else None

    async def namespace_guard(self, name: str) -> Guard:
        """Returns the guard that the namespace is unchanged. Raises `NotFound` or, if it is terminating, `Forbidden`."""
        guard, unchanged = self._cached_namespace_guard(name), self._store.unchanged_since(storage_keys.NAMESPACES_RANGE)
        if guard is not None:
            return guard
        guard = await self._read_namespace(name)
        if unchanged is not None:
            if len(self._open_namespaces) >= MAX_OPEN_NAMESPACES:
                self._open_namespaces.clear()
            self._open_namespaces[name] = guard, unchanged.now
        return guard

    async def _read_namespace(self, name: str) -> Guard:
        record = await self._store.read(storage_keys.namespace_key(name))
        namespaces = self._kinds.catalog.find("", "v1", "namespaces")
        if record is None:
            if namespaces is None:
                raise errors.InvariantViolation("the built-in catalog lacks Namespace")
            raise api_errors.not_found(namespaces, name)
        if object_codec.meta(record.value).deletion_timestamp is not None:
            cause = FieldError("NamespaceTerminating", "metadata.namespace", f"namespace {name} is being terminated")
            details = Details(name=name, kind="namespaces", causes=(cause,))
            raise errors.Forbidden(f"nothing can be created in namespace {name} because it is being terminated", details)
        return Unchanged(record.key, record.revision)

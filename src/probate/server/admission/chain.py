"""The admission chain of every write: first the plugins that may change it, then those that may only refuse it.

    decoding ─► defaults ─► mutating plugins ─► defaults, strategy, validation of the kind ─► validating plugins ─► store

Plugins run in the order of `PluginOrder`. Fast path: a plugin for which nothing is configured is disabled and is in neither tuple,
so a server without any configuration checks two empty tuples.
"""

from __future__ import annotations

import logging
from enum import IntEnum
from typing import Protocol, runtime_checkable

from probate.api.audit import redaction
from probate.core.logs import facts
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements
from probate.server.audit import request_trail
from probate.server.request import Target

log = logging.getLogger(__name__)


class PluginOrder(IntEnum):
    """The order in which plugins run, in both phases."""

    OWNERSHIP = 1
    LIMITS = 2
    SERVICE_ACCOUNTS = 3
    STORAGE_CLASSES = 4
    INGRESS_CLASSES = 5
    TENANT = 6
    """What a tenant has configured, for writes of its objects in the physical view."""
    MUTATING_POLICIES = 7
    MUTATING_WEBHOOKS = 8
    VALIDATING_POLICIES = 9
    VALIDATING_WEBHOOKS = 10
    PLATFORM = 11
    """What the platform has configured, for writes in the view of a tenant. After the tenant's own, as for writes of others."""
    QUOTA = 12
    """Last, so that quota is charged only for writes that all others have allowed."""

    TENANT_QUOTA = 13


CONFIGURED = frozenset(
    {
        PluginOrder.MUTATING_POLICIES,
        PluginOrder.MUTATING_WEBHOOKS,
        PluginOrder.VALIDATING_POLICIES,
        PluginOrder.VALIDATING_WEBHOOKS,
    }
)
"""The plugins that run the policies and webhooks that users have configured."""


class Plugin(Protocol):
    """An admission plugin."""

    def handles(self, operation: str, at: Target) -> bool:
        """Returns whether the plugin may act on writes like this one. Must be fast; an unnecessary True only costs time."""
        ...


@runtime_checkable
class MutatingPlugin(Plugin, Protocol):
    """A plugin that may change the object to be written."""

    async def mutate(self, write: Attributes) -> None:
        """Calls `replace_object` or not; an `ApiError` refuses the write. May run twice, so it must be idempotent."""
        ...


@runtime_checkable
class ValidatingPlugin(Plugin, Protocol):
    """A plugin that may refuse a write, or require something of its transaction."""

    async def validate(self, write: Attributes) -> CommitRequirements:
        """Returns what the transaction needs; an `ApiError` refuses the write."""
        ...


class AdmissionChain:
    """The plugins of one API."""

    def __init__(self) -> None:
        self._enabled: dict[PluginOrder, Plugin] = {}
        self.mutators: tuple[MutatingPlugin, ...] = ()
        self.validators: tuple[ValidatingPlugin, ...] = ()
        self.configured: tuple[Plugin, ...] = ()
        """The enabled plugins for policies and webhooks: they apply to writes in other views too."""

    def enable(self, order: PluginOrder, plugin: Plugin) -> None:
        """Adds the plugin to the chain."""
        self._set_enabled({**self._enabled, order: plugin})

    def disable(self, order: PluginOrder) -> None:
        """Removes the plugin from the chain."""
        self._set_enabled({key: plugin for key, plugin in self._enabled.items() if key != order})

    def _set_enabled(self, enabled: dict[PluginOrder, Plugin]) -> None:
        self._enabled = dict(sorted(enabled.items()))
        self.mutators = tuple(plugin for plugin in self._enabled.values() if isinstance(plugin, MutatingPlugin))
        self.validators = tuple(plugin for plugin in self._enabled.values() if isinstance(plugin, ValidatingPlugin))
        self.configured = tuple(plugin for order, plugin in self._enabled.items() if order in CONFIGURED)

    def mutates(self, operation: str, at: Target) -> bool:
        """Returns whether a plugin may change writes like this one."""
        return bool(self.mutators) and any(plugin.handles(operation, at) for plugin in self.mutators)

    def validates(self, operation: str, at: Target) -> bool:
        """Returns whether a plugin may refuse writes like this one."""
        return bool(self.validators) and any(plugin.handles(operation, at) for plugin in self.validators)

    async def mutate(self, write: Attributes) -> None:
        """Runs the mutating plugins, and once more if a later one has changed what earlier ones have seen."""
        plugins = [plugin for plugin in self.mutators if plugin.handles(write.operation, write.at)]
        for plugin in plugins:
            await plugin.mutate(write)
        if write.needs_reinvocation:
            write.is_reinvocation = True
            for plugin in plugins:
                await plugin.mutate(write)

    async def validate(self, write: Attributes) -> CommitRequirements:
        """Runs the validating plugins. Returns what they require; the caller releases it once the outcome of the write is known."""
        requirements = NO_REQUIREMENTS
        try:
            for plugin in [plugin for plugin in self.validators if plugin.handles(write.operation, write.at)]:
                requirements = requirements.combined_with(await plugin.validate(write))
        except BaseException:
            requirements.release()
            raise
        finally:
            if write.request.annotations:
                _record_annotations(write)
        return requirements


def _record_annotations(write: Attributes) -> None:
    """Adds annotations to the audit log or, if auditing is off, to the process's log, without values that may quote Secrets."""
    annotations, trail, resource = write.request.annotations, request_trail.CURRENT_TRAIL.get(), write.at.resource.group_resource
    if trail is not None:
        trail.annotate(annotations)
        return
    shown = list(annotations) if resource == redaction.SECRETS else annotations
    log.info(
        "admission annotations",
        extra=facts(operation=write.operation, resource=str(resource), name=write.name, annotations=str(shown)),
    )

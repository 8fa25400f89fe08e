"""Reports damaged objects: in warnings of lists, in health checks, in a metric, and in an Event about each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from probate.api import object_keys
from probate.api.catalog import Catalog, Resource
from probate.api.object_keys import Key
from probate.api.ownership import Item, ObjectMeta
from probate.core import errors
from probate.core.metrics import LabelValues, Registry
from probate.server.kind_rules.contract import ServedKinds
from probate.server.objects.server_events import WarningEvents
from probate.store.contract import DamagedRecord, Store
from probate.store.damaged_objects import DELETE_OPTION, object_name

MAX_NAMED = 5
"""Damaged objects that one response names."""
MAX_EVENTS = 100
"""Events about damaged objects that one server writes. `probate store check` lists all damaged objects."""
REASON = "StoredObjectDamaged"
COMPONENT = "probate"
METRIC = "probate_store_damaged_objects"


def warnings(damaged: Sequence[DamagedRecord]) -> tuple[str, ...]:
    """Returns the warnings of a list that does not contain these objects."""
    if not damaged:
        return ()
    lines = [f"{object_name(record.key)} is left out because its stored data is damaged" for record in damaged[:MAX_NAMED]]
    unnamed = len(damaged) - MAX_NAMED
    return (*lines, f"{unnamed} more damaged objects are left out") if unnamed > 0 else tuple(lines)


def health_detail(store: Store) -> str:
    """Returns the detail of the store health check; empty if no object is damaged."""
    known = store.damaged_objects.by_key
    if not known:
        return ""
    named = ", ".join(str(object_name(key)) for key in sorted(known)[:MAX_NAMED])
    return f"{len(known)} damaged objects are left out of lists: {named}{', …' if len(known) > MAX_NAMED else ''}"


def damaged_names(store: Store, group: str, plural: str) -> list[tuple[str, str]]:
    """Returns the namespace and name of each damaged object of a resource."""
    if not store.damaged_objects.by_key:
        return []
    objects = (object_name(key) for key in store.damaged_objects.by_key)
    return [(name.namespace, name.name) for name in objects if (name.group, name.resource) == (group, plural)]


def register_metric(store: Store, registry: Registry) -> None:
    """Registers the metric that counts damaged objects by resource."""
    help_text = "Stored objects whose data is damaged."
    registry.gauges(METRIC, help_text, ("resource",), read=lambda: _counts(store.damaged_objects.by_key))


def _counts(known: Collection[str]) -> Mapping[LabelValues, float]:
    counts: Counter[LabelValues] = Counter((object_keys.resource_in(key),) for key in known)
    return {labels: float(count) for labels, count in counts.items()} or {("",): 0.0}


def start_event_reports(store: Store, kinds: ServedKinds, events: WarningEvents) -> asyncio.Task[None]:
    """Starts and returns a task that writes an Event about each damaged object that is found. The caller stops it."""
    queue: asyncio.Queue[DamagedRecord] = asyncio.Queue()
    store.damaged_objects.add_listener(queue.put_nowait)
    return asyncio.create_task(_write_events(kinds, events, queue), name="events about damaged objects")


async def _write_events(kinds: ServedKinds, events: WarningEvents, queue: asyncio.Queue[DamagedRecord]) -> None:
    for _ in range(MAX_EVENTS):
        damaged = await queue.get()
        name = object_name(damaged.key)
        resource = _resource(kinds.catalog, name.group, name.resource)
        if resource is None or resource.kind == "Event":
            continue
        item = Item(Key(damaged.key), damaged.revision, ObjectMeta(name.name, name.namespace))
        message = (
            f"the data stored at revision {damaged.revision} is damaged: {damaged.problem}. "
            f"An administrator can restore a copy of the store, or remove the object with the delete option {DELETE_OPTION}"
        )
        try:
            await events.create(resource, item, reason=REASON, message=message, component=COMPONENT)
        except errors.ApiError:
            continue  # its namespace may be damaged or terminating; the log and the metric still report the object


def _resource(catalog: Catalog, group: str, plural: str) -> Resource | None:
    versions = catalog.versions(group)
    return next((found for version in versions if (found := catalog.find(group, version, plural)) is not None), None)

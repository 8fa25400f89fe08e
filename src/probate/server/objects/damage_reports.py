"""What people are told of damaged objects: by warnings of lists, by health checks, by metrics, and by an Event about each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from probate.api.catalog import Resource
from probate.api.ownership import Item, Meta
from probate.core import errors
from probate.core.aio import tasks
from probate.core.metrics import Labels
from probate.server.context import Api
from probate.server.objects import server_events
from probate.store.contract import Damaged, Store
from probate.store.damage import OPTION, name_of

MAX_NAMED = 5
"""Damaged objects that are named in one answer."""
MAX_EVENTS = 100
"""Events about damaged objects that one server writes. `probate store check` lists them all."""
REASON = "StoredObjectDamaged"
COMPONENT = "probate"
METRIC = "probate_store_damaged_objects"


def warnings(damaged: Sequence[Damaged]) -> tuple[str, ...]:
    """Of a list that had to leave these out."""
    if not damaged:
        return ()
    told = [f"{name_of(one.key)} is left out because its stored data is damaged" for one in damaged[:MAX_NAMED]]
    more = len(damaged) - MAX_NAMED
    return (*told, f"{more} more damaged objects are left out") if more > 0 else tuple(told)


def detail(store: Store) -> str:
    """For who asks whether the store is well; empty if it is."""
    known = store.damage.known
    if not known:
        return ""
    named = ", ".join(str(name_of(key)) for key in sorted(known)[:MAX_NAMED])
    return f"{len(known)} damaged objects are left out of lists: {named}{', …' if len(known) > MAX_NAMED else ''}"


def names(store: Store, group: str, plural: str) -> list[tuple[str, str]]:
    """Namespace and name of each object of a resource that is known to be damaged."""
    if not store.damage.known:
        return []
    found = (name_of(key) for key in store.damage.known)
    return [(one.namespace, one.name) for one in found if (one.group, one.resource) == (group, plural)]


def measure(api: Api) -> None:
    """Show on `/metrics` how many damaged objects are known."""
    about = "Stored objects that were found to be damaged and are still there."
    api.figures.registry.gauges(METRIC, about, ("resource",), lambda: _counts(api.store.damage.known))


def _counts(known: Collection[str]) -> Mapping[Labels, float]:
    counts: Counter[Labels] = Counter((key.split("/")[1],) for key in known)
    return {labels: float(count) for labels, count in counts.items()} or {("",): 0.0}


def report(api: Api) -> None:
    """From now on write an Event about each damaged object that is found, until the API is closed."""
    found: asyncio.Queue[Damaged] = asyncio.Queue()
    api.store.damage.listen(found.put_nowait)
    task = asyncio.create_task(_write_events(api, found), name="events about damaged objects")
    api.at_the_end(lambda: tasks.stop(task))


async def _write_events(api: Api, found: asyncio.Queue[Damaged]) -> None:
    for _ in range(MAX_EVENTS):
        one = await found.get()
        about = name_of(one.key)
        resource = _resource(api, about.group, about.resource)
        if resource is None or resource.kind == "Event":
            continue
        item = Item(one.key, one.revision, Meta(about.name, about.namespace, ""))
        message = (
            f"the data stored at revision {one.revision} is damaged: {one.problem}. An administrator can restore a copy of the "
        )
        message += f"store, or remove the object with the delete option {OPTION}"
        try:
            await server_events.record(api, resource, item, REASON, message, component=COMPONENT)
        except errors.ApiError:
            continue  # its namespace may be damaged, or on its way out: the log and the metrics tell


def _resource(api: Api, group: str, plural: str) -> Resource | None:
    versions = api.catalog.versions(group)
    return next((found for version in versions if (found := api.catalog.find(group, version, plural)) is not None), None)

"""The interface between bulk controllers and the objects: a change feed, an ownership index, and guarded actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from probate.api.gvk import GroupResource
from probate.api.object_keys import Key
from probate.api.ownership import (
    Action,
    Change,
    ChangedKeys,
    Item,
    KeyPage,
    Outcome,
    OwnerReference,
    ResolvedOwner,
    StoredObject,
    Uid,
)


class Backend(Protocol):
    """All objects of one store or cluster, thousands at a time.

    Reads return items (objects as they were read), and every action names the items that it was decided on. So a controller never
    acts on stale state: an action whose item or precondition has changed returns `Outcome.CHANGED`, and the controller decides
    again. Implemented by `backends.store`, where every action is one guarded transaction.
    """

    # --- the change feed ----------------------------------------------------------------------------------------------

    async def revision(self) -> int:
        """Returns the newest revision."""
        ...

    async def load_position(self) -> int | None:
        """Returns the revision up to which all changes were processed when it was last saved; None if it never was."""
        ...

    async def save_position(self, revision: int) -> None:
        """Saves that all changes up to this revision were processed. A hint: an older one only costs work."""
        ...

    def watch_changes(
        self, after: int, on_irrelevant: Callable[[int], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[list[Change]]]:
        """Yields every change after this revision that concerns owners or deletion, or a CRD: once and in order.

        An empty `Change` stands for those left out. Fast path: a small batch of only such changes is not yielded; `on_irrelevant`
        is called at once with its last revision, and nothing has happened between the last batch yielded and that revision. Raises
        `Gone` if the changes after this revision are not available any more.
        """
        ...

    def watch_keys(
        self, after: int, on_keys: Callable[[list[ChangedKeys]], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[list[ChangedKeys]]]:
        """Yields the keys of all changes after this revision, of every object. Reads no object, so it costs next to nothing.

        Fast path: a small batch is passed to `on_keys` at once, if all earlier ones have been taken. Larger ones are yielded.
        """
        ...

    # --- reads --------------------------------------------------------------------------------------------------------

    async def get_object(self, resource: str, namespace: str, name: str) -> StoredObject | None:
        """Returns one whole object as it is now."""
        ...

    async def get_items(self, keys: Sequence[Key]) -> list[Item | None]:
        """Returns the objects of these keys as they are now. Those that `find_damaged` returns cannot be read and are None."""
        ...

    async def find_damaged(self, keys: Sequence[Key]) -> set[Key]:
        """Returns which of these keys, for which `get_items` returned None, exist but hold damaged data."""
        ...

    def resource_of(self, key: str) -> GroupResource:
        """Returns the resource of the object of this key."""
        ...

    async def list_namespace(self, namespace: str, continue_token: str, *, limit: int, resource: str = "") -> KeyPage:
        """Returns one page of the objects in a namespace, of one resource or of all. The first page has an empty token."""
        ...

    async def list_tenant(
        self, tenant: str, continue_token: str, *, limit: int, resources: Collection[str] = (), but: Collection[str] = ()
    ) -> KeyPage:
        """Returns one page of a tenant's objects: of these resources, or of all `but` some. The first page has an empty token."""
        ...

    async def count_tenant(self, tenant: str) -> Counter[GroupResource]:
        """Returns how many objects of each resource a tenant has. Visits each, but reads none."""
        ...

    async def list_resource(self, resource: str, continue_token: str, *, limit: int) -> KeyPage:
        """Returns one page of the objects of a resource. The first page has an empty token."""
        ...

    async def list_all(self, continue_token: str, *, limit: int) -> KeyPage:
        """Returns one page of all objects. The first page has an empty token."""
        ...

    # --- the ownership index ------------------------------------------------------------------------------------------

    async def resolve_owners(
        self, references: Sequence[tuple[Item, OwnerReference]], *, known: Mapping[Key, Item] = ...
    ) -> list[ResolvedOwner]:
        """Returns the state of each owner, as seen from the item that refers to it.

        Owners in `known`, by key, are not read again.
        """
        ...

    async def exist_in_other_namespaces(self, references: Sequence[tuple[Item, OwnerReference]]) -> list[bool]:
        """Returns whether each owner exists in a namespace from which it cannot own the item.

        The search is bounded: False proves nothing.
        """
        ...

    async def find_waiting(self, uids: Sequence[Uid]) -> list[Item]:
        """Returns those of the objects with these uids that are being deleted in the foreground."""
        ...

    async def first_dependents(self, owners: Sequence[Item], *, limit: int) -> list[KeyPage]:
        """Returns the first page of each owner's dependents: those in its namespace, or everywhere if it is cluster-scoped."""
        ...

    async def next_dependents(self, owner: Item, continue_token: str, *, limit: int, are_blocking: bool) -> KeyPage:
        """Returns the next page of an owner's dependents, all or only those that block its foreground deletion."""
        ...

    async def first_cluster_scoped_dependents(self, owner: Item, *, limit: int) -> KeyPage:
        """Returns the first cluster-scoped objects that refer to a namespaced owner, which cannot own them."""
        ...

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        """Returns whether each owner has dependents."""
        ...

    async def have_blocking_dependents(self, owners: Sequence[Item]) -> list[bool]:
        """Returns whether a dependent blocks the foreground deletion of each owner now."""
        ...

    async def list_dependents_of_kind(self, crd: Key) -> list[Key]:
        """Returns the keys of the objects that refer to owners of the custom kind of this CRD; none if the CRD is gone.

        From now on owners of that kind are resolved, if it is served at all.
        """
        ...

    # --- actions ------------------------------------------------------------------------------------------------------

    async def execute(self, actions: Sequence[Action]) -> list[Outcome]:
        """Executes actions, each independently of the others."""
        ...

    def permissions_revision(self) -> int:
        """Returns a number that changes when an action that was denied may be permitted now."""
        ...

    async def record_warning(self, item: Item, reason: str, message: str, *, component: str = "") -> None:
        """Records a warning Event about the object, as this component, or as the collector."""
        ...

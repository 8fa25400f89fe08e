"""What a controller can ask and do, thousands of objects at a time: in our own process, or on any cluster.

Everything is asked about *items* (objects as they were found) and everything done says what it was based on. So a controller never
acts on what is no longer true: such an action comes back as `CHANGED`, and the controller looks again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from probate.api.gvk import GroupResource
from probate.api.ownership import Action, Change, Item, Outcome, Owner, Places, Seen, Touch, Whole


class World(Protocol):
    """All objects there are."""

    async def position(self) -> int | None:
        """Up to which revision all changes had been dealt with when this was last noted; None if it never was."""
        ...

    async def note_position(self, revision: int) -> None:
        """Note that all changes up to this revision have been dealt with. A hint: an older one only costs work."""
        ...

    async def revision(self) -> int:
        """The newest revision there is."""
        ...

    def changes(self, after: int, pass_by: Callable[[int], None]) -> AbstractAsyncContextManager[AsyncIterator[list[Change]]]:
        """Every change after this revision that says anything about owners or deletion, or is of a definition: once and in order.

        A change of nothing stands for those left out; or `pass_by` is told at once, where they are a few and no others came with
        them: then nothing has happened between what was given before and this revision. `Gone` if they are not known any more.
        """
        ...

    def touches(self, after: int, take: Callable[[list[Touch]], None]) -> AbstractAsyncContextManager[AsyncIterator[list[Touch]]]:
        """Like `changes`, but says only where they happened, and of every object there is. Costs next to nothing.

        A few are given to `take` at once, if those before them have been taken. More of them come by iteration.
        """
        ...

    async def find(self, resource: str, namespace: str, name: str) -> Whole | None:
        """One object, all of it, as it is now."""
        ...

    def resource_at(self, where: str) -> GroupResource:
        """Which resource an object is of."""
        ...

    async def content(self, namespace: str, more: str, *, limit: int, resource: str = "") -> Places:
        """What lies in a namespace, part by part, of one resource or of all: begin with no `more`."""
        ...

    async def all_of(self, resource: str, more: str, *, limit: int) -> Places:
        """All objects of a resource, part by part: begin with no `more`."""
        ...

    async def items(self, wheres: Sequence[str]) -> list[Item | None]:
        """The objects that are there, as they are now. Those that are `damaged` cannot be read."""
        ...

    async def damaged(self, wheres: Sequence[str]) -> set[str]:
        """Of objects that were looked for in vain, those that are there, but whose stored data is damaged."""
        ...

    async def owners(self, asked: Sequence[tuple[Item, Owner]], *, known: Mapping[str, Item] = ...) -> list[Seen]:
        """How each owner stands, seen from the item that refers to it. Those that are `known`, by where, are taken as such."""
        ...

    async def elsewhere(self, asked: Sequence[tuple[Item, Owner]]) -> list[bool]:
        """Whether each owner is in a namespace from where it cannot own the item. Looked for within a bound: no means nothing."""
        ...

    async def waiting(self, uids: Sequence[str]) -> list[Item]:
        """Of the objects that have these uids, those that wait for others to go first."""
        ...

    async def dependents(self, owners: Sequence[Item], *, limit: int) -> list[Places]:
        """The first objects that refer to each owner, as far as they can: from its namespace, or from anywhere if it has none."""
        ...

    async def cluster_scoped_dependents(self, owner: Item, *, limit: int) -> Places:
        """The first cluster-scoped objects that refer to an owner in a namespace, which cannot own them."""
        ...

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        """Of each owner, whether `dependents` has any."""
        ...

    async def more_dependents(self, owner: Item, more: str, *, limit: int, are_blocking: bool) -> Places:
        """Those that follow, all or only those that block the owner's deletion in the foreground."""
        ...

    async def are_blocked(self, owners: Sequence[Item]) -> list[bool]:
        """Of each owner, whether any dependent blocks its deletion in the foreground now."""
        ...

    async def users_of(self, definition: str) -> list[str]:
        """The objects that refer to owners of the custom kind that is defined there; none if it is defined no more.

        From now on owners of that kind are known, if it is served at all.
        """
        ...

    async def everything(self, more: str, *, limit: int) -> Places:
        """All objects, part by part: begin with no `more`."""
        ...

    async def act(self, actions: Sequence[Action]) -> list[Outcome]:
        """Do all of them, each for itself."""
        ...

    def rights(self) -> int:
        """A number that changes when what was denied may be granted now."""
        ...

    async def warn(self, item: Item, reason: str, message: str) -> None:
        """Tell whoever looks at the object, by an Event."""
        ...

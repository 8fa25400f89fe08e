"""Which owners a change of a dependent concerns: its controller, and its controller before. One that nobody controls, and that may
be adopted, concerns every owner that would have it.
"""

from __future__ import annotations

from collections.abc import Callable

from probate.client.informers import Informer, Name, controller_of, name_of
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of
from probate.controllers.workloads.owner_selectors import SelectorOf


class Routing:
    """Tells which owners of one kind to look at."""

    def __init__(self, kind: OwnerKind, owners: Informer, selector_of: SelectorOf, look_at: Callable[[Name], None]) -> None:
        self._kind = kind
        self._owners = owners
        self._selector_of = selector_of
        self._look_at = look_at

    def listen(self, *dependents: Informer) -> None:
        """Hear of what changes about the owners and about these dependents."""
        self._owners.listen(self._take_owner)
        for one in dependents:
            one.listen(self._take_dependent)

    def listen_to_history(self, revisions: Informer) -> None:
        """Hear of what changes about revisions. A new one that has its controller is none of its business yet: whoever made it may
        want to do more."""
        revisions.listen(lambda old, new: None if old is None and _is_settled(new) else self._take_dependent(old, new))

    def _take_owner(self, old: Object | None, new: Object | None) -> None:
        """An owner has changed."""
        for one in (new, old):
            if one is not None:
                self._look_at(name_of(one))
                return

    def _take_dependent(self, old: Object | None, new: Object | None) -> None:
        """A dependent has changed."""
        before = controller_of(old) if old is not None else None
        now = controller_of(new) if new is not None else None
        if old is not None and before is not None and before != now:
            self._look_at_controller(namespace_of(old), before)
        if new is not None and now is not None:
            self._look_at_controller(namespace_of(new), now)
        if new is not None and now is None and not is_deleting(new) and _is_news(old, new):
            self._look_at_all_that_match(new)

    def _look_at_controller(self, namespace: str, reference: Object) -> None:
        owner = self._kind.find(self._owners, namespace, reference)
        if owner is not None:
            self._look_at(name_of(owner))

    def _look_at_all_that_match(self, orphan: Object) -> None:
        for owner in self._owners.within(namespace_of(orphan)):
            if owner_selectors.matches(self._selector_of(owner), orphan):
                self._look_at(name_of(owner))


def _is_news(old: Object | None, new: Object) -> bool:
    """Whether somebody may want to adopt it who did not want to before."""
    return old is None or controller_of(old) is not None or old["metadata"].get("labels") != new["metadata"].get("labels")


def _is_settled(new: Object | None) -> bool:
    """Whether it has a controller, and stays."""
    return new is not None and controller_of(new) is not None and not is_deleting(new)

"""Enqueues the owners that a change of a dependent concerns: its controller and its previous controller. A dependent without a
controller that may be adopted concerns every owner whose selector matches it.
"""

from __future__ import annotations

from collections.abc import Callable

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, controller_of, name_of
from probate.client.resources import is_deleting
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of
from probate.controllers.workloads.owner_selectors import SelectorOf


class OwnerEnqueuer:
    """Enqueues the owners of one kind when they or their dependents change."""

    def __init__(
        self, kind: OwnerKind, owners: Informer, selector_of: SelectorOf, *, enqueue: Callable[[NamespacedName], None]
    ) -> None:
        self._kind = kind
        self._owners = owners
        self._selector_of = selector_of
        self._enqueue = enqueue

    def listen(self, *dependents: Informer) -> None:
        """Subscribes to changes of the owners and of these dependents."""
        self._owners.add_event_handler(self._on_owner_change)
        for informer in dependents:
            informer.add_event_handler(self._on_dependent_change)

    def listen_to_revisions(self, revisions: Informer) -> None:
        """Subscribes to changes of ControllerRevisions. A new revision that already has its controller enqueues nothing: the
        controller that created it may still be at work on the owner.
        """
        revisions.add_event_handler(
            lambda old, new: None if old is None and _is_controlled(new) else self._on_dependent_change(old, new)
        )

    def _on_owner_change(self, old: Object | None, new: Object | None) -> None:
        """Enqueues an owner that has changed."""
        for owner in (new, old):
            if owner is not None:
                self._enqueue(name_of(owner))
                return

    def _on_dependent_change(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the owners of a dependent that has changed."""
        before = controller_of(old) if old is not None else None
        now = controller_of(new) if new is not None else None
        if old is not None and before is not None and before != now:
            self._enqueue_controller(namespace_of(old), before)
        if new is not None and now is not None:
            self._enqueue_controller(namespace_of(new), now)
        if new is not None and now is None and not is_deleting(new) and _may_be_adopted_now(old, new):
            self._enqueue_matching_owners(new)

    def _enqueue_controller(self, namespace: str, reference: Object) -> None:
        owner = self._kind.find(self._owners, namespace, reference)
        if owner is not None:
            self._enqueue(name_of(owner))

    def _enqueue_matching_owners(self, orphan: Object) -> None:
        for owner in self._owners.in_namespace(namespace_of(orphan)):
            if owner_selectors.matches(self._selector_of(owner), orphan):
                self._enqueue(name_of(owner))


def _may_be_adopted_now(old: Object | None, new: Object) -> bool:
    """Returns whether an owner that did not adopt the object before may adopt it now."""
    return old is None or controller_of(old) is not None or old["metadata"].get("labels") != new["metadata"].get("labels")


def _is_controlled(new: Object | None) -> bool:
    """Returns whether the object has a controller and is not being deleted."""
    return new is not None and controller_of(new) is not None and not is_deleting(new)

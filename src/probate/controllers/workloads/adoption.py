"""Adopts and releases dependents: the counterpart of Kubernetes' `ControllerRefManager`.

    controller of the dependent   matches   action
    another owner                 either    ignore
    this owner                    yes       keep
    this owner                    no        release, unless the owner is being deleted
    none                          yes       adopt, unless either is being deleted (but see `adopts_deleting`)
    none                          no        ignore

Both patches name the dependent's uid, so they never change another object of the same name. An owner adopts only after a live read
from the server confirms that it still exists; otherwise it would adopt dependents that were orphaned on purpose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from probate.api.objects import Object
from probate.client.informers import Informer, controller_of, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Client
from probate.client.resources import is_deleting
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of
from probate.core import errors


class ClaimAction(Enum):
    """What an owner does with an object that could be its dependent."""

    KEEP = "keep"
    ADOPT = "adopt"
    RELEASE = "release"
    IGNORE = "ignore"


def never_adopt(_: Object) -> bool:
    """Returns False: all kinds but Deployments never adopt a dependent that is being deleted."""
    return False


def claim_action(
    owner: Object, dependent: Object, *, is_match: bool, adopts_deleting: Callable[[Object], bool] = never_adopt
) -> ClaimAction:
    """Returns what the owner does with the object. (REF-1 to REF-4)"""
    reference = controller_of(dependent)
    if reference is None:
        can_adopt = is_match and not is_deleting(owner) and (not is_deleting(dependent) or adopts_deleting(dependent))
        return ClaimAction.ADOPT if can_adopt and namespace_of(owner) == namespace_of(dependent) else ClaimAction.IGNORE
    if reference["uid"] != owner["metadata"]["uid"]:
        return ClaimAction.IGNORE
    if is_match:
        return ClaimAction.KEEP
    return ClaimAction.IGNORE if is_deleting(owner) else ClaimAction.RELEASE


class ControllerRefManager:
    """Claims dependents for the owners of one kind. Each owned dependent holds `finalizer`, if one is given.

    `adopts_deleting` selects the dependents that are adopted although they are being deleted.
    """

    def __init__(self, kind: OwnerKind, client: Client, dependents: Informer, *, finalizer: str = "") -> None:
        self._kind = kind
        self._client = client
        self._dependents = dependents
        self._finalizers = [finalizer] if finalizer else []

    def candidates(self, owner: Object) -> list[Object]:
        """Returns the objects that the owner controls or could adopt. Objects that another owner controls are not examined.
        (REF-8)
        """
        controlled = self._dependents.controlled_by(owner["metadata"]["uid"])
        return [*controlled, *self._dependents.without_controller(namespace_of(owner))]

    async def claim(
        self,
        owner: Object,
        candidates: Iterable[Object],
        is_match: Callable[[Object], bool],
        *,
        adopts_deleting: Callable[[Object], bool] = never_adopt,
    ) -> list[Object]:
        """Returns the dependents of the owner. If a request for one of them fails, the others are still processed before the errors
        are raised.
        """
        actions = [
            (candidate, claim_action(owner, candidate, is_match=is_match(candidate), adopts_deleting=adopts_deleting))
            for candidate in candidates
        ]
        claimed, failures = await self._claim(owner, actions)
        if failures:
            what = f"{self._dependents.resource.plural} of {self._kind.name} {name_of(owner)}"
            raise ExceptionGroup(f"{what} could not be claimed", failures)
        return claimed

    async def _claim(
        self, owner: Object, actions: Sequence[tuple[Object, ClaimAction]]
    ) -> tuple[list[Object], list[errors.ApiError]]:
        claimed = [dependent for dependent, action in actions if action is ClaimAction.KEEP]
        to_release = [dependent for dependent, action in actions if action is ClaimAction.RELEASE]
        to_adopt = [dependent for dependent, action in actions if action is ClaimAction.ADOPT]
        failures = await for_each(to_release, functools.partial(self._release, owner))
        if not to_adopt:
            return claimed, failures
        if not await self._is_alive(owner):
            gone = errors.Conflict(
                f"{self._kind.name} {name_of(owner)} cannot adopt dependents: it was deleted, or is being deleted"
            )
            return claimed, [*failures, gone]
        adopted: list[Object] = []
        failures += await for_each(to_adopt, functools.partial(self._adopt, owner, adopted))
        return [*claimed, *adopted], failures

    async def _is_alive(self, owner: Object) -> bool:
        """Returns whether the owner exists and is not being deleted, by a live read from the server. (REF-5)"""
        current = await self._client.get(self._kind.resource, namespace_of(owner), owner["metadata"]["name"])
        return current is not None and current["metadata"]["uid"] == owner["metadata"]["uid"] and not is_deleting(current)

    async def _adopt(self, owner: Object, adopted: list[Object], dependent: Object) -> None:
        patch: Object = {"uid": dependent["metadata"]["uid"], "ownerReferences": [self._kind.reference(owner)]}
        if self._finalizers:
            patch["finalizers"] = self._finalizers
        try:
            adopted.append(await self._dependents.patch(name_of(dependent), {"metadata": patch}, media=STRATEGIC_MERGE_PATCH))
        except errors.NotFound:
            return

    async def _release(self, owner: Object, dependent: Object) -> None:
        """Removes the owner reference. A dependent that is gone, or was replaced by another object of its name, needs no
        release.
        """
        reference_removal = {"$patch": "delete", "uid": owner["metadata"]["uid"]}
        patch: Object = {"uid": dependent["metadata"]["uid"], "ownerReferences": [reference_removal]}
        if self._finalizers:
            patch["$deleteFromPrimitiveList/finalizers"] = self._finalizers
        try:
            await self._dependents.patch(name_of(dependent), {"metadata": patch}, media=STRATEGIC_MERGE_PATCH)
        except (errors.NotFound, errors.Invalid):
            return

"""Who belongs to whom: what an owner takes for its own, adopts, or lets go.

    the dependent's controller   matches   verdict
    another one                  either    none of the owner's business
    this owner                   yes       ours
    this owner                   no        released, unless the owner is being deleted
    nobody                       yes       adopted, unless either is being deleted (but see `adopts_deleting`)
    nobody                       no        none of the owner's business

Both changes name the dependent's uid, so that they never hit another one of the same name. An owner adopts only if the server,
asked for it, says that it is still there: else it would take dependents with it that were left behind on purpose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from probate.client.informers import Informer, controller_of, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Client, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.workloads.owner_kinds import OwnerKind, namespace_of
from probate.core import errors


class Verdict(Enum):
    """What an object is to an owner."""

    OURS = "ours"
    ADOPT = "to be adopted"
    RELEASE = "to be released"
    NONE = "none of its business"


def never(_: Object) -> bool:
    """Adopt nothing that is being deleted: the rule for all kinds but Deployments."""
    return False


def judge(owner: Object, dependent: Object, *, is_match: bool, adopts_deleting: Callable[[Object], bool] = never) -> Verdict:
    """What the object is to the owner. (REF-1 to REF-4)"""
    reference = controller_of(dependent)
    if reference is None:
        is_free = is_match and not is_deleting(owner) and (not is_deleting(dependent) or adopts_deleting(dependent))
        return Verdict.ADOPT if is_free and namespace_of(owner) == namespace_of(dependent) else Verdict.NONE
    if reference["uid"] != owner["metadata"]["uid"]:
        return Verdict.NONE
    if is_match:
        return Verdict.OURS
    return Verdict.NONE if is_deleting(owner) else Verdict.RELEASE


class Claims:
    """Claims dependents for the owners of one kind. `finalizer` is held by each dependent for as long as it is owned.

    `adopts_deleting` says which dependents are adopted although they are being deleted.
    """

    def __init__(self, kind: OwnerKind, client: Client, dependents: Informer, *, finalizer: str = "") -> None:
        self._kind = kind
        self._client = client
        self._dependents = dependents
        self._finalizers = [finalizer] if finalizer else []

    def candidates(self, owner: Object) -> list[Object]:
        """All that can become the owner's, or are: those that others control are not even looked at. (REF-8)"""
        controlled = self._dependents.controlled_by(owner["metadata"]["uid"])
        return [*controlled, *self._dependents.uncontrolled(namespace_of(owner))]

    async def claim(
        self,
        owner: Object,
        candidates: Iterable[Object],
        is_match: Callable[[Object], bool],
        *,
        adopts_deleting: Callable[[Object], bool] = never,
    ) -> list[Object]:
        """The dependents of the owner. If something goes wrong with one, all others are seen to before that is told."""
        judged = [(one, judge(owner, one, is_match=is_match(one), adopts_deleting=adopts_deleting)) for one in candidates]
        ours, failures = await self._claim(owner, judged)
        if failures:
            what = f"{self._dependents.kind.plural} of {self._kind.name} {name_of(owner)}"
            raise ExceptionGroup(f"{what} could not be claimed", failures)
        return ours

    async def _claim(self, owner: Object, judged: Sequence[tuple[Object, Verdict]]) -> tuple[list[Object], list[errors.ApiError]]:
        ours = [one for one, verdict in judged if verdict is Verdict.OURS]
        released = [one for one, verdict in judged if verdict is Verdict.RELEASE]
        wanted = [one for one, verdict in judged if verdict is Verdict.ADOPT]
        failures = await together(released, functools.partial(self._release, owner))
        if not wanted:
            return ours, failures
        if not await self._is_there(owner):
            gone = errors.Conflict(f"{self._kind.name} {name_of(owner)} adopts nobody: it is gone, or is being deleted")
            return ours, [*failures, gone]
        adopted: list[Object] = []
        failures += await together(wanted, functools.partial(self._adopt, owner, adopted))
        return [*ours, *adopted], failures

    async def _is_there(self, owner: Object) -> bool:
        """Whether the owner lives on, asked of the server itself. (REF-5)"""
        now = await self._client.get(self._kind.resource, namespace_of(owner), owner["metadata"]["name"])
        return now is not None and now["metadata"]["uid"] == owner["metadata"]["uid"] and not is_deleting(now)

    async def _adopt(self, owner: Object, adopted: list[Object], one: Object) -> None:
        change: Object = {"uid": one["metadata"]["uid"], "ownerReferences": [self._kind.reference(owner)]}
        if self._finalizers:
            change["finalizers"] = self._finalizers
        try:
            adopted.append(await self._dependents.patch(name_of(one), {"metadata": change}, media=STRATEGIC_MERGE_PATCH))
        except errors.NotFound:
            return

    async def _release(self, owner: Object, one: Object) -> None:
        """Let it go. One that is gone, or was replaced by another of its name, needs no releasing."""
        dropped = {"$patch": "delete", "uid": owner["metadata"]["uid"]}
        change: Object = {"uid": one["metadata"]["uid"], "ownerReferences": [dropped]}
        if self._finalizers:
            change["$deleteFromPrimitiveList/finalizers"] = self._finalizers
        try:
            await self._dependents.patch(name_of(one), {"metadata": change}, media=STRATEGIC_MERGE_PATCH)
        except (errors.NotFound, errors.Invalid):
            return

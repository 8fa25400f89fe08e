"""ObjectWriter: admits an update, and commits it in one guarded transaction.

An update is guarded by the revision that it is based on. (A create is guarded by its scope: `scope_guards`.)
"""

from __future__ import annotations

import msgspec

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.server.admission import volume_expansion
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, CommitRequirements, WriteRequest
from probate.server.admission.admission_control import AdmissionControl
from probate.server.authz import owner_reference_permissions
from probate.server.codec import object_codec
from probate.server.codec.version_conversion import VersionConverter
from probate.server.objects import deletion
from probate.server.objects.service_allocation import ServiceAllocator
from probate.server.objects.write_checks import WriteChecks
from probate.server.objects.write_strategy import ObjectPreparer
from probate.server.ownership import namespace_content
from probate.server.request import Target
from probate.server.storage import service_claims
from probate.store.contract import FailedGuards, Record, Revision, Store, Txn, Unchanged


class ObjectWriter:
    """Writes objects of all kinds."""

    def __init__(
        self,
        store: Store,
        offloader: Offloader,
        preparer: ObjectPreparer,
        *,
        admission: AdmissionControl,
        checks: WriteChecks,
        version_converter: VersionConverter,
        service_allocator: ServiceAllocator,
    ) -> None:
        self._store = store
        self._offloader = offloader
        self._preparer = preparer
        self._admission = admission
        self._checks = checks
        self._version_converter = version_converter
        self._service_allocator = service_allocator

    async def _mutate(self, target: Target, current: Record, new: Object, *, act: WriteRequest) -> Object:
        """Runs mutating admission and validates its result. Raises `Invalid`."""
        if not act.is_mutable:
            return new
        entries = new["metadata"].get("managedFields") or []  # fields that a plugin adds have no field manager
        mutated = await self._admission.phases.mutate_update(target, new, act, current=current)
        await self._offloader.offload_if_large(
            len(current.value),
            lambda: self._preparer.prepare_mutated(
                target, mutated, object_codec.loaded(current, target.resource), entries=entries, act=act
            ),
        )
        return mutated

    async def commit_update(
        self,
        resource: Resource,
        current: Record,
        new: Object,
        *,
        is_dry_run: bool,
        terms: CommitRequirements = NO_REQUIREMENTS,
    ) -> Record | None:
        """Commits an update, guarded by the revision that was read. Returns None if the object was modified concurrently.

        Removes the object instead if `deletion.is_ready_for_removal`. Writes nothing if nothing changed.
        """
        old = object_codec.meta(current.value)
        if deletion.is_ready_for_removal(resource, new) and not await namespace_content.has_content(self._store, resource, current):
            plan = deletion.plan_removal(current, old, guards=deletion.removal_guards(resource, new))
            outcome = current.revision if is_dry_run else await self._store.commit(require_transaction(plan.txn))
            if not isinstance(outcome, FailedGuards):
                return Record(current.key, object_codec.stored(new), current.revision)
            if isinstance(outcome.guards[0], Unchanged):
                return None
            # It still contains other objects: it is removed together with the last of them.
        plan = await self._offloader.offload_if_large(
            len(current.value), lambda: deletion.plan_update(current, old, new, guards=terms.guards, other_entries=terms.enter)
        )
        if plan.txn is None or is_dry_run:
            return plan.record
        txn = plan.txn
        if resource.is_converted and txn.value is not None:
            txn = msgspec.structs.replace(txn, value=await self._version_converter.stored(resource, txn.value))
        outcome = await self._store.commit(txn)
        return None if isinstance(outcome, FailedGuards) else Record(current.key, plan.record.value, Revision(outcome))

    async def admit_and_commit(self, target: Target, current: Record, new: Object, *, act: WriteRequest) -> Record | None:
        """Runs mutating admission, the checks of rights and of the kind, and validating admission; then `commit_update`."""
        new = await self._mutate(target, current, new, act=act)
        if target.resource.group in self._checks.by_group:
            check = self._checks.by_group[target.resource.group]
            await check.check(act.user, target, new=new, old=object_codec.loaded(current, target.resource))
        if target.resource.plural == volume_expansion.CLAIMS and not target.subresource:
            self._admission.volume_expansion.check(target, new, object_codec.loaded(current, target.resource))
        if owner_reference_permissions.may_differ(act.user, new, current.value):
            await self._checks.check_metadata(act.user, target, new=new, old=object_codec.loaded(current, target.resource))
        if "ownerReferences" in new["metadata"]:
            await self._checks.check_owner_references(act, target, new=new, old=object_codec.loaded(current, target.resource))
        await self._service_allocator.allocate(target.resource, new, service_claims.claims_of(current.key, current.value))
        if not self._admission.chain.validators:
            return await self.commit_update(target.resource, current, new, is_dry_run=act.is_dry_run)
        terms = await self._admission.phases.validate_update(target, new, act, current=current)
        try:
            return await self.commit_update(target.resource, current, new, is_dry_run=act.is_dry_run, terms=terms)
        finally:
            terms.release()


def require_transaction(txn: Txn | None) -> Txn:
    """Returns the transaction. Raises `InvariantViolation` if there is none."""
    if txn is None:
        raise errors.InvariantViolation("the plan writes nothing")
    return txn

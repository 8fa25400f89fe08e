"""The controller of Jobs: each look makes or ends pods, then writes down what has become of those that ended.

A job that is being deleted makes and ends no more pods: it only lets go of those it has, so that the collector can have them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate import errors
from probate.client.objects import Object, has_cause
from probate.control import conditions
from probate.control.informers import Name
from probate.control.kinds import is_deleting
from probate.control.means import Means
from probate.control.requests import together
from probate.control.workers import Workers
from probate.machinery.moments import timestamp
from probate.workloads import batches, pods, selectors
from probate.workloads.claims import Claims
from probate.workloads.jobs import accounts, endings, making, members
from probate.workloads.jobs.accounts import Account
from probate.workloads.jobs.endings import Ending
from probate.workloads.jobs.making import Failures
from probate.workloads.jobs.members import uid_of
from probate.workloads.jobs.orphans import Orphans, free
from probate.workloads.jobs.tally import Tally
from probate.workloads.owners import JOB, PODS, namespace_of
from probate.workloads.routing import Routing

COMPONENT = "job-controller"
SUSPENDED = "Suspended"


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Jobs(means).workers, Orphans(means).workers]


class Managed(NamedTuple):
    """What came of making and ending pods: in how many seconds there is more to make, and what went wrong."""

    again: float | None = None
    failures: tuple[errors.ApiError, ...] = ()


class Jobs:
    """The controller of Jobs."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = JOB.voice(means.events, COMPONENT)
        self._pods = means.informers.of(PODS)
        self._jobs = means.informers.of(JOB.resource)
        self._claims = Claims(JOB, means.client, self._pods, finalizer=members.TRACKING)
        self._failures: dict[str, Failures] = {}  # by the job's uid; only of those that have failed lately
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        self._jobs.listen(self._forget)
        Routing(JOB, self._jobs, selectors.of_expressions, self.workers.add).listen(self._pods)

    def _forget(self, old: Object | None, job: Object | None) -> None:
        if old is not None and (job is None or members.is_finished(job)):
            self._failures.pop(uid_of(old), None)

    async def _sync(self, name: Name) -> float | None:
        job = self._jobs.get(name)
        if job is None or not members.is_ours(job) or members.is_finished(job):
            return None
        is_match = functools.partial(selectors.matches, selectors.of_expressions(job))
        claimed = await self._claims.claim(job, self._claims.candidates(job), is_match)
        tally = Tally(job, claimed)
        ending = endings.of(tally, self._clock.now())
        managed = await self._manage(tally, ending)
        tally = Tally(job, [pod for pod in self._pods.controlled_by(uid_of(job)) if is_match(pod)])
        written = await self._account(tally, ending or endings.completed(tally, len(tally.active)))
        if managed.failures:
            raise ExceptionGroup(f"pods of {name} could not be made or ended", managed.failures)
        waits = [managed.again, None if ending else endings.deadline_in(written, self._clock.now())]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _manage(self, tally: Tally, ending: Ending | None) -> Managed:
        """Make the pods that are missing, or end those that are too many."""
        job = tally.job
        if is_deleting(job):
            return Managed()
        if ending is not None:
            return Managed(failures=tuple(await together(tally.active, functools.partial(self._end, job))))
        surplus = making.surplus(tally, self._clock.now())[: batches.MOST]
        if surplus:
            failures = await together(surplus, functools.partial(self._drop, job))
            return Managed(again=0.0 if len(surplus) == batches.MOST else None, failures=tuple(failures))
        missing = making.wanted_active(tally) - len(tally.active)
        if members.waits_for_failure(job):
            missing -= len(tally.terminating)
        return await self._make(tally, min(missing, batches.MOST)) if missing > 0 else Managed()

    async def _make(self, tally: Tally, missing: int) -> Managed:
        job, now = tally.job, self._clock.now()
        again: float | None = None
        if members.limit_per_index(job) is None:
            wait = self._failures.get(uid_of(job), Failures()).after(tally).waits(now)
            if wait:
                return Managed(wait)
        if members.is_indexed(job):
            indexes, again = making.due(tally, missing, now)
            new = [making.new_indexed_pod(tally, index) for index in indexes]
        else:
            new = [making.new_pod(job)] * missing
        done = await batches.slowly(new, functools.partial(self._create, job))
        if missing == batches.MOST:
            again = 0.0
        return Managed(again, tuple(one for one in done.failures if not has_cause(one, "NamespaceTerminating")))

    async def _create(self, job: Object, pod: Object) -> None:
        try:
            made = await self._pods.create(namespace_of(job), pod)
        except errors.ApiError as error:
            self._tell(job, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self._tell(job, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    async def _end(self, job: Object, pod: Object) -> None:
        """Delete a pod that is still to be counted. (JOB-9)"""
        await self._pods.delete(pod)
        self._tell(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    async def _drop(self, job: Object, pod: Object) -> None:
        """Delete a pod that is not to be counted: it has not failed, it was too many."""
        await free(self._pods, pod)
        await self._end(job, pod)

    async def _account(self, tally: Tally, ending: Ending | None) -> Object:
        """Write down which pods have ended, let go of them, and write down what that makes in sum. Returns the job."""
        job, now, account = tally.job, self._clock.now(), Account(tally)
        account.settle(self._held(tally))
        ended = account.enter(ending)
        told = accounts.with_ending(self._with_suspension(job, ending), ending, timestamp(now))
        job = await self._write(job, tally, account, told)
        record = self._failures.get(uid_of(job), Failures()).after(tally)
        if record.number:
            self._failures[uid_of(job)] = record
        else:
            self._failures.pop(uid_of(job), None)
        held = await together(ended.pods, functools.partial(free, self._pods))
        account.settle(self._held(tally))
        left = Tally(job, self._pods.controlled_by(uid_of(job)))
        if ending is not None and ended.is_all and account.is_settled and not left.terminating:
            told = accounts.with_end(told, ending, timestamp(now))
        job = await self._write(job, left, account, told)
        if members.is_finished(job) and ending is not None:
            self._tell_end(job, ending)
        if held:
            raise ExceptionGroup(f"pods of {job['metadata']['name']} could not be let go", held)
        return job

    def _held(self, tally: Tally) -> set[str]:
        """The uids of the pods that hold the finalizer now."""
        return {uid_of(pod) for pod in self._pods.controlled_by(uid_of(tally.job)) if members.is_tracked(pod)}

    def _with_suspension(self, job: Object, ending: Ending | None) -> list[Object]:
        told, now = members.told(job), timestamp(self._clock.now())
        was = conditions.is_true(told, SUSPENDED)
        if ending is not None or is_deleting(job) or members.is_suspended(job) == was:
            return told
        status, reason, message = ("False", "JobResumed", "Job resumed") if was else ("True", "JobSuspended", "Job suspended")
        self._tell(job, "Normal", "Resumed" if was else SUSPENDED, message)
        return conditions.put(told, conditions.made(SUSPENDED, status, reason, message), now, "lastProbeTime")

    async def _write(self, job: Object, tally: Tally, account: Account, told: list[Object]) -> Object:
        """Write the status, if it says anything new."""
        before, now = job.get("status") or {}, timestamp(self._clock.now())
        is_asleep = conditions.is_true(told, SUSPENDED) and not endings.is_decided(told)
        began = "" if is_asleep else before.get("startTime") or now
        status = {
            **({"conditions": told} if told else {}),
            **({"startTime": began} if began else {}),
            **({"completionTime": now} if conditions.is_true(told, "Complete") else {}),
            **({"active": len(tally.active)} if tally.active else {}),
            "ready": sum(pods.is_ready(pod) for pod in tally.active),
            "terminating": len(tally.terminating),
            **account.fields(),
        }
        return job if status == before else await self._jobs.update({**job, "status": status}, "status")

    def _tell_end(self, job: Object, ending: Ending) -> None:
        if ending.is_success:
            self._tell(job, "Normal", "Completed", "Job completed")
        else:
            self._tell(job, "Warning", ending.reason, ending.message)

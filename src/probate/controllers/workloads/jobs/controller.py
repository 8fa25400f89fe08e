"""The controller of Jobs: each look makes or ends pods, then writes down what has become of those that ended.

A job that is being deleted makes and ends no more pods: it only lets go of those it has, so that the collector can have them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate.api.timestamps import timestamp
from probate.client.informers import Name
from probate.client.objects import Object, has_cause
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors, pod_template, slow_start
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.jobs import completion, finished_pod_tracking, job_pods, pod_creation
from probate.controllers.workloads.jobs.completion import Ending
from probate.controllers.workloads.jobs.finished_pod_tracking import Account
from probate.controllers.workloads.jobs.job_pods import uid_of
from probate.controllers.workloads.jobs.orphan_pods import Orphans, free
from probate.controllers.workloads.jobs.pod_creation import Failures
from probate.controllers.workloads.jobs.tally import Tally
from probate.controllers.workloads.owner_kinds import JOB, PODS, namespace_of
from probate.controllers.workloads.owner_lookup import Routing
from probate.core import errors

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
        self._claims = Claims(JOB, means.client, self._pods, finalizer=job_pods.TRACKING)
        self._failures: dict[str, Failures] = {}  # by the job's uid; only of those that have failed lately
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        self._jobs.listen(self._forget)
        Routing(JOB, self._jobs, owner_selectors.of_expressions, self.workers.add).listen(self._pods)

    def _forget(self, old: Object | None, job: Object | None) -> None:
        if old is not None and (job is None or job_pods.is_finished(job)):
            self._failures.pop(uid_of(old), None)

    async def _sync(self, name: Name) -> float | None:
        job = self._jobs.get(name)
        if job is None or not job_pods.is_ours(job) or job_pods.is_finished(job):
            return None
        is_match = functools.partial(owner_selectors.matches, owner_selectors.of_expressions(job))
        claimed = await self._claims.claim(job, self._claims.candidates(job), is_match)
        tally = Tally(job, claimed)
        ending = completion.of(tally, self._clock.now())
        managed = await self._manage(tally, ending)
        tally = Tally(job, [pod for pod in self._pods.controlled_by(uid_of(job)) if is_match(pod)])
        written = await self._account(tally, ending or completion.completed(tally, len(tally.active)))
        if managed.failures:
            raise ExceptionGroup(f"pods of {name} could not be made or ended", managed.failures)
        waits = [managed.again, None if ending else completion.deadline_in(written, self._clock.now())]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _manage(self, tally: Tally, ending: Ending | None) -> Managed:
        """Make the pods that are missing, or end those that are too many."""
        job = tally.job
        if is_deleting(job):
            return Managed()
        if ending is not None:
            return Managed(failures=tuple(await together(tally.active, functools.partial(self._end, job))))
        surplus = pod_creation.surplus(tally, self._clock.now())[: slow_start.MOST]
        if surplus:
            failures = await together(surplus, functools.partial(self._drop, job))
            return Managed(again=0.0 if len(surplus) == slow_start.MOST else None, failures=tuple(failures))
        missing = pod_creation.wanted_active(tally) - len(tally.active)
        if job_pods.waits_for_failure(job):
            missing -= len(tally.terminating)
        return await self._make(tally, min(missing, slow_start.MOST)) if missing > 0 else Managed()

    async def _make(self, tally: Tally, missing: int) -> Managed:
        job, now = tally.job, self._clock.now()
        again: float | None = None
        if job_pods.limit_per_index(job) is None:
            wait = self._failures.get(uid_of(job), Failures()).after(tally).waits(now)
            if wait:
                return Managed(wait)
        if job_pods.is_indexed(job):
            indexes, again = pod_creation.due(tally, missing, now)
            new = [pod_creation.new_indexed_pod(tally, index) for index in indexes]
        else:
            new = [pod_creation.new_pod(job)] * missing
        done = await slow_start.slowly(new, functools.partial(self._create, job))
        if missing == slow_start.MOST:
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
        told = finished_pod_tracking.with_ending(self._with_suspension(job, ending), ending, timestamp(now))
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
            told = finished_pod_tracking.with_end(told, ending, timestamp(now))
        job = await self._write(job, left, account, told)
        if job_pods.is_finished(job) and ending is not None:
            self._tell_end(job, ending)
        if held:
            raise ExceptionGroup(f"pods of {job['metadata']['name']} could not be let go", held)
        return job

    def _held(self, tally: Tally) -> set[str]:
        """The uids of the pods that hold the finalizer now."""
        return {uid_of(pod) for pod in self._pods.controlled_by(uid_of(tally.job)) if job_pods.is_tracked(pod)}

    def _with_suspension(self, job: Object, ending: Ending | None) -> list[Object]:
        told, now = job_pods.told(job), timestamp(self._clock.now())
        was = conditions.is_true(told, SUSPENDED)
        if ending is not None or is_deleting(job) or job_pods.is_suspended(job) == was:
            return told
        status, reason, message = ("False", "JobResumed", "Job resumed") if was else ("True", "JobSuspended", "Job suspended")
        self._tell(job, "Normal", "Resumed" if was else SUSPENDED, message)
        return conditions.put(told, conditions.made(SUSPENDED, status, reason, message), now, "lastProbeTime")

    async def _write(self, job: Object, tally: Tally, account: Account, told: list[Object]) -> Object:
        """Write the status, if it says anything new."""
        before, now = job.get("status") or {}, timestamp(self._clock.now())
        is_asleep = conditions.is_true(told, SUSPENDED) and not completion.is_decided(told)
        began = "" if is_asleep else before.get("startTime") or now
        status = {
            **({"conditions": told} if told else {}),
            **({"startTime": began} if began else {}),
            **({"completionTime": now} if conditions.is_true(told, "Complete") else {}),
            **({"active": len(tally.active)} if tally.active else {}),
            "ready": sum(pod_template.is_ready(pod) for pod in tally.active),
            "terminating": len(tally.terminating),
            **account.fields(),
        }
        return job if status == before else await self._jobs.update({**job, "status": status}, "status")

    def _tell_end(self, job: Object, ending: Ending) -> None:
        if ending.is_success:
            self._tell(job, "Normal", "Completed", "Job completed")
        else:
            self._tell(job, "Warning", ending.reason, ending.message)

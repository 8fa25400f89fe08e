"""When a CronJob's next Job is due, and whether one is due now: arithmetic on its schedule and on when the last one was.

A Job that could not start in time, because nobody was there or because another one was still running, is made up for once: only
the last of the times that were missed counts. With a deadline, only times that are not longer ago than that count.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.lib import cron
from probate.lib.cron import Every, Schedule

MANY = 100
"""Times that are missed before people are told: the clock, or the schedule, may not be what they think."""


FAR = 1e9
"""Seconds from now that are as good as never. What somebody has written into a status may be later than there are years."""


class Plan(NamedTuple):
    """The time for which a Job is due now, if one is; whether many times were missed; the time after now."""

    due: datetime | None
    is_late: bool
    next: datetime | None


def zone(cron_job: Object) -> tzinfo:
    """The time zone of the schedule; `BadSchedule` if there is none of that name."""
    name = cron_job["spec"].get("timeZone")
    return cron.find_zone(name) if name else UTC


def plan(cron_job: Object, now: float) -> Plan:
    """What is due. `BadSchedule` if the schedule cannot be read."""
    schedule, moment = cron.parse(cron_job["spec"]["schedule"]), datetime.fromtimestamp(now, zone(cron_job))
    said = (cron_job.get("status") or {}).get("lastScheduleTime")
    last = seconds(said or cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        last = max(last, now - deadline)
    after = datetime.fromtimestamp(min(max(last, 0.0), now + FAR), moment.tzinfo)
    due = latest(schedule, after, moment)
    coming = schedule.next_after((due or after) if isinstance(schedule, Every) else moment)
    return Plan(due, due is not None and _are_many(schedule, after, due), coming)


def latest(schedule: Schedule, after: datetime, now: datetime) -> datetime | None:
    """The last time of the schedule that is later than `after` and not later than `now`."""
    if isinstance(schedule, Every):
        start, times = after.replace(microsecond=0), int((now - after).total_seconds()) // schedule.seconds
        return start + timedelta(seconds=times * schedule.seconds) if times > 0 else None
    # From now backwards, further each time, until something is found: years can be missed, and nobody wants to count them.
    back = timedelta(minutes=1)
    while True:
        since = max(after, now - back)
        found = schedule.next_after(since)
        if found is not None and found <= now:
            return _last(schedule, found, now)
        if since == after:
            return None
        back *= 2


def _last(schedule: Schedule, found: datetime, now: datetime) -> datetime:
    while True:
        following = schedule.next_after(found)
        if following is None or following > now:
            return found
        found = following


def _are_many(schedule: Schedule, after: datetime, due: datetime) -> bool:
    """Whether more than so many times lie between."""
    moment: datetime | None = after
    for _ in range(MANY + 1):
        moment = schedule.next_after(moment) if moment is not None else None
        if moment is None or moment >= due:
            return False
    return True

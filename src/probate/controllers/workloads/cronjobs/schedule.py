"""When a CronJob's next Job is due, and whether one is due now: arithmetic on the schedule and the last scheduled time.

A Job that could not start in time, because no controller ran or because an earlier Job was still active, is made up for once: only
the last of the missed times counts. With `startingDeadlineSeconds`, only times within the deadline count.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import parse_time
from probate.lib import cron
from probate.lib.cron import Every, Schedule

MANY_MISSED = 100
"""The number of missed times above which an event warns the user: the clock or the schedule may be wrong."""


FAR_FUTURE_SECONDS = 1e9
"""Seconds from now that count as never. A time that a client wrote into a status may lie beyond the last year that a datetime can
hold.
"""


class ScheduleTimes(NamedTuple):
    """The time for which a Job is due now, if any; whether many times were missed; and the next time after now."""

    due: datetime | None
    has_many_missed: bool
    next: datetime | None


def time_zone(cron_job: Object) -> tzinfo:
    """Returns the time zone of the schedule. Raises `BadSchedule` if the zone does not exist."""
    name = cron_job["spec"].get("timeZone")
    return cron.find_zone(name) if name else UTC


def schedule_times(cron_job: Object, now: float) -> ScheduleTimes:
    """Returns what is due. Raises `BadSchedule` if the schedule cannot be parsed."""
    schedule, moment = cron.parse(cron_job["spec"]["schedule"]), datetime.fromtimestamp(now, time_zone(cron_job))
    last_schedule_time = (cron_job.get("status") or {}).get("lastScheduleTime")
    last = parse_time(last_schedule_time or cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        last = max(last, now - deadline)
    after = datetime.fromtimestamp(min(max(last, 0.0), now + FAR_FUTURE_SECONDS), moment.tzinfo)
    due = latest_time(schedule, after, moment)
    next_time = schedule.next_after((due or after) if isinstance(schedule, Every) else moment)
    return ScheduleTimes(due, due is not None and _has_many_between(schedule, after, due), next_time)


def latest_time(schedule: Schedule, after: datetime, now: datetime) -> datetime | None:
    """Returns the last time of the schedule that is later than `after` and not later than `now`."""
    if isinstance(schedule, Every):
        start, times = after.replace(microsecond=0), int((now - after).total_seconds()) // schedule.seconds
        return start + timedelta(seconds=times * schedule.seconds) if times > 0 else None
    # Search backwards from now in doubling steps: years of times can be missed, and counting them all would be slow.
    back = timedelta(minutes=1)
    while True:
        since = max(after, now - back)
        candidate = schedule.next_after(since)
        if candidate is not None and candidate <= now:
            return _last_before(schedule, candidate, now)
        if since == after:
            return None
        back *= 2


def _last_before(schedule: Schedule, candidate: datetime, now: datetime) -> datetime:
    while True:
        following = schedule.next_after(candidate)
        if following is None or following > now:
            return candidate
        candidate = following


def _has_many_between(schedule: Schedule, after: datetime, due: datetime) -> bool:
    """Returns whether more than `MANY_MISSED` times lie between the two."""
    moment: datetime | None = after
    for _ in range(MANY_MISSED + 1):
        moment = schedule.next_after(moment) if moment is not None else None
        if moment is None or moment >= due:
            return False
    return True

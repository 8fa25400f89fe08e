"""Limits how many requests the server answers at once, and how many of them belong to one user.

Two resources are scarce: the slots of requests in flight, and connections. A watch, and a request that waits for its own body, need
little work but hold a connection for long; all other requests need work and are over soon. So there are two limits, each shared
fairly between users (`fair_limit`), and part of the connections is reserved:

    reserve      a twentieth for health checks, metrics and the version; counted by address, as they may be anonymous
    reserve      a twentieth that only administrators (members of `system:masters`) may use in addition
    the rest     all users; no user gets more than twice as many as are free

The users of a tenant count as one user: a tenant can make as many service accounts as it likes.

A request takes its slot once its user is known, so that authenticating others takes no slot from known users. Without
authentication (`--insecure`) all requests have the same user, so nothing can be shared between users.
"""

from __future__ import annotations

from typing import TypeAlias

from probate.api.rbac.users import UNSECURED, User
from probate.core import errors
from probate.core.aio.deadlines import Task
from probate.core.errors import Details
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import LimitLog
from probate.settings import DEFAULT_MAX_CONNECTIONS

MAX_IN_FLIGHT = 400
"""Requests that are answered at once. A watch counts only until it has begun."""
EXTRA_ADMINISTRATOR_REQUESTS = 40
"""The number of additional slots for administrators."""
FAIR_SHARE_FACTOR = 2
"""A user gets at most this many times the number of free slots."""
HEALTH_PATHS = ("/livez", "/readyz", "/healthz", "/metrics", "/version")
"""Paths that report the server's state: they are answered from their own reserve."""

_Slot: TypeAlias = "tuple[FairLimit, str, User]"
"""The slot of a request: its limit, the name that it counts for, and its user. (A plain tuple, since every request creates one.)"""


def reserved_connections(max_connections: int) -> int:
    """Returns the number of connections that are reserved for health checks, and again for administrators."""
    return max(2, max_connections // 20)


class RequestLimits:
    """Limits the requests of one server."""

    def __init__(
        self, log: LimitLog, *, max_connections: int = DEFAULT_MAX_CONNECTIONS, max_in_flight: int = MAX_IN_FLIGHT
    ) -> None:
        reserved = reserved_connections(max_connections)
        self._log = log
        self._shared_connections = max(1, max_connections - 2 * reserved)
        self._administrator_connections = max(1, max_connections - reserved)
        self._in_flight = FairLimit(min(max_in_flight, self._shared_connections), factor=FAIR_SHARE_FACTOR)
        self._long_running = FairLimit(self._shared_connections, factor=FAIR_SHARE_FACTOR)
        self._health = FairLimit(reserved, factor=FAIR_SHARE_FACTOR)
        self._slots: dict[Task, _Slot] = {}
        self._connections: dict[Task, str] = {}
        # Fast path: with fewer requests in flight than this, no user can exceed a fair share, so nothing is checked.
        self._fairness_threshold = self._in_flight.limit * FAIR_SHARE_FACTOR // (FAIR_SHARE_FACTOR + 1)

    def begin(self, task: Task, user: User, *, path: str, address: str) -> None:
        """Takes a slot for a request whose user is known. Raises `TooManyRequests` if there is none."""
        limit, holder = self._in_flight, _holder(user)
        if not path.startswith("/api") and path.startswith(HEALTH_PATHS):
            limit, holder = self._health, address
            if not limit.can_take(holder):
                raise self._refusal("health checks", limit, address=address)
        elif limit.total >= self._fairness_threshold or limit.total + self._long_running.total >= self._shared_connections:
            self._check_slot(user)
        self._slots[task] = limit, holder, user
        limit.take(holder)

    def _check_slot(self, user: User) -> None:
        limit, connections = self._in_flight, self._in_flight.total + self._long_running.total
        if _is_administrator(user):
            is_free = limit.total < limit.limit + EXTRA_ADMINISTRATOR_REQUESTS and connections < self._administrator_connections
        else:
            is_free = limit.total < limit.limit and connections < self._shared_connections
            is_free = is_free and (user is UNSECURED or limit.can_take(_holder(user)))
        if not is_free:
            raise self._refusal("requests under way", limit, user=_holder(user))

    def end(self, task: Task, *, is_watching: bool) -> None:
        """Releases the slot, as the request is answered. A watch keeps its connection until `release_connection`."""
        slot = self._slots.pop(task, None)
        if slot is not None:
            slot[0].release(slot[1])
        if not is_watching and self._connections:
            self.release_connection(task)

    def hold_connection(self, task: Task) -> None:
        """Marks the request as one that holds its connection for long. Raises `TooManyRequests` if no more are allowed."""
        limit, slot = self._long_running, self._slots.get(task)
        if slot is None:
            return
        user = slot[2]
        if _is_administrator(user):
            is_free = limit.total < self._administrator_connections
        else:
            is_free = limit.total < limit.limit if user is UNSECURED else limit.can_take(_holder(user))
        if not is_free:
            raise self._refusal("long-running requests", limit, user=_holder(user))
        self._connections[task] = _holder(user)
        limit.take(_holder(user))

    def release_connection(self, task: Task) -> None:
        """Ends what `hold_connection` began."""
        name = self._connections.pop(task, None)
        if name is not None:
            self._long_running.release(name)

    def suspend(self, task: Task) -> _Slot | None:
        """Gives the slot back while the request waits for its own body. Returns the slot for `resume`."""
        slot = self._slots.pop(task, None)
        if slot is not None:
            slot[0].release(slot[1])
        return slot

    def resume(self, task: Task, slot: _Slot | None) -> None:
        """Takes the slot again. (Never refuses: the request was admitted once, and its work would be wasted.)"""
        if slot is not None:
            self._slots[task] = slot
            slot[0].take(slot[1])

    def _refusal(self, subject: str, limit: FairLimit, **labels: str) -> errors.TooManyRequests:
        (holder,) = labels.values()
        self._log.record(subject, **labels, own=limit.count(holder), total=limit.total, of=limit.limit)
        message = f"too many {subject}, please try again in a second"
        return errors.TooManyRequests(message, Details(retry_after_seconds=1))


def _holder(user: User) -> str:
    """Returns the name for which a request of this user counts."""
    return f"tenant {user.tenant}" if user.tenant else user.name


def _is_administrator(user: User) -> bool:
    return user.is_superuser and user is not UNSECURED

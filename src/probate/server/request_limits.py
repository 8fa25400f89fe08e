"""Limits how many requests a server answers at once, and how many of these one user has.

Two things are scarce: the places of requests that are being worked on, and connections. A watch, and a request that waits for its
own body, need hardly any work and hold a connection for long; all others need work and are over soon. So there are two limits, each
shared fairly between users (`fair_limit`), and a part of the connections is left free:

    reserve      a twentieth for health checks, metrics and the version, counted by address, as they may come from nobody
    reserve      a twentieth that only administrators (members of `system:masters`) may use besides
    the rest     everybody, no user more than twice as many as are free

A request takes its place when it is known who asks: what has to be done to find that out takes no place of those who are known.
Without credentials (`--insecure`) everybody is the same user, so nothing can be shared between users.
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

MAX_UNDER_WAY = 400
"""Requests that are being answered at once. A watch counts only until it has begun."""
ADMINISTRATORS = 40
"""As many more of administrators."""
FACTOR = 2
"""A user has at most so many times as many as are free."""
ALWAYS = ("/livez", "/readyz", "/healthz", "/metrics", "/version")
"""Paths that say how the server is: they are answered from a reserve of their own."""

_Place: TypeAlias = "tuple[FairLimit, str, User]"
"""What a request has taken: of which limit, in whose name, and by whom. (A plain tuple: one is made with every request.)"""


def reserve(max_connections: int) -> int:
    """How many connections are kept for health checks, and as many again for administrators."""
    return max(2, max_connections // 20)


class RequestLimits:
    """The requests of one server."""

    def __init__(
        self, log: LimitLog, *, max_connections: int = DEFAULT_MAX_CONNECTIONS, max_under_way: int = MAX_UNDER_WAY
    ) -> None:
        kept = reserve(max_connections)
        self._log = log
        self._shared = max(1, max_connections - 2 * kept)
        self._administrators = max(1, max_connections - kept)
        self._under_way = FairLimit(min(max_under_way, self._shared), factor=FACTOR)
        self._long = FairLimit(self._shared, factor=FACTOR)
        self._health = FairLimit(kept, factor=FACTOR)
        self._places: dict[Task, _Place] = {}
        self._connections: dict[Task, str] = {}
        self._ample = self._under_way.limit * FACTOR // (FACTOR + 1)  # below that no user can have too many

    def begin(self, task: Task, user: User, *, path: str, address: str) -> None:
        """A request whose user is known is to be answered. `TooManyRequests` if there is no place for it."""
        limit, holder = self._under_way, user.name
        if not path.startswith("/api") and path.startswith(ALWAYS):
            limit, holder = self._health, address
            if not limit.admits(holder):
                raise self._refusal("health checks", limit, address=address)
        elif limit.total >= self._ample or limit.total + self._long.total >= self._shared:
            self._check_place(user)
        self._places[task] = limit, holder, user
        limit.take(holder)

    def _check_place(self, user: User) -> None:
        limit, busy = self._under_way, self._under_way.total + self._long.total
        if _is_administrator(user):
            is_free = limit.total < limit.limit + ADMINISTRATORS and busy < self._administrators
        else:
            is_free = limit.total < limit.limit and busy < self._shared
            is_free = is_free and (user is UNSECURED or limit.admits(user.name))
        if not is_free:
            raise self._refusal("requests under way", limit, user=user.name)

    def end(self, task: Task, *, is_watching: bool) -> None:
        """The request is answered. If it is a watch, it goes on to hold its connection until `let_go`."""
        place = self._places.pop(task, None)
        if place is not None:
            place[0].release(place[1])
        if not is_watching and self._connections:
            self.let_go(task)

    def hold(self, task: Task) -> None:
        """The request will hold its connection for long. `TooManyRequests` if no more may."""
        limit, place = self._long, self._places.get(task)
        if place is None:
            return
        user = place[2]
        if _is_administrator(user):
            is_free = limit.total < self._administrators
        else:
            is_free = limit.total < limit.limit if user is UNSECURED else limit.admits(user.name)
        if not is_free:
            raise self._refusal("long-running requests", limit, user=user.name)
        self._connections[task] = user.name
        limit.take(user.name)

    def let_go(self, task: Task) -> None:
        """It does not hold its connection any more."""
        name = self._connections.pop(task, None)
        if name is not None:
            self._long.release(name)

    def leave(self, task: Task) -> _Place | None:
        """The request waits for something of its own, and needs no place meanwhile. Returns what `come_back` wants."""
        place = self._places.pop(task, None)
        if place is not None:
            place[0].release(place[1])
        return place

    def come_back(self, task: Task, place: _Place | None) -> None:
        """It goes on. (It was admitted once: to refuse it now would waste what was done for it.)"""
        if place is not None:
            self._places[task] = place
            place[0].take(place[1])

    def _refusal(self, what: str, limit: FairLimit, **whose: str) -> errors.TooManyRequests:
        (holder,) = whose.values()
        self._log.reached(what, **whose, own=limit.held_by(holder), total=limit.total, of=limit.limit)
        told = f"too many {what}, please try again in a second"
        return errors.TooManyRequests(told, Details(retry_after_seconds=1))


def _is_administrator(user: User) -> bool:
    return user.is_master and user is not UNSECURED

"""Follows a Tenant until the caller has seen enough: what a command that waits knows of it, one observation after the other.

There are three observations: the Tenant, `GONE`, and an error. `GONE` is only what the server says about this Tenant: a 404 that
names it, a watch that reports its deletion, or another Tenant of its name. Every error means that the state is not known now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from probate.api import tenants
from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.core import errors

if TYPE_CHECKING:
    from probate.cli.context import CommandClock
    from probate.client.http_client import HttpClient

TENANTS = GroupVersionResource(tenants.GROUP, tenants.VERSION, tenants.TENANTS.resource)
WATCH_SECONDS = 30.0
"""How long one watch lasts. Afterwards the Tenant is read again."""
RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 5.0

GONE: Final = None
Observation: TypeAlias = Object | errors.ApiError | None


class TenantStates:
    """The states of one Tenant, until `seconds` have passed. If `uid` is given, a Tenant with another one means that it is gone."""

    def __init__(self, client: HttpClient, name: str, clock: CommandClock, *, uid: str = "", seconds: float) -> None:
        self._client = client
        self._name = name
        self._clock = clock
        self._uid = uid
        self._end = clock.monotonic() + seconds

    def __iter__(self) -> Iterator[Observation]:
        retry_seconds = RETRY_SECONDS
        while self._seconds_left > 0:
            try:
                for observation in self._read_and_watch():
                    retry_seconds = RETRY_SECONDS
                    yield observation
            except errors.ApiError as error:
                yield error
            self._clock.sleep(min(retry_seconds, max(0.0, self._seconds_left)))
            retry_seconds = min(2 * retry_seconds, MAX_RETRY_SECONDS)

    @property
    def _seconds_left(self) -> float:
        return self._end - self._clock.monotonic()

    def _read_and_watch(self) -> Iterator[Observation]:
        tenant = find_tenant(self._client, self._name)
        if tenant is None or self._uid not in {"", tenant["metadata"]["uid"]}:
            yield GONE
            return
        yield tenant
        meta = tenant["metadata"]
        query = {"fieldSelector": f"metadata.name={self._name}", "resourceVersion": meta["resourceVersion"]}
        for event in self._client.watch(TENANTS, query, seconds=min(WATCH_SECONDS, max(1.0, self._seconds_left))):
            is_deleted = event.type == "DELETED" and event.object["metadata"]["uid"] == meta["uid"]
            yield GONE if is_deleted else event.object
            if is_deleted:
                return


def find_tenant(client: HttpClient, name: str) -> Object | None:
    """Returns a Tenant; None if the server says that there is none. Raises an `ApiError` if that is not known."""
    try:
        return client.get(TENANTS.path("", name))
    except errors.NotFound as error:
        details = error.details
        if isinstance(error, errors.PathNotFound) or (details.kind, details.name) != (TENANTS.plural, name):
            raise
        return None


def no_such_tenant(name: str) -> errors.CannotOpen:
    """The tenant that a command is about does not exist."""
    return errors.CannotOpen(f"there is no tenant {name}. List them with: probate tenant list")

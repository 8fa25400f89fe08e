"""Whether the process lives and can serve, in the words of Kubernetes' health endpoints.

`/livez` says that the process should not be restarted, `/readyz` that requests will be answered, `/healthz` is the old name
of both together. Each check has a name and a path of its own (`/readyz/store`); `?verbose` lists them all. A failed check
makes the answer 500 and is listed in any case, with its reason; those that `?exclude=` names are not asked. What works beside the
requests, such as the collector, is asked through `Api.readiness`: whoever starts it says there how to ask.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from probate import errors
from probate.server.api import Api

CHECKS = {"livez": ("ping",), "readyz": ("ping", "store"), "healthz": ("ping", "store")}


class Finding(NamedTuple):
    """What one check found: `problem` is None if all is well, or nobody wanted to know."""

    name: str
    problem: str | None
    is_excluded: bool = False

    def __str__(self) -> str:
        well = "excluded: ok" if self.is_excluded else "ok"
        return f"[+]{self.name} {well}" if self.problem is None else f"[-]{self.name} failed: {self.problem}"


async def examine(api: Api, endpoint: str, only: str, excluded: Collection[str] = ()) -> list[Finding] | None:
    """Run the endpoint's checks, or only the one of this name; None if there is no such check."""
    names = CHECKS[endpoint] if endpoint == "livez" else (*CHECKS[endpoint], *api.readiness)
    wanted = [name for name in names if only in {"", name}]
    return [
        Finding(one, None, is_excluded=True) if one in excluded else Finding(one, await _problem(api, one)) for one in wanted
    ] or None


def render(endpoint: str, findings: list[Finding], *, is_verbose: bool) -> tuple[int, bytes]:
    """The code and text to answer with."""
    is_well = all(finding.problem is None for finding in findings)
    if is_well and not is_verbose:
        return 200, b"ok"
    lines = [*map(str, findings), f"{endpoint} check {'passed' if is_well else 'failed'}"]
    return 200 if is_well else 500, ("\n".join(lines) + "\n").encode()


async def _problem(api: Api, name: str) -> str | None:
    if name in api.readiness:
        return api.readiness[name]()
    if name == "store":
        try:
            await api.store.check()
        except errors.ApiError as error:
            return str(error)
    return None

"""Whether the process lives and can serve, in the words of Kubernetes' health endpoints.

`/livez` says that the process should not be restarted, `/readyz` that requests will be answered, `/healthz` is the old name
of both together. Each check has a name and a path of its own (`/readyz/store`); `?verbose` lists them all. A failed check
makes the answer 500 and is listed in any case, with its reason; those that `?exclude=` names are not asked. What works beside the
requests, such as the collector, is asked through `Api.readiness`: whoever starts it says there how to ask.

Clients ask for some checks by the names that Kubernetes gave them: what has another name here, the store, has both. Every check but
`ping` can fail. What is done once, before the server answers anybody, cannot fail any more, so it has no check: kube-apiserver's
`poststarthook/…` are not there.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from probate.core import errors
from probate.server.context import Api
from probate.server.objects import damage_reports

CHECKS = {"livez": ("ping", "log"), "readyz": ("ping", "log", "etcd", "store"), "healthz": ("ping", "log", "etcd", "store")}
STORE = frozenset({"store", "etcd"})
"""A store that does not answer is no reason to start the process anew: `/livez` asks for it only where it is named."""


class Finding(NamedTuple):
    """What one check found: `problem` is None if all is well, or nobody wanted to know."""

    name: str
    problem: str | None
    is_excluded: bool = False
    detail: str = ""  # what is worth knowing although all is well

    def __str__(self) -> str:
        well = "excluded: ok" if self.is_excluded else f"ok: {self.detail}" if self.detail else "ok"
        return f"[+]{self.name} {well}" if self.problem is None else f"[-]{self.name} failed: {self.problem}"


async def examine(api: Api, endpoint: str, only: str, excluded: Collection[str] = ()) -> list[Finding] | None:
    """Run the endpoint's checks, or only the one of this name; None if there is no such check."""
    wanted = [name for name in names(api, endpoint) if only in {"", name}]
    if only in STORE and not wanted:
        wanted = [only]
    problem = await _problem_of_store(api) if any(one in STORE and one not in excluded for one in wanted) else None
    return [Finding(one, None, is_excluded=True) if one in excluded else _finding(api, one, problem) for one in wanted] or None


def _finding(api: Api, name: str, problem: str | None) -> Finding:
    """What one check finds, where this is the problem of the store. Damaged objects keep nobody from using the others."""
    if name not in STORE:
        return Finding(name, _problem(api, name))
    return Finding(name, problem, detail=damage_reports.detail(api.store) if name == "store" else "")


def names(api: Api, endpoint: str) -> tuple[str, ...]:
    """The checks that the endpoint asks for."""
    return CHECKS[endpoint] + (() if endpoint == "livez" else tuple(api.readiness))


def render(endpoint: str, findings: list[Finding], *, is_verbose: bool) -> tuple[int, bytes]:
    """The code and text to answer with."""
    is_well = all(finding.problem is None for finding in findings)
    if is_well and not is_verbose:
        return 200, b"ok"
    lines = [*map(str, findings), f"{endpoint} check {'passed' if is_well else 'failed'}"]
    return 200 if is_well else 500, ("\n".join(lines) + "\n").encode()


def _problem(api: Api, name: str) -> str | None:
    if name in api.readiness:
        return api.readiness[name]()
    return _problem_of_log() if name == "log" else None


def _problem_of_log() -> str | None:
    """What is wrong if what was logged does not get out."""
    try:
        for handler in logging.getLogger().handlers:
            handler.flush()
    except (OSError, ValueError) as error:
        return f"the log cannot be written: {error}"
    return None


async def _problem_of_store(api: Api) -> str | None:
    try:
        await api.store.check()
    except errors.ApiError as error:
        return str(error)
    return None

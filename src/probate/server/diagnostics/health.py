"""The health endpoints `/livez`, `/readyz` and `/healthz`, as in Kubernetes.

`/livez` reports that the process need not be restarted, `/readyz` that the server answers requests, `/healthz` is the old name of
both together. Each check has a name and a path of its own (`/readyz/store`); `?verbose` lists all checks. A failed check makes the
response 500 and is always listed, with its reason; checks named by `?exclude=` are not run. Background work, such as the collector,
registers its check in `ServerContext.readiness_checks`.

The store check has two names, `store` and Kubernetes' `etcd`, because clients ask for the latter. Every check but `ping` can fail.
kube-apiserver's `poststarthook/…` checks do not exist here: Probate completes startup work before it accepts requests.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from probate.core import errors
from probate.server.context import ServerContext
from probate.server.objects import damage_reports

CHECKS = {"livez": ("ping", "log"), "readyz": ("ping", "log", "etcd", "store"), "healthz": ("ping", "log", "etcd", "store")}
STORE_CHECKS = frozenset({"store", "etcd"})
"""A store that does not respond is not a reason to restart the process, so `/livez` runs these checks only if they are named."""


class CheckResult(NamedTuple):
    """The result of one check. `problem` is None if the check passed or was excluded."""

    name: str
    problem: str | None
    is_excluded: bool = False
    detail: str = ""  # information that does not fail the check

    def __str__(self) -> str:
        text = "excluded: ok" if self.is_excluded else f"ok: {self.detail}" if self.detail else "ok"
        return f"[+]{self.name} {text}" if self.problem is None else f"[-]{self.name} failed: {self.problem}"


async def run_checks(api: ServerContext, endpoint: str, only: str, excluded: Collection[str] = ()) -> list[CheckResult] | None:
    """Runs the endpoint's checks, or only the check named `only`. Returns None if there is no such check."""
    selected = [name for name in check_names(api, endpoint) if only in {"", name}]
    if only in STORE_CHECKS and not selected:
        selected = [only]
    store_problem = await _store_problem(api) if any(name in STORE_CHECKS and name not in excluded for name in selected) else None
    return [
        CheckResult(name, None, is_excluded=True) if name in excluded else _run_check(api, name, store_problem) for name in selected
    ] or None


def _run_check(api: ServerContext, name: str, store_problem: str | None) -> CheckResult:
    """Runs one check, given the store's problem. Damaged objects do not fail the store check: all other objects can be used."""
    if name not in STORE_CHECKS:
        return CheckResult(name, _problem(api, name))
    return CheckResult(name, store_problem, detail=damage_reports.health_detail(api.store) if name == "store" else "")


def check_names(api: ServerContext, endpoint: str) -> tuple[str, ...]:
    """Returns the names of the endpoint's checks."""
    return CHECKS[endpoint] + (() if endpoint == "livez" else tuple(api.readiness_checks))


def render(endpoint: str, results: list[CheckResult], *, is_verbose: bool) -> tuple[int, bytes]:
    """Returns the HTTP status code and the text of the response."""
    has_passed = all(result.problem is None for result in results)
    if has_passed and not is_verbose:
        return 200, b"ok"
    lines = [*map(str, results), f"{endpoint} check {'passed' if has_passed else 'failed'}"]
    return 200 if has_passed else 500, ("\n".join(lines) + "\n").encode()


def _problem(api: ServerContext, name: str) -> str | None:
    if name in api.readiness_checks:
        return api.readiness_checks[name]()
    return _log_problem() if name == "log" else None


def _log_problem() -> str | None:
    """Flushes the log handlers and returns what fails, or None."""
    try:
        for handler in logging.getLogger().handlers:
            handler.flush()
    except (OSError, ValueError) as error:
        return f"the log cannot be written: {error}"
    return None


async def _store_problem(api: ServerContext) -> str | None:
    try:
        await api.store.check()
    except errors.ApiError as error:
        return str(error)
    return None

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
from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

from probate.core import errors
from probate.server.objects import damage_reports
from probate.store.contract import Store

ReadinessChecks: TypeAlias = dict[str, Callable[[], str | None]]
"""Checks of background work, by name. Each returns what is wrong, or None."""

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


async def run_checks(
    store: Store, readiness_checks: ReadinessChecks, endpoint: str, *, only: str = "", excluded: Collection[str] = ()
) -> list[CheckResult] | None:
    """Runs the endpoint's checks, or only the check named `only`. Returns None if there is no such check."""
    selected = [name for name in check_names(readiness_checks, endpoint) if only in {"", name}]
    if only in STORE_CHECKS and not selected:
        selected = [only]
    store_problem = await _store_problem(store) if any(name in STORE_CHECKS and name not in excluded for name in selected) else None
    return [
        CheckResult(name, None, is_excluded=True)
        if name in excluded
        else _store_result(store, name, store_problem)
        if name in STORE_CHECKS
        else CheckResult(name, _problem(readiness_checks, name))
        for name in selected
    ] or None


def _store_result(store: Store, name: str, problem: str | None) -> CheckResult:
    """Returns the result of a store check. Damaged objects do not fail it: all other objects can be used."""
    return CheckResult(name, problem, detail=damage_reports.health_detail(store) if name == "store" else "")


def check_names(readiness_checks: ReadinessChecks, endpoint: str) -> tuple[str, ...]:
    """Returns the names of the endpoint's checks."""
    return CHECKS[endpoint] + (() if endpoint == "livez" else tuple(readiness_checks))


def render(endpoint: str, results: list[CheckResult], *, is_verbose: bool) -> tuple[int, bytes]:
    """Returns the HTTP status code and the text of the response."""
    has_passed = all(result.problem is None for result in results)
    if has_passed and not is_verbose:
        return 200, b"ok"
    lines = [*map(str, results), f"{endpoint} check {'passed' if has_passed else 'failed'}"]
    return 200 if has_passed else 500, ("\n".join(lines) + "\n").encode()


def _problem(readiness_checks: ReadinessChecks, name: str) -> str | None:
    if name in readiness_checks:
        return readiness_checks[name]()
    return _log_problem() if name == "log" else None


def _log_problem() -> str | None:
    """Flushes the log handlers and returns what fails, or None."""
    try:
        for handler in logging.getLogger().handlers:
            handler.flush()
    except (OSError, ValueError) as error:
        return f"the log cannot be written: {error}"
    return None


async def _store_problem(store: Store) -> str | None:
    try:
        await store.check()
    except errors.ApiError as error:
        return str(error)
    return None

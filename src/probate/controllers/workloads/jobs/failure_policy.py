"""What a Job says about which failures matter, and which successes are enough."""

from __future__ import annotations

from collections.abc import Iterable

from probate.client.objects import Object
from probate.controllers.workloads.jobs import completed_indexes


def action(job: Object, pod: Object) -> tuple[str, str]:
    """What the first rule that fits a failed pod says is to be done, and why. Without one, the failure counts."""
    for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        why = _exit_code(rule.get("onExitCodes"), pod) or _condition(rule.get("onPodConditions") or (), pod)
        if why:
            meta = pod["metadata"]
            return rule[
                "action"
            ], f"{why.format(pod=meta['namespace'] + '/' + meta['name'])} matching {rule['action']} rule at index {number}"
    return "Count", ""


def is_ignored(job: Object, pod: Object) -> bool:
    """Whether the pod's failure is none."""
    return action(job, pod)[0] == "Ignore"


def _exit_code(wanted: Object | None, pod: Object) -> str:
    status = pod.get("status") or {}
    if wanted is None:
        return ""
    for one in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
        if wanted.get("containerName") not in {None, one["name"]}:
            continue
        code = ((one.get("state") or {}).get("terminated") or {}).get("exitCode")
        if code and (code in wanted["values"]) == (wanted["operator"] == "In"):
            return f"Container {one['name']} for pod {{pod}} failed with exit code {code}"
    return ""


def _condition(patterns: Iterable[Object], pod: Object) -> str:
    there = {(one["type"], one["status"]) for one in (pod.get("status") or {}).get("conditions") or ()}
    for pattern in patterns:
        if (pattern["type"], pattern.get("status") or "True") in there:
            return f"Pod {{pod}} has condition {pattern['type']}"
    return ""


def enough(job: Object, succeeded: set[int]) -> str:
    """Which rule says that the indexes that succeeded are enough; nothing if none does."""
    for number, rule in enumerate((job["spec"].get("successPolicy") or {}).get("rules") or ()):
        wanted = rule.get("succeededIndexes")
        asked = completed_indexes.read(wanted, job["spec"]["completions"]) if wanted is not None else None
        met = succeeded if asked is None else succeeded & asked
        least = rule.get("succeededCount")
        if len(met) >= (least if least is not None else len(asked or ())):
            return f"Matched rules at index {number}"
    return ""

"""Evaluates a Job's podFailurePolicy and successPolicy."""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object
from probate.controllers.workloads.jobs import completed_indexes


def failure_action(job: Object, pod: Object) -> tuple[str, str]:
    """Returns the action of the first rule that matches a failed pod, and the message. Without a match the failure counts."""
    for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        message = _match_exit_code(rule.get("onExitCodes"), pod) or _match_conditions(rule.get("onPodConditions") or (), pod)
        if message:
            meta = pod["metadata"]
            subject = message.format(pod=f"{meta['namespace']}/{meta['name']}")
            return rule["action"], f"{subject} matching {rule['action']} rule at index {number}"
    return "Count", ""


def is_ignored(job: Object, pod: Object) -> bool:
    """Returns whether the policy ignores the pod's failure."""
    return failure_action(job, pod)[0] == "Ignore"


def _match_exit_code(requirement: Object | None, pod: Object) -> str:
    status = pod.get("status") or {}
    if requirement is None:
        return ""
    for container_status in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
        if requirement.get("containerName") not in {None, container_status["name"]}:
            continue
        code = ((container_status.get("state") or {}).get("terminated") or {}).get("exitCode")
        if code and (code in requirement["values"]) == (requirement["operator"] == "In"):
            return f"Container {container_status['name']} for pod {{pod}} failed with exit code {code}"
    return ""


def _match_conditions(patterns: Iterable[Object], pod: Object) -> str:
    pod_conditions = {(condition["type"], condition["status"]) for condition in (pod.get("status") or {}).get("conditions") or ()}
    for pattern in patterns:
        if (pattern["type"], pattern.get("status") or "True") in pod_conditions:
            return f"Pod {{pod}} has condition {pattern['type']}"
    return ""


def matching_success_rule(job: Object, succeeded: set[int]) -> str:
    """Returns which rule says that the succeeded indexes suffice, or an empty string if none does."""
    for number, rule in enumerate((job["spec"].get("successPolicy") or {}).get("rules") or ()):
        index_text = rule.get("succeededIndexes")
        required = completed_indexes.parse_indexes(index_text, job["spec"]["completions"]) if index_text is not None else None
        matching = succeeded if required is None else succeeded & required
        required_count = rule.get("succeededCount")
        if len(matching) >= (required_count if required_count is not None else len(required or ())):
            return f"Matched rules at index {number}"
    return ""

"""Describes the remaining content of a scope that is being deleted: what remains, which finalizers hold it, and what failed.

A namespace has five conditions, all of them from the first reconcile on:

    type                                          true                         false
    NamespaceDeletionDiscoveryFailure             DiscoveryFailed              ResourcesDiscovered
    NamespaceDeletionGroupVersionParsingFailure   GroupVersionParsingFailed    ParsedGroupVersions
    NamespaceDeletionContentFailure               ContentDeletionFailed        ContentDeleted
    NamespaceContentRemaining                     SomeResourcesRemain          ContentRemoved
    NamespaceFinalizersRemaining                  SomeFinalizersRemain         ContentHasNoFinalizers

The first two are never true here: the content of a namespace is listed from the store, not by asking which kinds are served.
A Tenant has the other three, whose names begin with `Tenant` instead. Its condition Ready is False, and those that say other things
about it stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.controllers.namespaces.content_deletion import RemainingContent

Condition = dict[str, Any]

MAX_NAMED = 10
"""Damaged objects that a message names."""


class _Wording(NamedTuple):
    type: str
    topic: str
    reason_if_true: str
    reason_if_false: str
    message_if_false: str


_WORDINGS = (
    _Wording(
        "NamespaceDeletionDiscoveryFailure", "", "DiscoveryFailed", "ResourcesDiscovered", "All resources successfully discovered"
    ),
    _Wording(
        "NamespaceDeletionGroupVersionParsingFailure",
        "",
        "GroupVersionParsingFailed",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    _Wording(
        "NamespaceDeletionContentFailure",
        "failures",
        "ContentDeletionFailed",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    _Wording("NamespaceContentRemaining", "content", "SomeResourcesRemain", "ContentRemoved", "All content successfully removed"),
    _Wording(
        "NamespaceFinalizersRemaining",
        "finalizers",
        "SomeFinalizersRemain",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
)

_TENANT_TYPES = {
    "failures": "TenantContentDeletionFailure",
    "content": "TenantContentRemaining",
    "finalizers": "TenantFinalizersRemaining",
}
_TENANT_WORDINGS = tuple(wording._replace(type=_TENANT_TYPES[wording.topic]) for wording in _WORDINGS if wording.topic)


def of_namespace(before: list[Condition], remaining: RemainingContent | None, now: str) -> list[Condition]:
    """Returns the conditions of a namespace with this remaining content (None: none).

    Conditions of other types stay as they are.
    """
    return _updated(before, _WORDINGS, _messages(remaining, _resources), now=now)


def of_tenant(
    before: list[Condition], remaining: RemainingContent | None, now: str, *, holders: Sequence[str] = ()
) -> list[Condition]:
    """Returns the conditions of a Tenant with this remaining content (None: none). `holders` are the Tenant's other finalizers."""
    messages = _messages(remaining, _named_resources)
    if remaining is None and holders:
        messages["finalizers"] = f"The Tenant has finalizers: {', '.join(holders)}"
    return _updated(tenants.terminating_conditions(before, now), _TENANT_WORDINGS, messages, now=now)


def _updated(before: list[Condition], wordings: Sequence[_Wording], messages: dict[str, str], *, now: str) -> list[Condition]:
    known = {condition.get("type"): condition for condition in before}
    ours = [_condition(wording, messages.get(wording.topic, ""), known.get(wording.type), now=now) for wording in wordings]
    types = {wording.type for wording in wordings}
    return [*ours, *(condition for condition in before if condition.get("type") not in types)]


def describe_objects(remaining: RemainingContent) -> str:
    """Describes the remaining objects of one kind, and the finalizers that hold them."""
    count, failed = remaining.resources.total(), remaining.failures.total()
    parts = [f"{count} objects of the kind are remaining"]
    if remaining.finalizers:
        parts.append(f"finalizers are remaining: {_finalizers(remaining.finalizers)}")
    if failed:
        parts.append(f"{failed} could not be deleted and will be retried")
    if remaining.damaged:
        parts.append(_damaged(remaining.damaged))
    return "; ".join(parts)


def _messages(remaining: RemainingContent | None, describe: Callable[[Counter[GroupResource]], str]) -> dict[str, str]:
    """Returns the messages of the conditions that are true, by topic. `describe` names resources."""
    messages: dict[str, str] = {}
    if remaining is None:
        return messages
    if remaining.failures:
        failure = f"Some content could not be deleted: {describe(remaining.failures)}"
        messages["failures"] = f"{failure}; {_damaged(remaining.damaged)}" if remaining.damaged else failure
    if resources := remaining.resources + remaining.later:
        messages["content"] = f"Some resources are remaining: {describe(resources)}"
    if remaining.finalizers:
        messages["finalizers"] = f"Some finalizers are remaining: {_finalizers(remaining.finalizers)}"
    return messages


def _damaged(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"damaged stored data: {', '.join(names[:MAX_NAMED])}{more}"


def _resources(counts: Counter[GroupResource]) -> str:
    named = {f"{resource.resource}.{resource.group}": count for resource, count in counts.items()}
    return ", ".join(f"{name} has {count} resource instances" for name, count in sorted(named.items()))


def _named_resources(counts: Counter[GroupResource]) -> str:
    """The same without the dot that Kubernetes writes after resources of the core group."""
    return ", ".join(f"{resource} has {count} resource instances" for resource, count in sorted(counts.items()))


def _finalizers(counts: Counter[str]) -> str:
    return ", ".join(f"{name} in {count} resource instances" for name, count in sorted(counts.items()))


def _condition(wording: _Wording, message: str, before: Condition | None, *, now: str) -> Condition:
    status = "True" if message else "False"
    since = before.get("lastTransitionTime") if before is not None and before.get("status") == status else None
    return {
        "type": wording.type,
        "status": status,
        "lastTransitionTime": since or now,
        "reason": wording.reason_if_true if message else wording.reason_if_false,
        "message": message or wording.message_if_false,
    }

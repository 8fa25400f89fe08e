"""Describes the remaining content of a scope that is being deleted: what remains, which finalizers hold it, and what failed.

A namespace has five conditions, all of them from the first reconcile on:

    type                                          true                         false
    NamespaceDeletionDiscoveryFailure             DiscoveryFailed              ResourcesDiscovered
    NamespaceDeletionGroupVersionParsingFailure   GroupVersionParsingFailed    ParsedGroupVersions
    NamespaceDeletionContentFailure               ContentDeletionFailed        ContentDeleted
    NamespaceContentRemaining                     SomeResourcesRemain          ContentRemoved
    NamespaceFinalizersRemaining                  SomeFinalizersRemain         ContentHasNoFinalizers

The first two are never true here: the content of a namespace is listed from the store, not by asking which kinds are served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from probate.api.gvk import GroupResource
from probate.controllers.namespaces.content_deletion import RemainingContent

Condition = dict[str, Any]

MAX_NAMED = 10
"""Damaged objects that a message names."""


class _Wording(NamedTuple):
    type: str
    reason_if_true: str
    reason_if_false: str
    message_if_false: str


_WORDINGS = (
    _Wording(
        "NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", "ResourcesDiscovered", "All resources successfully discovered"
    ),
    _Wording(
        "NamespaceDeletionGroupVersionParsingFailure",
        "GroupVersionParsingFailed",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    _Wording(
        "NamespaceDeletionContentFailure",
        "ContentDeletionFailed",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    _Wording("NamespaceContentRemaining", "SomeResourcesRemain", "ContentRemoved", "All content successfully removed"),
    _Wording(
        "NamespaceFinalizersRemaining",
        "SomeFinalizersRemain",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
)


def of_namespace(before: list[Condition], remaining: RemainingContent | None, now: str) -> list[Condition]:
    """Returns the conditions of a namespace with this remaining content (None: none).

    Conditions of other types stay as they are.
    """
    messages = _messages(remaining)
    known = {condition.get("type"): condition for condition in before}
    ours = [_condition(wording, messages.get(wording.type, ""), known.get(wording.type), now=now) for wording in _WORDINGS]
    types = {wording.type for wording in _WORDINGS}
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


def _messages(remaining: RemainingContent | None) -> dict[str, str]:
    """Returns the messages of the conditions that are true, by type."""
    messages: dict[str, str] = {}
    if remaining is None:
        return messages
    if remaining.failures:
        failure = f"Some content could not be deleted: {_resources(remaining.failures)}"
        messages["NamespaceDeletionContentFailure"] = f"{failure}; {_damaged(remaining.damaged)}" if remaining.damaged else failure
    if remaining.resources:
        messages["NamespaceContentRemaining"] = f"Some resources are remaining: {_resources(remaining.resources)}"
    if remaining.finalizers:
        messages["NamespaceFinalizersRemaining"] = f"Some finalizers are remaining: {_finalizers(remaining.finalizers)}"
    return messages


def _damaged(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"damaged stored data: {', '.join(names[:MAX_NAMED])}{more}"


def _resources(counts: Counter[GroupResource]) -> str:
    named = {f"{resource.resource}.{resource.group}": count for resource, count in counts.items()}
    return ", ".join(f"{name} has {count} resource instances" for name, count in sorted(named.items()))


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

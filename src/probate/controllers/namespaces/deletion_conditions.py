"""What a scope that is being deleted says of itself: what is left in it, what holds that, and what went wrong.

A namespace has five conditions, all of them from its first look on:

    type                                          true                         false
    NamespaceDeletionDiscoveryFailure             DiscoveryFailed              ResourcesDiscovered
    NamespaceDeletionGroupVersionParsingFailure   GroupVersionParsingFailed    ParsedGroupVersions
    NamespaceDeletionContentFailure               ContentDeletionFailed        ContentDeleted
    NamespaceContentRemaining                     SomeResourcesRemain          ContentRemoved
    NamespaceFinalizersRemaining                  SomeFinalizersRemain         ContentHasNoFinalizers

The first two are never true here: what is in a namespace is known by itself, not by asking which kinds are served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from probate.api.gvk import GroupResource
from probate.controllers.namespaces.content_deletion import Remains

Condition = dict[str, Any]

MAX_NAMED = 10
"""Damaged objects that are named."""


class _Wording(NamedTuple):
    type: str
    reason_if_true: str
    reason_if_false: str
    message_if_false: str


_WORDINGS = (
    _Wording("NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", "ResourcesDiscovered", "All kinds of content are known"),
    _Wording(
        "NamespaceDeletionGroupVersionParsingFailure",
        "GroupVersionParsingFailed",
        "ParsedGroupVersions",
        "All group versions can be read",
    ),
    _Wording(
        "NamespaceDeletionContentFailure", "ContentDeletionFailed", "ContentDeleted", "All content was deleted, or is waited for"
    ),
    _Wording("NamespaceContentRemaining", "SomeResourcesRemain", "ContentRemoved", "No content is remaining"),
    _Wording("NamespaceFinalizersRemaining", "SomeFinalizersRemain", "ContentHasNoFinalizers", "No finalizers are remaining"),
)


def of_namespace(before: list[Condition], remains: Remains | None, now: str) -> list[Condition]:
    """The conditions of a namespace in which this remains (None: nothing). Those of other types stay as they are."""
    messages = _messages(remains)
    known = {one.get("type"): one for one in before}
    ours = [_condition(wording, messages.get(wording.type, ""), known.get(wording.type), now) for wording in _WORDINGS]
    return [*ours, *(one for one in before if one.get("type") not in {wording.type for wording in _WORDINGS})]


def of_objects(remains: Remains) -> str:
    """What is left of the objects of one kind, and what holds them."""
    count, failed = remains.resources.total(), remains.failures.total()
    parts = [f"{count} objects of the kind are remaining"]
    if remains.finalizers:
        parts.append(f"finalizers are remaining: {_finalizers(remains.finalizers)}")
    if failed:
        parts.append(f"{failed} could not be deleted and are tried again")
    if remains.damaged:
        parts.append(_damaged(remains.damaged))
    return "; ".join(parts)


def _messages(remains: Remains | None) -> dict[str, str]:
    """The messages of those conditions that are true."""
    found: dict[str, str] = {}
    if remains is None:
        return found
    if remains.failures:
        told = f"Some content could not be deleted: {_resources(remains.failures)}"
        found["NamespaceDeletionContentFailure"] = f"{told}; {_damaged(remains.damaged)}" if remains.damaged else told
    if remains.resources:
        found["NamespaceContentRemaining"] = f"Some resources are remaining: {_resources(remains.resources)}"
    if remains.finalizers:
        found["NamespaceFinalizersRemaining"] = f"Some finalizers are remaining: {_finalizers(remains.finalizers)}"
    return found


def _damaged(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"the stored data is damaged of {', '.join(names[:MAX_NAMED])}{more}"


def _resources(counts: Counter[GroupResource]) -> str:
    named = {f"{resource.resource}.{resource.group}": count for resource, count in counts.items()}
    return ", ".join(f"{name} has {count} resource instances" for name, count in sorted(named.items()))


def _finalizers(counts: Counter[str]) -> str:
    return ", ".join(f"{name} in {count} resource instances" for name, count in sorted(counts.items()))


def _condition(wording: _Wording, message: str, before: Condition | None, now: str) -> Condition:
    status = "True" if message else "False"
    since = before.get("lastTransitionTime") if before is not None and before.get("status") == status else None
    return {
        "type": wording.type,
        "status": status,
        "lastTransitionTime": since or now,
        "reason": wording.reason_if_true if message else wording.reason_if_false,
        "message": message or wording.message_if_false,
    }

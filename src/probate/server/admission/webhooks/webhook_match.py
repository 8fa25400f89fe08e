"""Which webhooks are asked about a write: by its operation and resource, by labels. (`conditions` has what they ask in CEL.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.server.request import Target
from probate.server.storage import storage_keys

Object = dict[str, Any]


class Hook(NamedTuple):
    """A webhook of a configuration, as it was compiled."""

    key: str  # which no other has
    name: str
    rules: tuple[Object, ...]
    is_exact: bool
    namespaces: LabelSelector
    objects: LabelSelector
    conditions: tuple[Object, ...]
    fails_closed: bool
    seconds: float
    has_side_effects: bool  # also on a dry run; v1 refuses such webhooks when they are configured
    version: str  # of the reviews that it is sent
    is_asked_again: bool
    client: Object


def compiled(configurations: Mapping[str, Object]) -> list[Hook]:
    """All webhooks of these configurations, in the order in which they are asked: by the names of these."""
    ordered = sorted(configurations.values(), key=lambda one: str(one["metadata"]["name"]))
    return [_hook(one, number, hook) for one in ordered for number, hook in enumerate(one.get("webhooks") or ())]


def _hook(configuration: Object, number: int, hook: Object) -> Hook:
    versions = hook.get("admissionReviewVersions") or ["v1"]
    return Hook(
        key=f"{configuration['metadata']['name']}/{number}/{hook['name']}",
        name=hook["name"],
        rules=tuple(hook.get("rules") or ()),
        is_exact=hook.get("matchPolicy") == "Exact",
        namespaces=_selector(hook.get("namespaceSelector")),
        objects=_selector(hook.get("objectSelector")),
        conditions=tuple(hook.get("matchConditions") or ()),
        fails_closed=hook.get("failurePolicy") != "Ignore",
        seconds=float(hook.get("timeoutSeconds") or 10),
        has_side_effects=hook.get("sideEffects") not in {"None", "NoneOnDryRun"},
        version=next((one for one in versions if one in {"v1", "v1beta1"}), "v1"),
        is_asked_again=hook.get("reinvocationPolicy") == "IfNeeded",
        client=hook.get("clientConfig") or {},
    )


def _selector(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector or {}, Path("selector"))[0]


def resource_for(hook: Hook, operation: str, at: Target, catalog: Catalog) -> Resource | None:
    """As which resource the webhook is asked: as this one, or another version of it that the rules name. None: not at all."""
    if _is_ruled(hook.rules, operation, at.resource, at.subresource):
        return at.resource
    if hook.is_exact:
        return None
    others = equivalents(at.resource, catalog)
    return next((one for one in others if _is_ruled(hook.rules, operation, one, at.subresource)), None)


def equivalents(resource: Resource, catalog: Catalog) -> Iterable[Resource]:
    """All other versions of the same objects."""
    range_ = storage_keys.everywhere(resource)
    return [one for one in catalog if one.kind == resource.kind and one is not resource and storage_keys.everywhere(one) == range_]


def _is_ruled(rules: Iterable[Object], operation: str, resource: Resource, part: str) -> bool:
    return any(
        _has(rule.get("operations"), operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_names(pattern, resource.plural, part) for pattern in rule.get("resources") or ())
        and rule.get("scope", "*") in {"*", "Namespaced" if resource.is_namespaced else "Cluster"}
        for rule in rules
    )


def _has(given: Iterable[str] | None, wanted: str) -> bool:
    return any(one in {"*", wanted} for one in given or ())


def _names(pattern: str, plural: str, part: str) -> bool:
    """`pods` is the resource alone, `pods/*` it and its parts, `*` all resources alone, `*/scale` that part of all."""
    resource, _, below = pattern.partition("/")
    return resource in {"*", plural} and below in {"*", part}

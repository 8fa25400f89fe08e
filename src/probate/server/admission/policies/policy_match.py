"""Matches writes against a policy or a binding: by operation and resource, by name, and by labels."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.webhooks import webhook_match
from probate.server.request import Target
from probate.server.storage import storage_keys


class MatchResources(NamedTuple):
    """The `matchConstraints` of a policy, or the `matchResources` of a binding."""

    rules: tuple[Object, ...]
    excluded: tuple[Object, ...]
    is_exact: bool
    namespaces: LabelSelector
    objects: LabelSelector

    def resource_for(self, operation: str, at: Target, catalog: Catalog) -> Resource | None:
        """Returns the resource, perhaps in another version, as which the rules match the write; None if they do not."""
        if self._matched_resource(self._without_names(self.excluded), operation, at, catalog=catalog) is not None:
            return None
        return self._matched_resource(self.rules, operation, at, catalog=catalog) if self.rules else at.resource

    def _matched_resource(self, rules: tuple[Object, ...], operation: str, at: Target, *, catalog: Catalog) -> Resource | None:
        """Returns the resource as which the rules match. Webhook rules have the same semantics, so their matcher is used."""
        matcher = webhook_match.Webhook(
            "", "", rules, self.is_exact, self.namespaces, self.objects, (), False, 0.0, False, "v1", False, {}
        )
        return webhook_match.resource_for(matcher, operation, at, catalog=catalog)

    @staticmethod
    def _without_names(rules: tuple[Object, ...]) -> tuple[Object, ...]:
        """Returns the rules that apply to objects of any name."""
        return tuple(rule for rule in rules if not rule.get("resourceNames"))

    def matches_name(self, write: Attributes, catalog: Catalog) -> bool:
        """Returns whether the rules match an object of this name."""
        excluded = _with_name(self.excluded, write.name)
        if excluded and self._matched_resource(excluded, write.operation, write.at, catalog=catalog) is not None:
            return False
        if not any(rule.get("resourceNames") for rule in self.rules):
            return True
        rules = (*self._without_names(self.rules), *_with_name(self.rules, write.name))
        return bool(rules) and self._matched_resource(rules, write.operation, write.at, catalog=catalog) is not None

    def matches_labels(self, write: Attributes, namespace: dict[str, str]) -> bool:
        """Returns whether the selectors match the labels of the namespace (if any) and of the new or the old object."""
        if not self.namespaces.is_everything and is_subject_to_namespace_selector(write) and not self.namespaces.matches(namespace):
            return False
        both = [object_ for object_ in (write.object, write.old) if object_ is not None]
        return self.objects.is_everything or any(self.objects.matches(labels_of(object_)) for object_ in both)


def compile_match(resources: Object | None) -> MatchResources:
    """Compiles the match rules and selectors."""
    fields = resources or {}
    return MatchResources(
        tuple(fields.get("resourceRules") or ()),
        tuple(fields.get("excludeResourceRules") or ()),
        fields.get("matchPolicy") == "Exact",
        _selector(fields.get("namespaceSelector")),
        _selector(fields.get("objectSelector")),
    )


def _selector(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector or {}, FieldPath("selector"))[0]


def _with_name(rules: tuple[Object, ...], name: str) -> tuple[Object, ...]:
    return tuple(rule for rule in rules if name in (rule.get("resourceNames") or ()))


def labels_of(object_: Object) -> dict[str, str]:
    """Returns the object's labels."""
    return (object_.get("metadata") or {}).get("labels") or {}


def is_subject_to_namespace_selector(write: Attributes) -> bool:
    """Returns whether a namespace selector applies. It ignores cluster-scoped objects; a namespace is in itself."""
    return write.at.resource.is_namespaced or write.at.resource.group_resource == storage_keys.NAMESPACES

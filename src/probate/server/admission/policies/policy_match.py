"""Which writes a policy or one of its bindings is about: by operation and resource, by name, by labels."""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.server.admission.attributes import Attributes
from probate.server.admission.webhooks import webhook_match as webhooks
from probate.server.request import Target
from probate.server.storage import storage_keys

Object = dict[str, Any]


class Scope(NamedTuple):
    """What `matchConstraints` or `matchResources` say."""

    rules: tuple[Object, ...]
    excluded: tuple[Object, ...]
    is_exact: bool
    namespaces: LabelSelector
    objects: LabelSelector

    def resource_for(self, operation: str, at: Target, catalog: Catalog) -> Resource | None:
        """As which resource the write is meant: this one, or another version. None: not at all, whatever its name and labels."""
        if _found(self._all_of(self.excluded), self, operation, at, catalog) is not None:
            return None
        return _found(self.rules, self, operation, at, catalog) if self.rules else at.resource

    @staticmethod
    def _all_of(rules: tuple[Object, ...]) -> tuple[Object, ...]:
        """Those that are about all objects, whatever they are called."""
        return tuple(one for one in rules if not one.get("resourceNames"))

    def names(self, operation: str, at: Target, catalog: Catalog, name: str) -> bool:
        """Whether an object of this name is meant."""
        excluded = _named(self.excluded, name)
        if excluded and _found(excluded, self, operation, at, catalog) is not None:
            return False
        if not any(one.get("resourceNames") for one in self.rules):
            return True
        rules = (*self._all_of(self.rules), *_named(self.rules, name))
        return bool(rules) and _found(rules, self, operation, at, catalog) is not None

    def selects(self, write: Attributes, namespace: dict[str, str]) -> bool:
        """Whether the labels are as wanted: of the namespace, unless it is in none, and of the object, as it is or was."""
        if not self.namespaces.is_everything and is_in_a_namespace(write) and not self.namespaces.matches(namespace):
            return False
        both = [one for one in (write.object, write.old) if one is not None]
        return self.objects.is_everything or any(self.objects.matches(labels_of(one)) for one in both)


def scope(resources: Object | None) -> Scope:
    """What is said, compiled."""
    said = resources or {}
    return Scope(
        tuple(said.get("resourceRules") or ()),
        tuple(said.get("excludeResourceRules") or ()),
        said.get("matchPolicy") == "Exact",
        _selector(said.get("namespaceSelector")),
        _selector(said.get("objectSelector")),
    )


def _selector(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector or {}, Path("selector"))[0]


def _named(rules: tuple[Object, ...], name: str) -> tuple[Object, ...]:
    return tuple(one for one in rules if name in (one.get("resourceNames") or ()))


def _found(rules: tuple[Object, ...], about: Scope, operation: str, at: Target, catalog: Catalog) -> Resource | None:
    """The resource, as rules of webhooks would find it: they are the same."""
    hook = webhooks.Hook("", "", rules, about.is_exact, about.namespaces, about.objects, (), False, 0.0, False, "v1", False, {})
    return webhooks.resource_for(hook, operation, at, catalog)


def labels_of(object_: Object) -> dict[str, str]:
    """The object's labels."""
    return (object_.get("metadata") or {}).get("labels") or {}


def is_in_a_namespace(write: Attributes) -> bool:
    """What is in none is meant, whatever namespaces a policy is for. A namespace is in itself."""
    return write.at.resource.is_namespaced or write.at.resource.group_resource == storage_keys.NAMESPACES

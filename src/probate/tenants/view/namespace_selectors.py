"""Renames label selectors of namespaces, so that those of a tenant select its own namespaces only.

tenant's view     {}                                                             all namespaces
physical view     {"matchLabels": {"kubezoo.io/tenant": "111111"}}               all namespaces of the tenant

tenant's view     {"matchLabels": {"kubernetes.io/metadata.name": "web"}}
physical view     {"matchLabels": {"kubernetes.io/metadata.name": "111111-web", "kubezoo.io/tenant": "111111"}}
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from probate.api.tenants import TENANT_LABEL
from probate.tenants.view.name_converter import NameConverter

NAME_LABEL = "kubernetes.io/metadata.name"


def rename_selector(names: NameConverter, selector: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Renames the namespaces in a selector, and adds or removes the tenant's label."""
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    kept = dict(labels) if isinstance(labels, dict) else {}
    if isinstance(kept.get(NAME_LABEL), str):
        kept[NAME_LABEL] = names.namespace(kept[NAME_LABEL])
    names.mark_labels(kept, TENANT_LABEL)
    others = {field: value for field, value in selector.items() if field != "matchLabels"}
    if isinstance(expressions, list):
        others["matchExpressions"] = [_renamed(names, one) for one in expressions]
    return {"matchLabels": kept, **others} if kept else others


def _renamed(names: NameConverter, expression: Any) -> Any:
    values = expression.get("values") if isinstance(expression, dict) and expression.get("key") == NAME_LABEL else None
    if not isinstance(values, list):
        return expression
    return {**expression, "values": [names.namespace(one) if isinstance(one, str) else one for one in values]}

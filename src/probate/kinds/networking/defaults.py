"""Sets the defaults of IngressClasses and NetworkPolicies."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, ensure_child, fill, items


def default_network_policy(policy: Object) -> None:
    """Sets the defaults of a NetworkPolicy: it applies to ingress, and to egress if it has egress rules."""
    spec = ensure_child(policy, "spec")
    if spec is None:
        return
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                fill(port, protocol="TCP")


def default_ingress_class(ingress_class: Object) -> None:
    """Sets the defaults of an IngressClass: its parameters are cluster-scoped by default."""
    parameters = child(ensure_child(ingress_class, "spec") or {}, "parameters")
    if parameters is not None:
        fill(parameters, scope="Cluster")

"""Classes of ingresses, and network policies."""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, child, fill, items, made


def default_network_policy(policy: Object) -> None:
    """Fill a NetworkPolicy: it is about what comes in, and about what goes out if it says anything of that."""
    spec = made(policy, "spec")
    if spec is None:
        return
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                fill(port, protocol="TCP")


def default_ingress_class(ingress_class: Object) -> None:
    """Fill an IngressClass: its parameters are of the cluster unless they say otherwise."""
    parameters = child(made(ingress_class, "spec") or {}, "parameters")
    if parameters is not None:
        fill(parameters, scope="Cluster")

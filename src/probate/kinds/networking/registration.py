"""Registers the kinds of the API group networking.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.core.services import status_validation as service_status_validation
from probate.kinds.core.services import warnings as service_warnings
from probate.kinds.kind import Kind, Strategy, Validation, Warnings, on_every_write
from probate.kinds.networking import columns, defaults, ingress_validation, network_policy_validation, service_cidr_validation

KINDS = (
    Kind(
        group="networking.k8s.io",
        name="IPAddress",
        plural="ipaddresses",
        validation=lambda: Validation(
            create=service_cidr_validation.check_ip_address, update=service_cidr_validation.update_ip_address
        ),
        columns=lambda: columns.PRINTERS["networking.k8s.io", "ipaddresses"],
    ),
    Kind(
        group="networking.k8s.io",
        name="Ingress",
        plural="ingresses",
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=ingress_validation.create_ingress,
            status=service_status_validation.check_ingress_status,
            new_on_update=ingress_validation.check_ingress,
        ),
        warnings=lambda: Warnings(service_warnings.of_ingress),
        columns=lambda: columns.PRINTERS["networking.k8s.io", "ingresses"],
    ),
    Kind(
        group="networking.k8s.io",
        name="IngressClass",
        plural="ingressclasses",
        defaults=lambda: defaults.default_ingress_class,
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(
            create=ingress_validation.check_ingress_class, update=ingress_validation.update_ingress_class
        ),
        columns=lambda: columns.PRINTERS["networking.k8s.io", "ingressclasses"],
    ),
    Kind(
        group="networking.k8s.io",
        name="NetworkPolicy",
        plural="networkpolicies",
        defaults=lambda: defaults.default_network_policy,
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(
            create=network_policy_validation.create_network_policy,
            update=network_policy_validation.update_network_policy,
            new_on_update=network_policy_validation.check_network_policy,
        ),
        warnings=lambda: on_every_write(service_warnings.of_network_policy),
        columns=lambda: columns.PRINTERS["networking.k8s.io", "networkpolicies"],
    ),
    Kind(
        group="networking.k8s.io",
        name="ServiceCIDR",
        plural="servicecidrs",
        strategy=lambda: Strategy(has_status=True),
        validation=lambda: Validation(
            create=service_cidr_validation.check_service_cidr,
            update=service_cidr_validation.update_service_cidr,
            new_on_update=service_cidr_validation.check_again,
        ),
        columns=lambda: columns.PRINTERS["networking.k8s.io", "servicecidrs"],
    ),
)

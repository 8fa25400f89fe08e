"""Registers the kinds of the API group admissionregistration.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.admissionregistration import binding_validation, columns, defaults, policy_validation, webhook_validation
from probate.kinds.kind import USER_METADATA, Kind, Strategy, Validation
from probate.kinds.shared import condition_validation

KINDS = (
    Kind(
        group="admissionregistration.k8s.io",
        name="MutatingAdmissionPolicy",
        plural="mutatingadmissionpolicies",
        defaults=lambda: defaults.default_policy,
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(create=policy_validation.check_mutating),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "mutatingadmissionpolicies"],
    ),
    Kind(
        group="admissionregistration.k8s.io",
        name="MutatingAdmissionPolicyBinding",
        plural="mutatingadmissionpolicybindings",
        defaults=lambda: defaults.default_policy_binding,
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(create=binding_validation.check_mutating_binding),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "mutatingadmissionpolicybindings"],
    ),
    Kind(
        group="admissionregistration.k8s.io",
        name="MutatingWebhookConfiguration",
        plural="mutatingwebhookconfigurations",
        defaults=lambda: defaults.default_mutating_webhooks,
        strategy=lambda: Strategy(generation_fields=("webhooks",)),
        validation=lambda: Validation(create=webhook_validation.check_mutating),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "mutatingwebhookconfigurations"],
    ),
    Kind(
        group="admissionregistration.k8s.io",
        name="ValidatingAdmissionPolicy",
        plural="validatingadmissionpolicies",
        defaults=lambda: defaults.default_policy,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",), metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(create=policy_validation.check_validating, status=condition_validation.check_policy_status),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "validatingadmissionpolicies"],
    ),
    Kind(
        group="admissionregistration.k8s.io",
        name="ValidatingAdmissionPolicyBinding",
        plural="validatingadmissionpolicybindings",
        defaults=lambda: defaults.default_policy_binding,
        strategy=lambda: Strategy(generation_fields=("spec",)),
        validation=lambda: Validation(create=binding_validation.check_validating_binding),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "validatingadmissionpolicybindings"],
    ),
    Kind(
        group="admissionregistration.k8s.io",
        name="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations",
        defaults=lambda: defaults.default_validating_webhooks,
        strategy=lambda: Strategy(generation_fields=("webhooks",)),
        validation=lambda: Validation(create=webhook_validation.check_validating),
        columns=lambda: columns.PRINTERS["admissionregistration.k8s.io", "validatingwebhookconfigurations"],
    ),
)

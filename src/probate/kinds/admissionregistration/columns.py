"""Table columns of webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, integer, text


def _webhooks(configuration: Object, now: float) -> list[Any]:
    return [object_fields.name(configuration), object_fields.count(configuration, "webhooks"), ages.object_age(configuration, now)]


def _validating_policy(policy: Object, now: float) -> list[Any]:
    return _policy(policy, "validations", now)


def _mutating_policy(policy: Object, now: float) -> list[Any]:
    return _policy(policy, "mutations", now)


def _policy(policy: Object, rules: str, now: float) -> list[Any]:
    param_kind = _param_kind(object_fields.at(policy, "spec", "paramKind"))
    return [object_fields.name(policy), object_fields.count(policy, "spec", rules), param_kind, ages.object_age(policy, now)]


def _param_kind(param_kind: Any) -> str:
    if not isinstance(param_kind, dict):
        return cell_text.UNSET
    return f"{object_fields.text(param_kind, 'apiVersion')}/{object_fields.text(param_kind, 'kind')}"


def _binding(binding: Object, now: float) -> list[Any]:
    param_ref = _param_ref(object_fields.at(binding, "spec", "paramRef"))
    return [
        object_fields.name(binding),
        object_fields.text(binding, "spec", "policyName"),
        param_ref,
        ages.object_age(binding, now),
    ]


def _param_ref(param_ref: Any) -> str:
    """Returns the name of the parameters, or the label selector that selects them."""
    name, namespace = object_fields.text(param_ref, "name"), object_fields.text(param_ref, "namespace")
    if name:
        return f"{namespace or '*'}/{name}"
    selector = object_fields.at(param_ref, "selector")
    return cell_text.UNSET if selector is None else cell_text.format_selector_or_none(selector)


_WEBHOOK_COLUMNS = (NAME, integer("Webhooks", "The number of webhooks."), AGE)
_PARAM_KIND = text("ParamKind", "The kind of the policy's parameters.")
_BINDING_COLUMNS = (
    NAME,
    text("PolicyName", "The policy that is bound."),
    text("ParamRef", "The parameters that are used."),
    AGE,
)
_GROUP = "admissionregistration.k8s.io"

PRINTERS = {
    (_GROUP, "mutatingwebhookconfigurations"): Printer(_WEBHOOK_COLUMNS, _webhooks),
    (_GROUP, "validatingwebhookconfigurations"): Printer(_WEBHOOK_COLUMNS, _webhooks),
    (_GROUP, "validatingadmissionpolicies"): Printer(
        (NAME, integer("Validations", "The number of validations."), _PARAM_KIND, AGE), _validating_policy
    ),
    (_GROUP, "mutatingadmissionpolicies"): Printer(
        (NAME, integer("Mutations", "The number of mutations."), _PARAM_KIND, AGE), _mutating_policy
    ),
    (_GROUP, "validatingadmissionpolicybindings"): Printer(_BINDING_COLUMNS, _binding),
    (_GROUP, "mutatingadmissionpolicybindings"): Printer(_BINDING_COLUMNS, _binding),
}

"""Table columns of Namespaces, ConfigMaps, Secrets, ServiceAccounts, ResourceQuotas and ComponentStatuses."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text


def _namespace(namespace: Object, now: float) -> list[Any]:
    return [object_fields.name(namespace), object_fields.text(namespace, "status", "phase"), ages.object_age(namespace, now)]


def _config_map(config_map: Object, now: float) -> list[Any]:
    entries = object_fields.count(config_map, "data") + object_fields.count(config_map, "binaryData")
    return [object_fields.name(config_map), entries, ages.object_age(config_map, now)]


def _secret(secret: Object, now: float) -> list[Any]:
    return [
        object_fields.name(secret),
        object_fields.text(secret, "type"),
        object_fields.count(secret, "data"),
        ages.object_age(secret, now),
    ]


def _service_account(service_account: Object, now: float) -> list[Any]:
    return [object_fields.name(service_account), ages.object_age(service_account, now)]


def _resource_quota(quota: Object, now: float) -> list[Any]:
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(object_fields.mapping(quota, "status", "hard")):
        used, hard = (object_fields.quantity(quota, "status", field, resource) for field in ("used", "hard"))
        (limits if resource.startswith("limits.") else requests).append(f"{resource}: {used}/{hard}")
    return [object_fields.name(quota), ", ".join(requests), ", ".join(limits), ages.object_age(quota, now)]


def _component_status(component: Object, _: float) -> list[Any]:
    conditions = object_fields.objects(component, "conditions")
    healthy = next((one for one in conditions if one.get("type") == "Healthy"), None)
    if healthy is None:
        return [object_fields.name(component), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [object_fields.name(component), status, object_fields.text(healthy, "message"), object_fields.text(healthy, "error")]


_DATA = text("Data", "The number of entries in the data.")

PRINTERS = {
    ("", "namespaces"): Printer((NAME, text("Status", "Whether the namespace is Active or Terminating."), AGE), _namespace),
    ("", "configmaps"): Printer((NAME, _DATA, AGE), _config_map),
    ("", "secrets"): Printer((NAME, text("Type", "The type of the Secret."), _DATA, AGE), _secret),
    ("", "serviceaccounts"): Printer((NAME, AGE), _service_account),
    ("", "resourcequotas"): Printer(
        (
            NAME,
            text("Request", "The used amount and the limit of each requested resource."),
            text("Limit", "The used amount and the limit of each limited resource."),
            AGE,
        ),
        _resource_quota,
    ),
    ("", "componentstatuses"): Printer(
        (
            NAME,
            text("Status", "Whether the component is healthy."),
            text("Message", "The message of the health check."),
            text("Error", "The error of the health check."),
        ),
        _component_status,
    ),
}

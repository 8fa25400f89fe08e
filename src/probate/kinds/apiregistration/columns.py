"""Table columns of APIServices, FlowSchemas, PriorityLevelConfigurations, StorageVersions and StorageVersionMigrations."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text


def _api_service(api_service: Object, now: float) -> list[Any]:
    service = object_fields.at(api_service, "spec", "service")
    server = (
        f"{object_fields.text(service, 'namespace')}/{object_fields.text(service, 'name')}"
        if isinstance(service, dict)
        else "Local"
    )
    return [object_fields.name(api_service), server, _available(api_service), ages.object_age(api_service, now)]


def _available(api_service: Object) -> str:
    available = object_fields.condition(api_service, "Available")
    if available is None:
        return "Unknown"
    status, reason = object_fields.text(available, "status"), object_fields.text(available, "reason")
    return f"{status} ({reason})" if reason and status != "True" else status


def _flow_schema(schema: Object, now: float) -> list[Any]:
    method = object_fields.at(schema, "spec", "distinguisherMethod")
    dangling = object_fields.condition(schema, "Dangling")
    return [
        object_fields.name(schema),
        object_fields.text(schema, "spec", "priorityLevelConfiguration", "name"),
        object_fields.number(schema, "spec", "matchingPrecedence"),
        object_fields.text(method, "type") if isinstance(method, dict) else cell_text.NONE,
        ages.object_age(schema, now),
        "?" if dangling is None else object_fields.text(dangling, "status"),
    ]


def _precedence(schema: Object) -> tuple[int, str]:
    """Returns the sort key of a FlowSchema: they are listed in the order in which they are matched."""
    return object_fields.number(schema, "spec", "matchingPrecedence"), object_fields.name(schema)


def _priority_level(level: Object, now: float) -> list[Any]:
    limited = object_fields.at(level, "spec", "limited")
    queuing = object_fields.at(limited, "limitResponse", "queuing")
    return [
        object_fields.name(level),
        object_fields.text(level, "spec", "type"),
        _number_of(limited, "nominalConcurrencyShares"),
        *(_number_of(queuing, one) for one in ("queues", "handSize", "queueLengthLimit")),
        ages.object_age(level, now),
    ]


def _number_of(value: Any, field: str) -> int | str:
    return object_fields.number(value, field) if isinstance(value, dict) else cell_text.NONE


def _storage_version(version: Object, now: float) -> list[Any]:
    encodings = [
        f"{object_fields.text(one, 'apiServerID')}={object_fields.text(one, 'encodingVersion')}"
        for one in object_fields.objects(version, "status", "storageVersions")
    ]
    return [
        object_fields.name(version),
        object_fields.text(version, "status", "commonEncodingVersion", default=cell_text.UNSET),
        cell_text.truncate_list(encodings) or cell_text.UNSET,
        ages.object_age(version, now),
    ]


def _migration(migration: Object, _: float) -> list[Any]:
    resource = object_fields.mapping(migration, "spec", "resource")
    return [object_fields.name(migration), ".".join(object_fields.text(resource, one) for one in ("resource", "version", "group"))]


_FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"

PRINTERS = {
    ("apiregistration.k8s.io", "apiservices"): Printer(
        (
            NAME,
            text("Service", "The service that serves the API; Local is this server."),
            text("Available", "Whether the API is available and, if it is not, the reason."),
            AGE,
        ),
        _api_service,
    ),
    (_FLOW_CONTROL, "flowschemas"): Printer(
        (
            NAME,
            text("PriorityLevel", "The priority level of matching requests."),
            text("MatchingPrecedence", "The matching precedence: lower numbers are tried first."),
            text("DistinguisherMethod", "The attribute that distinguishes flows of requests."),
            AGE,
            text("MissingPL", "True if the priority level does not exist."),
        ),
        _flow_schema,
        order=_precedence,
    ),
    (_FLOW_CONTROL, "prioritylevelconfigurations"): Printer(
        (
            NAME,
            text("Type", "Whether the level is limited or exempt."),
            text("NominalConcurrencyShares", "The level's share of the concurrent requests."),
            text("Queues", "The number of queues."),
            text("HandSize", "The number of queues that one flow can use."),
            text("QueueLengthLimit", "The maximum number of requests in a queue."),
            AGE,
        ),
        _priority_level,
    ),
    ("internal.apiserver.k8s.io", "storageversions"): Printer(
        (
            NAME,
            text("CommonEncodingVersion", "The version in which all API servers store objects."),
            text("StorageVersions", "The version in which each API server stores objects."),
            AGE,
        ),
        _storage_version,
    ),
    ("storagemigration.k8s.io", "storageversionmigrations"): Printer(
        (text("Name", NAME.description), text("Resource", "The resource whose objects are migrated.")), _migration
    ),
}

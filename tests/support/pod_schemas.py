"""Parts of the schemas of Deployments, Services and ConfigMaps, by hand: as much as patches of them need."""

from __future__ import annotations

from probate.api.schema.node import Schema

TEXT = Schema(type="string")
NUMBER = Schema(type="integer")
MERGE = frozenset({"merge"})


def record(**properties: Schema) -> Schema:
    return Schema(type="object", properties=properties)


def mapping(values: Schema) -> Schema:
    return Schema(type="object", values=values)


def merged_by(key: str, items: Schema, *more: str) -> Schema:
    return Schema(type="array", items=items, list_type="map", map_keys=(key,), merge_key=key, strategies=MERGE | set(more))


def replaced(items: Schema) -> Schema:
    return Schema(type="array", items=items)


METADATA = record(
    labels=mapping(TEXT),
    annotations=mapping(TEXT),
    finalizers=Schema(type="array", items=TEXT, list_type="set", strategies=MERGE),
    ownerReferences=merged_by("uid", record(apiVersion=TEXT, kind=TEXT, name=TEXT, uid=TEXT)),
)
PORT = record(containerPort=NUMBER, name=TEXT, protocol=TEXT)
CONTAINER = record(
    name=TEXT,
    image=TEXT,
    args=replaced(TEXT),
    env=merged_by("name", record(name=TEXT, value=TEXT)),
    ports=merged_by("containerPort", PORT),
)
VOLUME = record(name=TEXT, emptyDir=record(medium=TEXT), configMap=record(name=TEXT, items=replaced(record(key=TEXT))))
POD_SPEC = record(
    containers=merged_by("name", CONTAINER),
    volumes=merged_by("name", VOLUME, "retainKeys"),
    hostAliases=merged_by("ip", record(ip=TEXT, hostnames=replaced(TEXT))),
    tolerations=replaced(record(key=TEXT, operator=TEXT)),
    nodeSelector=mapping(TEXT),
)
TEMPLATE = record(metadata=METADATA, spec=POD_SPEC)
STRATEGY = Schema(
    type="object", properties={"type": TEXT, "rollingUpdate": record(maxSurge=TEXT)}, strategies=frozenset({"retainKeys"})
)
DEPLOYMENT = record(
    metadata=METADATA,
    spec=record(replicas=NUMBER, selector=record(matchLabels=mapping(TEXT)), template=TEMPLATE, strategy=STRATEGY),
)
CONFIG_MAP = record(metadata=METADATA, data=mapping(TEXT))
SERVICE = record(
    metadata=METADATA,
    spec=record(ports=merged_by("port", record(port=NUMBER, name=TEXT, protocol=TEXT)), selector=mapping(TEXT)),
)

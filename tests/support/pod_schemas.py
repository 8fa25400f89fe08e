"""Hand-written parts of the schemas of Deployments, Services and ConfigMaps, as far as the tests' patches need them."""

from __future__ import annotations

from probate.api.schema.node import Schema

TEXT = Schema(type="string")
NUMBER = Schema(type="integer")
MERGE = frozenset({"merge"})


def object_schema(**properties: Schema) -> Schema:
    return Schema(type="object", properties=properties)


def map_schema(values: Schema) -> Schema:
    return Schema(type="object", values=values)


def merged_list(key: str, items: Schema, *strategies: str) -> Schema:
    return Schema(
        type="array", items=items, list_type="map", map_keys=(key,), merge_key=key, patch_strategies=MERGE | set(strategies)
    )


def atomic_list(items: Schema) -> Schema:
    return Schema(type="array", items=items)


METADATA = object_schema(
    labels=map_schema(TEXT),
    annotations=map_schema(TEXT),
    finalizers=Schema(type="array", items=TEXT, list_type="set", patch_strategies=MERGE),
    ownerReferences=merged_list("uid", object_schema(apiVersion=TEXT, kind=TEXT, name=TEXT, uid=TEXT)),
)
PORT = object_schema(containerPort=NUMBER, name=TEXT, protocol=TEXT)
CONTAINER = object_schema(
    name=TEXT,
    image=TEXT,
    args=atomic_list(TEXT),
    env=merged_list("name", object_schema(name=TEXT, value=TEXT)),
    ports=merged_list("containerPort", PORT),
)
VOLUME = object_schema(
    name=TEXT, emptyDir=object_schema(medium=TEXT), configMap=object_schema(name=TEXT, items=atomic_list(object_schema(key=TEXT)))
)
POD_SPEC = object_schema(
    containers=merged_list("name", CONTAINER),
    volumes=merged_list("name", VOLUME, "retainKeys"),
    hostAliases=merged_list("ip", object_schema(ip=TEXT, hostnames=atomic_list(TEXT))),
    tolerations=atomic_list(object_schema(key=TEXT, operator=TEXT)),
    nodeSelector=map_schema(TEXT),
)
TEMPLATE = object_schema(metadata=METADATA, spec=POD_SPEC)
STRATEGY = Schema(
    type="object",
    properties={"type": TEXT, "rollingUpdate": object_schema(maxSurge=TEXT)},
    patch_strategies=frozenset({"retainKeys"}),
)
DEPLOYMENT = object_schema(
    metadata=METADATA,
    spec=object_schema(replicas=NUMBER, selector=object_schema(matchLabels=map_schema(TEXT)), template=TEMPLATE, strategy=STRATEGY),
)
CONFIG_MAP = object_schema(metadata=METADATA, data=map_schema(TEXT))
SERVICE = object_schema(
    metadata=METADATA,
    spec=object_schema(ports=merged_list("port", object_schema(port=NUMBER, name=TEXT, protocol=TEXT)), selector=map_schema(TEXT)),
)

"""Bodies of a wanted size: patches, documents to apply, and objects in JSON, YAML and protobuf, each with a part that grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fuzzing.samples import SAMPLES

Make = Callable[[int], Any]
Table = dict[str, Make]

_CRON_JOB = next(one.body for one in SAMPLES if one.body["kind"] == "CronJob")
_UID = "00000000-0000-4000-8000-{:012d}"
_LARGEST = 1_000_000
"""Of one value in a ConfigMap; what is more goes into a field that is not known, and is dropped."""


def _config_map(name: str, **parts: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **parts}


def plain_text(size: int) -> Any:
    return _config_map("plain", data={"a": "x" * min(size, _LARGEST)}, x="x" * max(0, size - _LARGEST))


def plain_parts(size: int) -> Any:
    return _config_map("plain", data={f"k{n}": "v" for n in range(size // 14)})


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def _free(value: Any, *operations: Any) -> Any:
    return [{"op": "add", "path": "/spec/free", "value": value}, *operations]


def _copy(to: str, source: str = "/spec/free") -> Any:
    return {"op": "copy", "from": source, "path": to}


_MOVE = {"op": "move", "from": "/spec/free/a", "path": "/spec/free/a"}

JSON_PATCHES: Table = {
    "many additions": lambda size: _free({}, *({"op": "add", "path": f"/spec/free/k{n}", "value": ""} for n in range(size // 45))),
    "many tests": lambda size: [{"op": "test", "path": "/spec/name", "value": "a"}] * (size // 45),
    "inserts at the front": lambda size: _free({"l": []}, *[{"op": "add", "path": "/spec/free/l/0", "value": 1}] * (size // 50)),
    "copies that double": lambda size: _free({"a": "x" * 1000}, *(_copy(f"/spec/free/k{n}") for n in range(size // 60))),
    "moves of a large part": lambda size: _free({"a": ["x"] * (size // 10)}, *[_MOVE] * (size // 100)),
    "copies of a large part": lambda size: _free(
        {"a": ["x"] * (size // 10)}, *[_copy("/spec/free/c", "/spec/free/a")] * (size // 100)
    ),
    "a deep pointer": lambda size: [{"op": "add", "path": "/spec/free" + "/a" * (size // 2), "value": 1}],
    "a pointer of escapes": lambda size: [{"op": "add", "path": "/spec/" + "~0" * (size // 2), "value": 1}],
    "a long index": lambda size: [{"op": "replace", "path": "/spec/parts/" + "1" * size, "value": 1}],
}


def _pod(**parts: Any) -> Any:
    return {"spec": {"template": {"spec": parts}}}


STRATEGIC_PATCHES: Table = {
    "many containers": lambda size: _pod(containers=[{"name": f"c{n}", "image": "i"} for n in range(size // 32)]),
    "many deletions": lambda size: _pod(containers=[{"name": f"c{n}", "$patch": "delete"} for n in range(size // 36)]),
    "order of many": lambda size: _pod(
        **{"$setElementOrder/containers": [{"name": f"c{n}"} for n in range(size // 16)], "containers": [{"name": "c"}]}
    ),
    "many primitive deletions": lambda size: {
        "metadata": {"finalizers": [], "$deleteFromPrimitiveList/finalizers": [f"a/{n}" for n in range(size // 10)]}
    },
    "many ports": lambda size: _pod(containers=[{"name": "c", "ports": [{"containerPort": n} for n in range(size // 24)]}]),
    "retain many keys": lambda size: {"spec": {"strategy": {"$retainKeys": [f"k{n}" for n in range(size // 10)]}}},
}
MERGE_PATCHES: Table = {"wide": lambda size: {"spec": {"free": {f"k{n}": 1 for n in range(size // 12)}}}}


def _thing(**spec: Any) -> Any:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


APPLIED: Table = {
    "many items by key": lambda size: _thing(parts=[{"key": f"k{n}"} for n in range(size // 18)]),
    "the same item often": lambda size: _thing(parts=[{"key": "k"}] * (size // 12)),
    "many fields": lambda size: _thing(free={f"k{n}": 1 for n in range(size // 12)}),
    "fields in fields": lambda size: _thing(free=_deep(min(size // 6, 200))),
}
YAML: Table = {
    "aliases": lambda size: b"a: &a [x,x]\nmetadata: {name: y}\nb: [" + b"*a," * (size // 3) + b"]\n",
    "anchors": lambda size: b"".join(b"k%d: &a%d x\n" % (n, n) for n in range(size // 14)),
    "doubling aliases": lambda size: (
        b"a0: &a0 x\n" + b"".join(b"a%d: &a%d [*a%d,*a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, size // 24))
    ),
    "merge keys": lambda size: b"a: &a {b: c}\nd:\n" + b"- <<: *a\n" * (size // 9),
    "a long plain text": lambda size: b"data: {a: " + b"x " * (size // 2) + b"}\n",
    "many lines": lambda size: b"data:\n" + b"".join(b"  k%d: x\n" % n for n in range(size // 10)),
    "comments": lambda size: b"#\n" * (size // 2),
    "digits": lambda size: b"a: " + b"1" * size,
    "underscores": lambda size: b"a: 1" + b"_" * size,
    "flow": lambda size: b"[" * size,
    "escapes": lambda size: b'a: "' + b"\\x41" * (size // 4) + b'"',
    "documents": lambda size: b"---\n" * (size // 4),
}


def _with(field: bytes) -> bytes:
    return b'{"metadata":{"name":"d"}' + field + b"}"


JSON: Table = {
    "nesting": lambda size: b'{"a":' * (size // 5),
    "closed nesting": lambda size: _with(b',"x":' + b"[" * (size // 2) + b"]" * (size // 2)),
    "digits": lambda size: _with(b',"x":' + b"1" * size),
    "a fraction": lambda size: _with(b',"x":0.' + b"1" * size),
    "keys given twice": lambda size: _with(b',"a":1' * (size // 6)),
    "unknown fields": lambda size: _with(b"".join(b',"u%d":1' % n for n in range(size // 10))),
    "escapes": lambda size: _with(b',"data":{"a":"' + b"\\u0041" * (size // 6) + b'"}'),
    "empty objects": lambda size: _with(b',"x":[' + b"{}," * (size // 3) + b"{}]"),
}


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


PROTOBUF: Table = {
    "fields": lambda size: b"k8s\x00" + b"\x0a\x00" * (size // 2),
    "groups": lambda size: b"k8s\x00" + b"\x0b" * size,
    "nested": lambda size: b"k8s\x00\x12" + _varint(size) + b"\x0a\x02" * (size // 2),
}


def _described(**meta: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sizes", **meta}}


def _owner(number: int) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{number}", "uid": _UID.format(number)}


def _owned(fields: Any, manager: str = "m") -> Any:
    return {"fieldsType": "FieldsV1", "apiVersion": "v1", "operation": "Update", "manager": manager, "fieldsV1": fields}


METADATA: Table = {
    "owner references": lambda size: _described(ownerReferences=[_owner(n) for n in range(size // 108)]),
    "the same owner reference": lambda size: _described(ownerReferences=[_owner(1)] * (size // 106)),
    "finalizers": lambda size: _described(finalizers=[f"a.io/{n}" for n in range(size // 13)]),
    "annotations": lambda size: _described(annotations={f"a.io/{n}": "" for n in range(size // 16)}),
    "labels": lambda size: _described(labels={f"a.io/{n}": "" for n in range(size // 16)}),
    "managers": lambda size: _described(managedFields=[_owned({"f:data": {}}, f"m{n}") for n in range(size // 110)]),
    "owned fields": lambda size: _described(managedFields=[_owned({"f:data": {f"f:{n}": {} for n in range(size // 12)}})]),
    "deeply owned fields": lambda size: _described(managedFields=[_owned(_deep(min(size // 6, 200)))]),
    "owned items": lambda size: _described(
        managedFields=[_owned({"f:data": {f"k:{json.dumps({'a': n})}": {} for n in range(size // 20)}})]
    ),
    "an owned item of a long key": lambda size: _described(managedFields=[_owned({"k:" + "[" * size: {}})]),
    "generateName": lambda size: _described(generateName="a" * size),
}


def _scheduled(schedule: str) -> Any:
    return {**_CRON_JOB, "metadata": {"name": "sizes"}, "spec": {**_CRON_JOB["spec"], "schedule": schedule}}


SCHEDULES: Table = {
    "minutes": lambda size: _scheduled("1," * (size // 2) + "1 0 1 1 *"),
    "ranges": lambda size: _scheduled("1-59/2," * (size // 7) + "1 0 1 1 *"),
    "days": lambda size: _scheduled("0 0 1 1 " + "mon," * (size // 4) + "tue"),
    "spaces": lambda size: _scheduled("0 0 1 1" + " " * size + "*"),
    "every": lambda size: _scheduled("@every " + "1h" * (size // 2)),
    "digits": lambda size: _scheduled("@every " + "1" * size + "h"),
    "commas": lambda size: _scheduled("," * size + "1 0 1 1 *"),
    "fields": lambda size: _scheduled("1 " * (size // 2)),
}


def _limited(pods: str) -> Any:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "sizes"}, "spec": {"hard": {"pods": pods}}}


QUANTITIES: Table = {
    "digits": lambda size: _limited("1" * size),
    "zeros": lambda size: _limited("0" * size + "1"),
    "a fraction": lambda size: _limited("0." + "1" * size),
    "a fraction of zeros": lambda size: _limited("0." + "0" * size + "1Gi"),
}

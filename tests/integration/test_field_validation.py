"""`fieldValidation`: unknown and duplicate fields are rejected, warned about or ignored, as in Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.http_server import memory_server_url

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/fields.example.com/v1/namespaces/default/things"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
STRICT, WARN, IGNORE = ({"fieldValidation": how, "dryRun": "All"} for how in ("Strict", "Warn", "Ignore"))
TEXT = {"type": "string"}
KEEPS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
WHOLE = {**KEEPS, "x-kubernetes-embedded-resource": True}
SPEC = {
    "type": "object",
    "properties": {"foo": TEXT, "keeps": KEEPS, "template": WHOLE, "many": {"type": "array", "items": WHOLE}},
}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A server with the CRD of Things."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    spec = {"group": "fields.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    with memory_server_url("--controllers", "none") as url, httpx.Client(base_url=url, timeout=60) as client:
        assert client.post(DEFINITIONS, json={"metadata": {"name": "things.fields.example.com"}, "spec": spec}).status_code == 201
        yield client


PATCH_IS_WRONG = ' "" is invalid: patch: Invalid value: "": '


def message(answer: httpx.Response) -> Any:
    assert answer.status_code == 400, answer.text
    return answer.json()["message"]


def said_of_patch(answer: httpx.Response) -> Any:
    """Returns why a patch was rejected: the message blames the patch, not the body."""
    status = answer.json()
    assert (answer.status_code, status["reason"], status["details"].keys()) == (422, "Invalid", {"causes"})
    assert [(one["reason"], one["field"]) for one in status["details"]["causes"]] == [("FieldValueInvalid", "patch")]
    assert status["message"].startswith(PATCH_IS_WRONG)
    return status["message"].removeprefix(PATCH_IS_WRONG)


def warnings(answer: httpx.Response) -> list[str]:
    """Returns the warnings of a response."""
    assert answer.status_code < 300, answer.text
    found = (re.fullmatch(r'299 - "(.*)"', one) for one in answer.headers.get_list("warning"))
    return [one[1].replace('\\"', '"') for one in found if one is not None]


THING = b"""
apiVersion: fields.example.com/v1
kind: Thing
metadata:
  name: a
spec:
  unknown: uk1
  foo: foo1
  foo: foo2
  keeps:
    x: 1
    x: 2
"""
DEPLOYMENT = b"""
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, unknownMeta: x}
spec:
  unknown1: a
  unknownDupe: a
  unknownDupe: b
  paused: true
  paused: false
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - name: c
        image: x
        unknownNested: a
"""
LINES = ('line 9: key "foo" already set in map', 'line 12: key "x" already set in map')
TOLD = "yaml: unmarshal errors:\n  " + "\n  ".join(LINES)


def test_duplicate_field_in_yaml_was_not_reported_by_line(http: httpx.Client) -> None:
    unknown = 'unknown field "spec.unknown"'
    media = {"Content-Type": YAML}
    refused = http.post(THINGS, params=STRICT, content=THING, headers=media)
    assert message(refused) == f"strict decoding error: {TOLD}, {unknown}"
    assert warnings(http.post(THINGS, params=WARN, content=THING, headers=media)) == [*LINES, unknown]
    assert warnings(http.post(THINGS, params=IGNORE, content=THING, headers=media)) == []


def test_duplicate_field_in_yaml_of_a_builtin_kind_was_not_reported_by_line(http: httpx.Client) -> None:
    lines = ['line 8: key "unknownDupe" already set in map', 'line 10: key "paused" already set in map']
    paths = ("metadata.unknownMeta", "spec.template.spec.containers[0].unknownNested", "spec.unknown1", "spec.unknownDupe")
    unknown = [f'unknown field "{path}"' for path in paths]
    media = {"Content-Type": YAML}
    told = ", ".join(["yaml: unmarshal errors:\n  " + "\n  ".join(lines), *unknown])
    assert message(http.post(DEPLOYMENTS, params=STRICT, content=DEPLOYMENT, headers=media)) == f"strict decoding error: {told}"
    assert warnings(http.post(DEPLOYMENTS, params=WARN, content=DEPLOYMENT, headers=media)) == [*lines, *unknown]


def test_duplicate_field_in_an_apply_was_not_reported_by_line(http: httpx.Client) -> None:
    known = THING.replace(b"unknown: uk1", b"# nothing")
    media, manager = {"Content-Type": APPLY}, {"fieldManager": "m"}
    refused = http.patch(f"{THINGS}/a", params={**STRICT, **manager}, content=known, headers=media)
    assert message(refused) == f"error strict decoding YAML: error converting YAML to JSON: {TOLD}"
    assert warnings(http.patch(f"{THINGS}/a", params={**WARN, **manager}, content=known, headers=media)) == list(LINES)
    assert warnings(http.patch(f"{THINGS}/a", params={**IGNORE, **manager}, content=known, headers=media)) == []


POD = {"containers": [{"name": "c", "image": "x"}]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": POD}
MERGE_PATCH = b'{"spec":{"unknown1":1,"unknownDupe":1,"unknownDupe":2,"paused":true,"paused":false}}'
JSON_PATCH = b"""[
    {"op": "add", "path": "/spec/paused", "value": true, "foo": 1},
    {"op": "add", "path": "/nowhere", "path": "/spec/unknown3", "value": 1}
]"""
MERGED = ['duplicate field "spec.unknownDupe"', 'duplicate field "spec.paused"']
PATCHED = ['json patch unknown field "[0].foo"', 'json patch duplicate field "[1].path"']


@pytest.fixture(scope="module")
def deployment(http: httpx.Client) -> str:
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE, "replicas": 1}
    assert http.post(DEPLOYMENTS, json={"metadata": {"name": "there"}, "spec": spec}).status_code == 201
    return f"{DEPLOYMENTS}/there"


@pytest.fixture(scope="module")
def thing(http: httpx.Client) -> str:
    about = {"apiVersion": "fields.example.com/v1", "kind": "Thing"}
    assert http.post(THINGS, json={**about, "metadata": {"name": "there"}, "spec": {"foo": "a"}}).status_code == 201
    return f"{THINGS}/there"


@pytest.mark.parametrize(
    ("kind", "patch", "odd"),
    [
        ("merge-patch", MERGE_PATCH, [*MERGED, 'unknown field "spec.unknown1"', 'unknown field "spec.unknownDupe"']),
        ("strategic-merge-patch", MERGE_PATCH, [*MERGED, 'unknown field "spec.unknown1"', 'unknown field "spec.unknownDupe"']),
        ("json-patch", JSON_PATCH, [*PATCHED, 'unknown field "spec.unknown3"']),
        ("merge-patch", b'{"spec":{"paused":true,"paused":false}}', ['duplicate field "spec.paused"']),
    ],
)
def test_duplicate_field_in_a_patch_was_not_reported(
    http: httpx.Client, deployment: str, kind: str, patch: bytes, odd: list[str]
) -> None:
    media = {"Content-Type": f"application/{kind}+json"}
    refused = http.patch(deployment, params=STRICT, content=patch, headers=media)
    assert said_of_patch(refused) == f"strict decoding error: {', '.join(odd)}"
    assert warnings(http.patch(deployment, params=WARN, content=patch, headers=media)) == odd
    assert warnings(http.patch(deployment, params=IGNORE, content=patch, headers=media)) == []


def test_duplicate_field_in_a_patch_of_a_custom_kind_was_not_reported(http: httpx.Client, thing: str) -> None:
    patch, media = b'{"spec":{"foo":"a","foo":"b","nope":1}}', {"Content-Type": "application/merge-patch+json"}
    odd = ['duplicate field "spec.foo"', 'unknown field "spec.nope"']
    refused = http.patch(thing, params=STRICT, content=patch, headers=media)
    assert said_of_patch(refused) == f"strict decoding error: {', '.join(odd)}"
    assert warnings(http.patch(thing, params=WARN, content=patch, headers=media)) == odd
    assert warnings(http.patch(thing, params=IGNORE, content=patch, headers=media)) == []


def test_unknown_metadata_of_an_embedded_resource_was_stored(http: httpx.Client) -> None:
    def config_map(name: str) -> dict[str, Any]:
        meta = {"name": name, "labels": {"a": "b"}, "unknownSubMeta": "x"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "unknown": {"is": "kept"}}

    about = {"apiVersion": "fields.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "unknownMeta": 1}}
    sent = {**about, "spec": {"template": config_map("t"), "many": [config_map("m")], "unknown": 1}}
    paths = (
        "metadata.unknownMeta",
        "spec.unknown",
        "spec.template.metadata.unknownSubMeta",
        "spec.many[0].metadata.unknownSubMeta",
    )
    odd = [f'unknown field "{path}"' for path in paths]
    assert message(http.post(THINGS, params=STRICT, json=sent)) == f"strict decoding error: {', '.join(odd)}"
    response = http.post(THINGS, params=WARN, json=sent)
    assert warnings(response) == odd
    silent = http.post(THINGS, params=IGNORE, json=sent)
    assert warnings(silent) == []
    for stored in (response.json()["spec"], silent.json()["spec"]):
        for one in (stored["template"], *stored["many"]):
            assert one["metadata"] == {"name": one["metadata"]["name"], "labels": {"a": "b"}}
            assert one["unknown"] == {"is": "kept"}


def test_duplicate_unknown_field_was_reported_twice_and_duplicates_after_unknown_fields(http: httpx.Client) -> None:
    container = b'{"name":"c","image":"x","unknownNested":1,"imagePullPolicy":"Never","imagePullPolicy":"Always"}'
    template = b'{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[%s]}}' % container
    spec = b'"unknownDupe":{"x":1,"x":2},"unknownDupe":{"x":1,"x":2},"paused":true,"paused":false,"template":%s' % template
    meta = b'{"name":"b","name":"a","unknownMeta":1}'
    body = b'{"metadata":%s,"spec":{"selector":{"matchLabels":{"app":"a"}},%s}}' % (meta, spec)
    odd = [
        'duplicate field "metadata.name"',
        'unknown field "metadata.unknownMeta"',
        'unknown field "spec.unknownDupe"',
        'duplicate field "spec.paused"',
        'unknown field "spec.template.spec.containers[0].unknownNested"',
        'duplicate field "spec.template.spec.containers[0].imagePullPolicy"',
    ]
    media = {"Content-Type": "application/json"}
    assert message(http.post(DEPLOYMENTS, params=STRICT, content=body, headers=media)) == f"strict decoding error: {', '.join(odd)}"
    assert warnings(http.post(DEPLOYMENTS, params=WARN, content=body, headers=media)) == odd


def test_duplicates_of_a_custom_object_were_reported_after_unknown_fields(http: httpx.Client) -> None:
    about = b'"apiVersion":"fields.example.com/v1","kind":"Thing","metadata":{"name":"a","unknownMeta":1}'
    body = b'{%s,"spec":{"unknown":1,"unknown":2,"foo":"a","foo":"b"}}' % about
    paths = ("metadata.unknownMeta", "spec.unknown")
    odd = ['duplicate field "spec.unknown"', 'duplicate field "spec.foo"', *(f'unknown field "{path}"' for path in paths)]
    media = {"Content-Type": "application/json"}
    assert message(http.post(THINGS, params=STRICT, content=body, headers=media)) == f"strict decoding error: {', '.join(odd)}"


CORE = "/api/v1/namespaces/default"
SUBRESOURCES = [
    (
        "PUT",
        "/apis/apps/v1/namespaces/default/deployments/there/scale",
        "json",
        b'{"metadata":{"name":"there"},"spec":{"replicas":2,"replicas":3,"foo":1}}',
    ),
    (
        "PATCH",
        "/apis/apps/v1/namespaces/default/deployments/there/scale",
        "merge-patch+json",
        b'{"spec":{"replicas":2,"replicas":3,"foo":1}}',
    ),
    ("POST", f"{CORE}/serviceaccounts/s/token", "json", b'{"spec":{"audiences":[],"audiences":["a"],"foo":1}}'),
    ("POST", f"{CORE}/pods/p/eviction", "json", b'{"metadata":{"name":"x","name":"p"},"foo":1}'),
    ("POST", f"{CORE}/pods/p/binding", "json", b'{"target":{"name":"x","name":"n"},"foo":1}'),
]


@pytest.mark.parametrize(("method", "path", "form", "body"), SUBRESOURCES)
def test_unknown_and_duplicate_fields_sent_to_a_subresource_were_ignored(
    http: httpx.Client, deployment: str, method: str, path: str, form: str, body: bytes
) -> None:
    assert deployment
    http.post(f"{CORE}/serviceaccounts", json={"metadata": {"name": "s"}})
    http.post(f"{CORE}/pods", json={"metadata": {"name": "p"}, "spec": POD})
    media = {"Content-Type": f"application/{form}"}
    refused = http.request(method, path, params=STRICT, content=body, headers=media)
    told = said_of_patch(refused) if method == "PATCH" else message(refused)
    assert told.startswith('strict decoding error: duplicate field "')
    assert re.search(r', unknown field "(spec\.)?foo"$', told)
    warned = warnings(http.request(method, path, params=WARN, content=body, headers=media))
    assert f"strict decoding error: {', '.join(warned)}" == told
    assert warnings(http.request(method, path, params=IGNORE, content=body, headers=media)) == []

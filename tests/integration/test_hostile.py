"""Requests that once broke something: each is rejected or handled correctly, and the server answers the next one."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.http_server import SCHEMES, Endpoint, run_endpoint

MERGE = {"Content-Type": "application/merge-patch+json"}
YAML = {"Content-Type": "application/yaml"}


@pytest.fixture(scope="module", params=SCHEMES)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with run_endpoint(request.param) as reached:
        yield reached


@pytest.fixture(scope="module")
def http(endpoint: Endpoint) -> Iterator[httpx.Client]:
    with endpoint.client() as client:
        yield client


@pytest.fixture
def configmaps(http: httpx.Client, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    assert http.post(path, json={"metadata": {"name": "cm"}, "data": {"a": "1"}}).status_code == 201
    return path


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 30_000,
        b"- " * 30_000,
        b"{a: " * 30_000,
        b"a: 1" + b":1" * 100_000,
        b"a: 1" + b":1" * 100_000 + b".5",
        b'a: !!int ""',
        b'a: !!float ""',
        b"a: !!bool x",
        b"a: !!timestamp x",
        b"? [a]\n: b",
        b"- a\n" * 500_000,
    ],
    ids=["flow", "block", "maps", "base60", "base60-float", "int", "float", "bool", "timestamp", "key", "long"],
)
def test_hostile_yaml_is_a_bad_request_and_soon(http: httpx.Client, configmaps: str, body: bytes) -> None:
    answer = http.post(configmaps, content=body, headers=YAML)
    assert (answer.status_code, answer.json()["reason"]) in {(400, "BadRequest"), (422, "Invalid")}


def test_dates_and_numbers_in_yaml_are_decoded_as_json(http: httpx.Client, configmaps: str) -> None:
    body = b"metadata: {name: y, annotations: {date: 2001-01-01, time: '1:30'}}\nimmutable: true\ndata: {a: \"1\"}\n"
    assert http.post(configmaps, content=body, headers=YAML).json()["metadata"]["annotations"] == {
        "date": "2001-01-01",
        "time": "1:30",
    }


def test_many_fields_given_twice_do_not_stall_the_server(http: httpx.Client, configmaps: str) -> None:
    body = '{"metadata":{"name":"a"},"x":[' + ",".join(['{"k":1,"k":2}'] * 50_000) + "]}"
    answer = http.post(configmaps, params={"dryRun": "All"}, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert 1 <= len(answer.headers.get_list("warning")) <= 20


def cut_off(
    endpoint: Endpoint, method: str, path: str, *, promised: int, sent: bytes = b"", media: str = "application/json"
) -> None:
    """Sends less than Content-Length and disconnects."""
    with endpoint.connect() as line:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nContent-Length: {promised}\r\n\r\n"
        line.sendall(head.encode() + sent)
        line.shutdown(socket.SHUT_WR)
        while line.recv(1000):
            pass


def test_request_that_is_cut_off_is_not_carried_out(http: httpx.Client, endpoint: Endpoint, configmaps: str) -> None:
    before = http.get(f"{configmaps}/cm").json()
    cut_off(endpoint, "DELETE", f"{configmaps}/cm", promised=70)
    cut_off(endpoint, "DELETE", configmaps, promised=40)
    cut_off(
        endpoint, "PUT", f"{configmaps}/cm", promised=60, sent=b"metadata: {name: cm}\ndata:\n  a: '2'\n", media="application/yaml"
    )
    assert http.get(f"{configmaps}/cm").json() == before


def test_unknown_field_with_control_characters_is_answered(http: httpx.Client, configmaps: str) -> None:
    answer = http.post(configmaps, content='{"metadata":{"name":"ghost"},"a\\nb\\u0000":1}')
    assert answer.status_code == 201
    assert 'unknown field \\"a?b?\\"' in answer.headers["warning"]


def test_dry_run_of_an_eviction_evicts_nobody(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    http.post(path, json={"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    body: dict[str, Any] = {"deleteOptions": {"gracePeriodSeconds": 0}}
    assert http.post(f"{path}/p/eviction", params={"dryRun": "All"}, json=body).status_code == 201
    assert http.get(f"{path}/p").status_code == 200
    assert http.post(f"{path}/p/eviction", json={"metadata": {"name": "other"}}).status_code == 400


def test_update_without_resource_version_is_unconditional(http: httpx.Client, configmaps: str) -> None:
    answer = http.put(f"{configmaps}/cm", json={"metadata": {"name": "cm"}, "data": {"a": "2"}})
    assert (answer.status_code, answer.json()["data"]) == (200, {"a": "2"})
    patched = http.patch(f"{configmaps}/cm", content='{"metadata":{"resourceVersion":null},"data":{"a":"3"}}', headers=MERGE)
    assert (patched.status_code, patched.json()["data"]) == (200, {"a": "3"})


def test_objects_cannot_be_created_in_a_terminating_namespace(http: httpx.Client, namespace: str) -> None:
    http.patch(f"/api/v1/namespaces/{namespace}", content='{"metadata":{"finalizers":["example.com/hold"]}}', headers=MERGE)
    http.delete(f"/api/v1/namespaces/{namespace}")
    refused = http.post(f"/api/v1/namespaces/{namespace}/configmaps", json={"metadata": {"name": "late"}})
    assert refused.status_code == 403
    assert refused.json()["details"]["causes"][0]["reason"] == "NamespaceTerminating"


@pytest.mark.parametrize(
    "scale",
    [
        {"spec": {"replicas": 2**40}},
        {"spec": {"replicas": -1}},
        {"spec": 1},
        {"metadata": 1},
        {"metadata": {"resourceVersion": []}},
        {"apiVersion": "x/v9", "spec": {"replicas": 1}},
        {"metadata": {"uid": "other"}, "spec": {"replicas": 1}},
    ],
    ids=json.dumps,
)
def test_invalid_scale_is_rejected(http: httpx.Client, namespace: str, scale: dict[str, Any]) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    http.post(path, json={"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}})
    assert 400 <= http.put(f"{path}/d/scale", json=scale).status_code < 500
    assert http.get(f"{path}/d").json()["spec"]["replicas"] == 1


def test_scale_of_a_custom_kind_uses_the_paths_of_its_crd(http: httpx.Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    scale = {"specReplicasPath": ".spec.foo.count", "statusReplicasPath": ".status.count"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"scale": scale},
    }
    spec = {"group": group, "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert http.post(definitions, json={"metadata": {"name": f"foos.{group}"}, "spec": spec}).status_code == 201
    path = f"/apis/{group}/v1/namespaces/{namespace}/foos"
    foo = {
        "apiVersion": f"{group}/v1",
        "kind": "Foo",
        "metadata": {"name": "a"},
        "spec": {"foo": {"count": 3}, "selector": 1},
        "status": 5,
    }
    assert http.post(path, json=foo).status_code == 201
    shown = http.get(f"{path}/a/scale").json()
    assert (shown["spec"], shown["status"]) == ({"replicas": 3}, {"replicas": 0})
    assert http.put(f"{path}/a/scale", json={"metadata": {"name": "a"}, "spec": {"replicas": 5}}).status_code == 200
    assert http.get(f"{path}/a").json()["spec"] == {"foo": {"count": 5}, "selector": 1}


@pytest.mark.parametrize("target", [{"name": {"a": 1}}, {"name": "A b/../c"}, {"kind": [], "name": "n"}, {}], ids=json.dumps)
def test_invalid_binding_is_rejected(http: httpx.Client, namespace: str, target: dict[str, Any]) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    http.post(path, json={"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    assert 400 <= http.post(f"{path}/p/binding", json={"target": target}).status_code < 500
    assert "nodeName" not in http.get(f"{path}/p").json()["spec"]


@pytest.mark.parametrize("query", ["timeoutSeconds=" + "9" * 400, "limit=" + "9" * 400, "continue=eyJydiI6LTIsInN0YXJ0IjoieCJ9"])
def test_invalid_options_are_bad_requests(http: httpx.Client, configmaps: str, query: str) -> None:
    assert http.get(f"{configmaps}?{query}").status_code == 400


def test_deprecated_watch_paths_only_watch(http: httpx.Client, namespace: str, configmaps: str) -> None:
    path = f"/api/v1/watch/namespaces/{namespace}/configmaps"
    assert http.post(path, json={"metadata": {"name": "x"}}).status_code == 405
    assert http.delete(f"{path}/cm").status_code == 405
    lines = http.get(f"{path}/cm", params={"timeoutSeconds": 1}).text.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["ADDED"]


def test_watch_from_a_future_revision_fails(http: httpx.Client, configmaps: str) -> None:
    params = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "99999999"}
    event = json.loads(http.get(configmaps, params=params).text.splitlines()[0])
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)


@pytest.mark.parametrize(
    "path", ["/api/v1///", "/apis////", "/apis/apps/v1//", "/apis///x", "//api/v1/pods", "/api/v1//pods", "//"]
)
def test_path_with_nothing_between_its_slashes_is_not_found(http: httpx.Client, path: str) -> None:
    answer = http.get(f"{str(http.base_url).rstrip('/')}{path}")
    assert (answer.status_code, answer.json()["kind"]) in {(404, "Status"), (200, "APIResourceList")}


def test_discovery_documents_are_read_only(http: httpx.Client) -> None:
    assert http.post("/openapi/v3/api/v1").status_code == 405
    assert http.delete("/apis").status_code == 405


def cron_job(schedule: str, **spec: Any) -> Any:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
    return {"metadata": {"name": "long"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}


@pytest.mark.parametrize(
    "schedule",
    ["1," * 500_000 + "1 0 1 1 *", "1-59/2," * 1_000 + "1 0 1 1 *", "@every " + "1h" * 1_000, "0 0 1 1" + " " * 1_020 + "*"],
    ids=["minutes", "ranges", "every", "spaces"],
)
def test_a_long_schedule_is_refused_and_not_parsed(http: httpx.Client, namespace: str, schedule: str) -> None:
    answer = http.post(f"/apis/batch/v1/namespaces/{namespace}/cronjobs", json=cron_job(schedule))
    assert answer.status_code == 422
    causes = answer.json()["details"]["causes"]
    assert [(one["reason"], one["field"], one["message"]) for one in causes] == [
        ("FieldValueTooLong", "spec.schedule", "Too long: may not be more than 1024 bytes")
    ]


def test_long_time_zone_is_rejected(http: httpx.Client, namespace: str) -> None:
    answer = http.post(f"/apis/batch/v1/namespaces/{namespace}/cronjobs", json=cron_job("0 0 1 1 *", timeZone="a/" * 500_000))
    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["details"]["causes"]] == ["spec.timeZone"]


def test_a_schedule_with_a_number_of_many_digits_is_no_failure_of_the_server(http: httpx.Client, namespace: str) -> None:
    answer = http.post(f"/apis/batch/v1/namespaces/{namespace}/cronjobs", json=cron_job(f"@every {'9' * 500}h"))
    assert answer.status_code == 201


def test_a_long_accept_header_is_refused_and_not_parsed(http: httpx.Client, configmaps: str) -> None:
    answer = http.get(configmaps, headers={"Accept": "a/b," * 200_000 + "application/json"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert answer.json()["message"] == "the Accept header may not be more than 8192 bytes"
    refused = http.get("/apis", headers={"Accept": "application/yaml," * 1_000})
    assert refused.status_code == 400


def test_a_definition_with_too_many_schemas_is_refused(http: httpx.Client, namespace: str) -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(50_001)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    group = f"{namespace}.example.com"
    spec = {"group": group, "scope": "Namespaced", "names": {"plural": "wides", "kind": "Wide"}, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = http.post(definitions, json={"metadata": {"name": f"wides.{group}"}, "spec": spec})
    assert answer.status_code == 422
    assert "all versions together must have at most 50000 schemas" in answer.json()["message"]


def test_a_cluster_role_with_very_many_selectors_is_refused_and_held_nobody_up(http: httpx.Client) -> None:
    selectors: list[Any] = [{}] * 30_000
    role = {"metadata": {"name": "wide"}, "rules": [], "aggregationRule": {"clusterRoleSelectors": selectors}}
    answer = http.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", json=role)
    assert answer.status_code == 422
    assert "aggregationRule.clusterRoleSelectors: Too many: 30000: must have at most 100 items" in answer.json()["message"]


def test_a_device_with_very_many_conditions_is_refused_without_comparing_them_all(http: httpx.Client) -> None:
    conditions = [f"example.com/c{number}" for number in range(20_000)]
    device = {"name": "a", "allNodes": True, "bindingConditions": conditions, "bindingFailureConditions": conditions[::-1]}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.io", "pool": pool, "perDeviceNodeSelection": True, "devices": [device]}
    answer = http.post("/apis/resource.k8s.io/v1/resourceslices", json={"metadata": {"name": "wide"}, "spec": spec})
    assert answer.status_code == 422
    reasons = {(one["reason"], one["field"]) for one in answer.json()["details"]["causes"]}
    fields = ("spec.devices[0].bindingConditions", "spec.devices[0].bindingFailureConditions")
    assert reasons == {("FieldValueTooMany", field) for field in fields}


MANY_CONTAINERS = {"containers": [{"name": "c", "image": "i"}] * 50_000}


@pytest.mark.parametrize(
    ("path", "spec", "field"),
    [
        ("/api/v1/namespaces/{}/pods", MANY_CONTAINERS, "spec.containers"),
        ("/apis/apps/v1/namespaces/{}/deployments", {"template": {"spec": MANY_CONTAINERS}}, "spec.template.spec.containers"),
        (
            "/apis/batch/v1/namespaces/{}/cronjobs",
            {"jobTemplate": {"spec": {"template": {"spec": MANY_CONTAINERS}}}},
            "spec.jobTemplate.spec.template.spec.containers",
        ),
    ],
    ids=["Pod", "Deployment", "CronJob"],
)
def test_a_pod_of_very_many_containers_is_refused_before_it_gets_defaults(
    http: httpx.Client, namespace: str, path: str, spec: Any, field: str
) -> None:
    answer = http.post(path.format(namespace), json={"metadata": {"name": "many"}, "spec": spec})
    assert answer.status_code == 422
    [cause] = answer.json()["details"]["causes"]
    assert (cause["field"], cause["message"]) == (field, "Too many: 50000: must have at most 1000 items")


@pytest.mark.parametrize("kind", ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"])
def test_patch_cannot_create_a_pod_of_very_many_containers(http: httpx.Client, namespace: str, kind: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    assert http.post(path, json={**about, "spec": spec}).status_code == 201
    many = [{"name": f"c{number}", "image": "i"} for number in range(20_000)]
    patch = {**about, "spec": {"template": {"spec": {"containers": many}}}}
    headers = {"Content-Type": f"application/{kind}"}
    answer = http.patch(f"{path}/d", content=json.dumps(patch), params={"fieldManager": "m"}, headers=headers)
    assert answer.status_code == 422, answer.text[:500]
    assert "must have at most 1000 items" in answer.json()["message"]

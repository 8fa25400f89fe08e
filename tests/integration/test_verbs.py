"""The everyday verbs through the door: what is written is read, listed and watched."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watching import until_gone

MERGE = {"Content-Type": "application/merge-patch+json"}


def made(http: httpx.Client, path: str, name: str, **fields: Any) -> dict[str, Any]:
    meta = {"name": name, **fields.pop("metadata", {})}
    answer = http.post(path, json={"metadata": meta, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def events(http: httpx.Client, path: str, expected: int, **params: str) -> list[dict[str, Any]]:
    """The next events of a watch, as many as are expected."""
    found: list[dict[str, Any]] = []
    with http.stream("GET", path, params={"watch": "1", "timeoutSeconds": "20", **params}) as answer:
        lines: Iterator[str] = answer.iter_lines()
        while len(found) < expected:
            found.append(json.loads(next(lines)))
    return found


def test_created_object_is_the_one_that_is_read(http: httpx.Client, configmaps: str) -> None:
    created = made(http, configmaps, "a", data={"k": "v"})
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"]
    assert http.get(f"{configmaps}/a").json() == created


def test_generated_names_differ(http: httpx.Client, configmaps: str) -> None:
    names = {http.post(configmaps, json={"metadata": {"generateName": "x-"}}).json()["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_dry_run_changes_nothing(http: httpx.Client, configmaps: str) -> None:
    assert http.post(configmaps, params={"dryRun": "All"}, json={"metadata": {"name": "a"}}).status_code == 201
    assert http.get(f"{configmaps}/a").status_code == 404
    before = made(http, configmaps, "b", data={"k": "v"})
    patched = http.patch(f"{configmaps}/b", params={"dryRun": "All"}, content='{"data":{"k":"w"}}', headers=MERGE)
    assert patched.json()["data"] == {"k": "w"}
    assert http.get(f"{configmaps}/b").json() == before


def test_update_of_what_was_changed_meanwhile_is_a_conflict(http: httpx.Client, configmaps: str) -> None:
    first = made(http, configmaps, "a", data={"k": "1"})
    second = http.put(f"{configmaps}/a", json={**first, "data": {"k": "2"}})
    assert second.status_code == 200
    assert http.put(f"{configmaps}/a", json={**first, "data": {"k": "3"}}).status_code == 409
    assert http.get(f"{configmaps}/a").json() == second.json()


def test_update_that_changes_nothing_writes_nothing(http: httpx.Client, configmaps: str) -> None:
    first = made(http, configmaps, "a", data={"k": "1"})
    assert http.put(f"{configmaps}/a", json=first).json()["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_status_and_the_rest_are_written_apart(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    pod = made(http, path, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    assert pod["status"]["phase"] == "Pending"
    http.patch(f"{path}/p", content='{"status":{"phase":"Running"},"metadata":{"labels":{"a":"b"}}}', headers=MERGE)
    assert http.get(f"{path}/p").json()["status"]["phase"] == "Pending"
    http.patch(f"{path}/p/status", content='{"status":{"phase":"Running"},"spec":{"nodeName":"n"}}', headers=MERGE)
    now = http.get(f"{path}/p").json()
    assert now["status"]["phase"] == "Running"
    assert "nodeName" not in now["spec"]
    assert now["metadata"]["labels"] == {"a": "b"}


def test_selectors_choose(http: httpx.Client, configmaps: str) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        made(http, configmaps, name, metadata={"labels": {"l": label}})

    def names(**params: str) -> list[str]:
        return [item["metadata"]["name"] for item in http.get(configmaps, params=params).json()["items"]]

    assert names(labelSelector="l=x") == ["a", "c"]
    assert names(labelSelector="l notin (x)") == ["b"]
    assert names(fieldSelector="metadata.name=b") == ["b"]
    assert names(labelSelector="l=x", limit="1") == ["a"]


def test_watch_shows_each_change_once_and_in_order(http: httpx.Client, configmaps: str) -> None:
    start = http.get(configmaps).json()["metadata"]["resourceVersion"]
    made(http, configmaps, "a", metadata={"labels": {"l": "x"}})
    http.patch(f"{configmaps}/a", content='{"data":{"k":"v"}}', headers=MERGE)
    http.delete(f"{configmaps}/a")
    found = events(http, configmaps, 3, resourceVersion=start)
    assert [event["type"] for event in found] == ["ADDED", "MODIFIED", "DELETED"]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in found]
    assert revisions == sorted(set(revisions))
    assert found[2]["object"]["data"] == {"k": "v"}


def test_object_that_stops_matching_is_deleted_for_that_watcher(http: httpx.Client, configmaps: str) -> None:
    start = http.get(configmaps).json()["metadata"]["resourceVersion"]
    made(http, configmaps, "a", metadata={"labels": {"l": "x"}})
    http.patch(f"{configmaps}/a", content='{"metadata":{"labels":{"l":"y"}}}', headers=MERGE)
    http.patch(f"{configmaps}/a", content='{"metadata":{"labels":{"l":"x"}}}', headers=MERGE)
    found = events(http, configmaps, 3, resourceVersion=start, labelSelector="l=x")
    assert [event["type"] for event in found] == ["ADDED", "DELETED", "ADDED"]


def test_watch_without_a_version_begins_with_what_is_there(http: httpx.Client, configmaps: str) -> None:
    made(http, configmaps, "a")
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    found = events(http, configmaps, 2, **params)
    assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
    assert found[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_finalizer_holds_a_deleted_object_until_it_is_removed(http: httpx.Client, configmaps: str) -> None:
    made(http, configmaps, "a", metadata={"finalizers": ["example.com/hold"]})
    deleted = http.delete(f"{configmaps}/a")
    assert (deleted.status_code, deleted.json()["kind"]) == (200, "ConfigMap")
    assert http.get(f"{configmaps}/a").json()["metadata"]["deletionTimestamp"]
    http.patch(f"{configmaps}/a", content='{"metadata":{"finalizers":null}}', headers=MERGE)
    assert http.get(f"{configmaps}/a").status_code == 404


def test_scale_changes_replicas_of_the_object_behind_it(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made(http, path, "d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})
    scale = http.get(f"{path}/d/scale").json()
    assert (scale["kind"], scale["spec"]["replicas"], scale["status"]["selector"]) == ("Scale", 1, "a=b")
    del scale["metadata"]["resourceVersion"]  # whatever the Deployment's controller has written to it meanwhile
    assert http.put(f"{path}/d/scale", json={**scale, "spec": {"replicas": 4}}).status_code == 200
    now = http.get(f"{path}/d").json()
    assert (now["spec"]["replicas"], now["metadata"]["generation"]) == (4, 2)


def test_custom_kind_is_served_checked_and_shown_at_once(http: httpx.Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "default": "red"}},
            }
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    names = {"plural": "things", "kind": "Thing"}
    definition = {
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    assert http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition).status_code == 201
    path = f"/apis/{group}/v1/namespaces/{namespace}/things"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 3, "odd": True}}
    created = http.post(path, json=thing)
    assert created.status_code == 201, created.text
    assert created.json()["spec"] == {"size": 3, "color": "red"}
    assert created.json()["metadata"]["generation"] == 1
    refused = http.post(path, json=thing | {"metadata": {"name": "u"}, "spec": {"size": 0}})
    assert [cause["field"] for cause in refused.json()["details"]["causes"]] == ["spec.size"]
    table = http.get(path, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["t", 3]
    assert f"apis/{group}/v1" in http.get("/openapi/v3").json()["paths"]
    assert http.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}").status_code == 200
    until_gone(http, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"things.{group}")
    while http.get(path).status_code != 404:  # the server learns of it a moment later
        pass


def test_body_over_the_limit_is_refused(http: httpx.Client, configmaps: str) -> None:
    answer = http.post(configmaps, content=b'{"data":{"k":"' + b"x" * (3 * 1024 * 1024) + b'"}}')
    assert (answer.status_code, answer.json()["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"[" * 5000, "application/json"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "application/json"),
        (
            b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + b"".join(b"d%d: &d%d [*c, *c]\n" % (n, n) for n in range(3)),
            "application/yaml",
        ),
        (b"a: &x [*x]", "application/yaml"),
        (b"%", "application/yaml"),
    ],
)
def test_hostile_documents_are_bad_requests(http: httpx.Client, configmaps: str, body: bytes, media: str) -> None:
    answer = http.post(configmaps, content=body, headers={"Content-Type": media})
    assert answer.status_code in {400, 422}
    assert answer.json()["kind"] == "Status"


@pytest.fixture
def pod(http: httpx.Client, namespace: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/pods"
    labels = {"app": "web"}
    made(http, path, "p", metadata={"labels": labels}, spec={"containers": [{"name": "c", "image": "i"}]})
    return f"{path}/p"


def test_pod_is_bound_to_a_node_once(http: httpx.Client, pod: str) -> None:
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert http.post(f"{pod}/binding", json=binding).status_code == 201
    now = http.get(pod).json()
    assert now["spec"]["nodeName"] == "n1"
    assert [one["status"] for one in now["status"]["conditions"] if one["type"] == "PodScheduled"] == ["True"]
    assert http.post(f"{pod}/binding", json=binding).status_code == 409


def test_pod_is_bound_by_a_binding_that_names_it(http: httpx.Client, namespace: str, pod: str) -> None:
    bindings = f"/api/v1/namespaces/{namespace}/bindings"
    uid = http.get(pod).json()["metadata"]["uid"]
    notes = {"annotations": {"note": "x"}, "labels": {"app": "other", "zone": "z"}}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", **notes}, "target": {"kind": "Node", "name": "n1"}}
    stale = {**binding, "metadata": {"name": "p", "uid": "another"}}
    assert http.post(bindings, json=stale).status_code == 409
    assert http.post(bindings, json={**binding, "metadata": {"name": "absent"}}).status_code == 404
    assert http.post(bindings, json={**binding, "metadata": {}}).status_code == 400
    assert http.post(bindings, json={**binding, "target": {}}).json()["details"]["causes"][0]["field"] == "target.name"
    assert http.get(pod).json()["spec"].get("nodeName") is None
    done = http.post(bindings, json={**binding, "metadata": {**binding["metadata"], "uid": uid}})  # type: ignore[dict-item]
    assert (done.status_code, done.json()["status"]) == (201, "Success")
    now = http.get(pod).json()
    assert now["spec"]["nodeName"] == "n1"
    assert now["metadata"]["annotations"] == {"note": "x"}
    assert now["metadata"]["labels"] == {"app": "web", "zone": "z"}
    assert http.post(bindings, json=binding).status_code == 409
    assert http.get(bindings).status_code == 405


EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


def covered(http: httpx.Client, namespace: str, pod: str, *, is_ready: bool = True, **spec: Any) -> str:
    """The path of a budget for a pod that runs."""
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    made(http, budgets, "b", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **spec})
    told = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(is_ready)}]}
    assert http.patch(f"{pod}/status", content=json.dumps({"status": told}), headers=MERGE).status_code == 200
    return f"{budgets}/b"


def allow(http: httpx.Client, budget: str, number: int, healthy: int = 1, desired: int = 1) -> None:
    status = {"disruptionsAllowed": number, "currentHealthy": healthy, "desiredHealthy": desired, "observedGeneration": 1}
    assert http.patch(f"{budget}/status", content=json.dumps({"status": status}), headers=MERGE).status_code == 200


def test_eviction_waits_until_the_budget_is_reckoned(http: httpx.Client, namespace: str, pod: str) -> None:
    covered(http, namespace, pod)
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    [cause] = refused.json()["details"]["causes"]
    assert cause == {"reason": "DisruptionBudget", "message": "The disruption budget b is still being processed by the server."}


def test_eviction_is_refused_if_the_budget_allows_none(http: httpx.Client, namespace: str, pod: str) -> None:
    allow(http, covered(http, namespace, pod), 0)
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert refused.status_code == 429
    assert refused.json()["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    [cause] = refused.json()["details"]["causes"]
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"
    assert http.get(pod).status_code == 200


def test_eviction_is_charged_to_the_budget(http: httpx.Client, namespace: str, pod: str) -> None:
    budget = covered(http, namespace, pod)
    allow(http, budget, 1, healthy=2)
    http.patch(pod, content='{"metadata":{"finalizers":["test.example/hold"]}}', headers=MERGE)
    assert http.post(f"{pod}/eviction", params={"dryRun": "All"}, json=EVICTION).status_code == 201
    assert http.get(budget).json()["status"]["disruptionsAllowed"] == 1
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201
    status = http.get(budget).json()["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionAllowed", "False")
    left = http.get(pod).json()
    assert "deletionTimestamp" in left["metadata"]
    assert "DisruptionTarget" in [one["type"] for one in left["status"]["conditions"]]
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201, "it is on its way out, and costs nothing more"


def test_pod_that_waits_for_a_node_costs_nothing(http: httpx.Client, namespace: str, pod: str) -> None:
    made(http, f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", "b", spec={"minAvailable": 1, "selector": {}})
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == 201
    assert http.get(pod).status_code == 404


@pytest.mark.parametrize(
    ("policy", "healthy", "code"), [("AlwaysAllow", 0, 201), ("IfHealthyBudget", 0, 429), ("IfHealthyBudget", 1, 201)]
)
def test_pod_that_does_not_serve_costs_nothing(
    http: httpx.Client, namespace: str, pod: str, policy: str, healthy: int, code: int
) -> None:
    budget = covered(http, namespace, pod, is_ready=False, unhealthyPodEvictionPolicy=policy)
    allow(http, budget, 0, healthy)
    assert http.post(f"{pod}/eviction", json=EVICTION).status_code == code
    assert "disruptedPods" not in http.get(budget).json()["status"]


def test_pod_of_two_budgets_is_not_evicted(http: httpx.Client, namespace: str, pod: str) -> None:
    allow(http, covered(http, namespace, pod), 1)
    made(http, f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", "c", spec={"minAvailable": 0, "selector": {}})
    refused = http.post(f"{pod}/eviction", json=EVICTION)
    assert (refused.status_code, refused.json()["reason"]) == (500, "InternalError")


def test_eviction_of_a_certain_version_of_a_pod(http: httpx.Client, namespace: str, pod: str) -> None:
    budget = covered(http, namespace, pod)
    allow(http, budget, 1)
    other = {**EVICTION, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}}
    assert http.post(f"{pod}/eviction", json=other).status_code == 409
    assert http.get(budget).json()["status"]["disruptionsAllowed"] == 1, "nothing is charged for it"
    version = http.get(pod).json()["metadata"]["resourceVersion"]
    meant = {**EVICTION, "deleteOptions": {"preconditions": {"resourceVersion": version}}}
    assert http.post(f"{pod}/eviction", json=meant).status_code == 201
    assert http.get(pod).status_code == 404


def test_debug_container_is_added_through_its_own_path_only(http: httpx.Client, pod: str) -> None:
    change = json.dumps({"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}})
    assert http.patch(pod, content=change, headers=MERGE).status_code == 422
    assert http.patch(f"{pod}/ephemeralcontainers", content=change, headers=MERGE).status_code == 200
    assert http.get(pod).json()["spec"]["ephemeralContainers"] == [
        {
            "name": "d",
            "image": "i",
            "imagePullPolicy": "Always",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ]


def test_debug_container_that_is_wrong_is_refused_at_once_and_the_pod_can_be_changed(http: httpx.Client, pod: str) -> None:
    wrong = {"name": "c", "image": "x", "ports": [{"containerPort": 80}], "targetContainerName": "zz"}
    change = json.dumps({"spec": {"ephemeralContainers": [wrong]}})
    assert http.patch(f"{pod}/ephemeralcontainers", content=change, headers=MERGE).status_code == 422
    assert http.patch(pod, content=json.dumps({"metadata": {"labels": {"a": "b"}}}), headers=MERGE).status_code == 200


def test_resize_over_the_limit_or_to_another_class_of_service_is_refused(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    amounts = {"cpu": "2", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    made(http, path, "p", spec={"containers": [container]})
    for cpu, told in (("5", "must be less than or equal to cpu limit of 2"), ("500m", "Pod QOS Class may not change")):
        change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        answer = http.patch(f"{path}/p/resize", content=json.dumps(change), headers=headers)
        assert answer.status_code == 422
        assert told in answer.json()["message"]


def test_range_of_a_node_changed_in_one_of_its_two_fields(http: httpx.Client, namespace: str) -> None:
    node, ranges = f"/api/v1/nodes/{namespace}", {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}
    made(http, "/api/v1/nodes", namespace)
    for range_, code in (("10.0.0.0/24", 200), ("10.1.0.0/24", 422)):
        answer = http.patch(node, content=json.dumps({"spec": {"podCIDR": range_}}), headers=MERGE)
        assert answer.status_code == code, answer.text
    told = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    assert told in answer.json()["message"]
    spec = http.get(node).json()["spec"]
    assert {name: spec[name] for name in ranges} == ranges
    http.delete(node)


@pytest.fixture
def signing_request(http: httpx.Client, namespace: str) -> Iterator[str]:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
    spec = {"request": base64.b64encode(pem).decode(), "signerName": "example.com/s", "usages": ["client auth"]}
    made(http, path, namespace, spec=spec)
    yield f"{path}/{namespace}"
    http.delete(f"{path}/{namespace}")


@pytest.mark.parametrize("part", ["approval", "status"])
def test_annotations_and_labels_written_with_conditions_of_a_signing_request_were_lost(
    http: httpx.Client, signing_request: str, part: str
) -> None:
    spec = http.get(signing_request).json()["spec"]
    meta = {"annotations": {"patched": "true"}, "labels": {"a": "b"}}
    change = {"metadata": meta, "spec": {"signerName": "x.y/z"}, "status": {"conditions": [{"type": "Patched", "status": "True"}]}}
    answer = http.patch(f"{signing_request}/{part}", content=json.dumps(change), headers=MERGE)
    assert answer.status_code == 200, answer.text
    found = http.get(signing_request).json()
    assert {name: found["metadata"][name] for name in meta} == meta
    assert found["spec"] == spec
    condition = found["status"]["conditions"][0]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] >= found["metadata"]["creationTimestamp"]


def test_applied_annotations_of_an_approval_belong_to_who_applied_them(http: httpx.Client, signing_request: str) -> None:
    document = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    for notes in ({"a": "b", "c": "d"}, {"a": "b"}):
        body = json.dumps({**document, "metadata": {"annotations": notes}})
        headers = {"Content-Type": "application/apply-patch+yaml"}
        answer = http.patch(f"{signing_request}/approval", params={"fieldManager": "m"}, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert http.get(signing_request).json()["metadata"]["annotations"] == notes


def test_approval_changes_conditions_only_and_takes_none_back(http: httpx.Client, signing_request: str) -> None:
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m", "lastUpdateTime": "2020-01-01T00:00:00Z"}
    change = {"status": {"certificate": "AAAA", "conditions": [approved]}}
    answer = http.patch(f"{signing_request}/approval", content=json.dumps(change), headers=MERGE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"].keys() == {"conditions"}
    assert answer.json()["status"]["conditions"][0]["lastUpdateTime"] == approved["lastUpdateTime"]
    back = json.dumps({"status": {"conditions": []}})
    assert http.patch(f"{signing_request}/approval", content=back, headers=MERGE).status_code == 422


def test_get_of_a_moment_that_has_not_come_was_answered_with_an_older_one(http: httpx.Client, configmaps: str) -> None:
    made = http.post(configmaps, json={"metadata": {"name": "a"}}).json()
    revision = int(made["metadata"]["resourceVersion"])
    for reached in ("0", str(revision), "1"):
        assert http.get(f"{configmaps}/a", params={"resourceVersion": reached}).json() == made
    ahead = http.get(f"{configmaps}/a", params={"resourceVersion": str(revision + 1_000_000)})
    assert (ahead.status_code, ahead.json()["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    assert http.get(f"{configmaps}/a", params={"resourceVersion": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "shape", "hint"),
    [
        ("GET", "", "PartialObjectMetadata", "ask for PartialObjectMetadataList"),
        ("GET", "/a", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
        ("GET", "?watch=1", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
        ("POST", "", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
    ],
)
def test_metadata_of_a_list_or_of_one_object_where_there_is_the_other_were_answered(
    http: httpx.Client, configmaps: str, method: str, path: str, shape: str, hint: str
) -> None:
    http.post(configmaps, json={"metadata": {"name": "a"}}).raise_for_status()
    accept = {"Accept": f"application/json;as={shape};g=meta.k8s.io;v=v1"}
    answer = http.request(
        method, f"{configmaps}{path}", json={"metadata": {"name": "b"}} if method == "POST" else None, headers=accept
    )
    assert (answer.status_code, answer.json()["reason"]) == (406, "NotAcceptable")
    assert answer.json()["message"].endswith(hint)
    assert [one["metadata"]["name"] for one in http.get(configmaps).json()["items"]] == ["a"]

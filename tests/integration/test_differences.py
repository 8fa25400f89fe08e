"""Rows of docs/differences.md, each shown by requests. Other rows have their tests where the topic has its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from support.doc_tables import DOCS
from support.sample_objects import create_object

DIFFERENCES = (DOCS / "differences.md").read_text().splitlines()
APIS, CORE = "/apis", "/api/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POD = {"containers": [{"name": "c", "image": "i"}]}
MERGE, STRATEGIC, JSON_PATCH = (f"application/{name}+json" for name in ("merge-patch", "strategic-merge-patch", "json-patch"))
APPLY = "application/apply-patch+yaml"
OWN = "/apis/probate.dev/v1alpha1"


class Difference(NamedTuple):
    """A request whose response a row describes. `{}` in the path is a namespace with a pod `p` and a service account `a`."""

    row: str
    method: str
    path: str
    code: int
    body: Any = None
    message: str = ""
    media: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


MAPS, PODS = f"{CORE}/namespaces/{{}}/configmaps", f"{CORE}/namespaces/{{}}/pods"
TOKEN = f"{CORE}/namespaces/{{}}/serviceaccounts/a/token"
HPAS = f"{APIS}/autoscaling/v2/namespaces/{{}}/horizontalpodautoscalers"
CREATED = "a create (other than a dry run) with a resourceVersion, a watch from an invalid resourceVersion"
PARSED = "more than 1,000 impersonation headers; more than 100 audiences in a TokenRequest; a token of more than 16 KiB"
PATCHED = "strategic merge patches without the merge key, or with an unknown `$patch`"
POINTERS = "JSON patch indexes such as `-1` or `01`, pointers without a leading `/`"
APPLIED = "an applied document that does not fit its kind: an unknown field, two items of one name"
APPLIED_UID = "an apply with a uid or a resourceVersion, to an object that does not exist"
STREAMS = "the subresources `log`, `exec`, `attach`, `portforward`, `proxy`"
PROFILES = "`/debug/pprof`, `/debug/flags`, `/metrics/slis`, `/statusz`, `/flagz`"
OWN_PATHS = "`/apis/probate.dev/v1alpha1/dependents`, `/apis/probate.dev/v1alpha1/owners`, `/debug/ownership`"
HEADERS = "two `Impersonate-User`, `Impersonate-Uid` or `Authorization` headers"
AUTOSCALERS = "HorizontalPodAutoscalers"
UNSERVED = "kinds and versions that Kubernetes does not serve by default"


def applied(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": POD, **fields}


def autoscaler(least: int) -> dict[str, Any]:
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "metadata": {"name": "h"},
        "spec": {"minReplicas": least, "maxReplicas": 2, "scaleTargetRef": target, "metrics": [metric]},
    }


RESPONSES = (
    Difference(CREATED, "POST", MAPS, 400, {"metadata": {"name": "m", "resourceVersion": "1"}}),
    Difference(CREATED, "GET", f"{MAPS}?watch=1&resourceVersion=x", 400),
    Difference("a path where nothing is served", "GET", "/nothing", 404, message="/nothing"),
    *(
        Difference(OWN_PATHS, "GET", f"{path}?apiVersion=v1&kind=Pod&name=p&namespace={{}}", 200)
        for path in ("/debug/ownership", f"{OWN}/dependents", f"{OWN}/owners")
    ),
    Difference(PARSED, "GET", CORE, 400, headers=(("Impersonate-User", "u"), *[("Impersonate-Group", "g")] * 1_000)),
    Difference(
        PARSED,
        "POST",
        TOKEN,
        422,
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"] * 101}},
    ),
    Difference(PATCHED, "PATCH", f"{PODS}/p", 400, {"spec": {"containers": [{"image": "j"}]}}, media=STRATEGIC),
    Difference(PATCHED, "PATCH", f"{PODS}/p", 400, {"spec": {"$patch": "x"}}, media=STRATEGIC),
    Difference(
        POINTERS, "PATCH", f"{PODS}/p", 422, [{"op": "test", "path": "/spec/containers/-1/name", "value": "c"}], media=JSON_PATCH
    ),
    Difference(
        POINTERS, "PATCH", f"{PODS}/p", 422, [{"op": "test", "path": "/spec/containers/00/name", "value": "c"}], media=JSON_PATCH
    ),
    Difference(
        POINTERS, "PATCH", f"{PODS}/p", 422, [{"op": "test", "path": "x/spec/containers/0/name", "value": "c"}], media=JSON_PATCH
    ),
    Difference(APPLIED, "PATCH", f"{PODS}/new?fieldManager=m", 400, applied(nonsense=1), "nonsense", media=APPLY),
    Difference(
        APPLIED,
        "PATCH",
        f"{PODS}/new?fieldManager=m",
        400,
        applied(spec={"containers": POD["containers"] * 2}),
        "containers",
        media=APPLY,
    ),
    Difference(APPLIED_UID, "PATCH", f"{PODS}/new?fieldManager=m", 409, applied(metadata={"name": "new", "uid": "u"}), media=APPLY),
    Difference(
        APPLIED_UID,
        "PATCH",
        f"{PODS}/new?fieldManager=m",
        409,
        applied(metadata={"name": "new", "resourceVersion": "1"}),
        media=APPLY,
    ),
    Difference(HEADERS, "GET", CORE, 400, headers=(("Impersonate-User", "u"), ("Impersonate-User", "v"))),
    Difference(HEADERS, "GET", CORE, 400, headers=(("Impersonate-User", "u"), ("Impersonate-Uid", "1"), ("Impersonate-Uid", "2"))),
    *(Difference(STREAMS, "GET", f"{PODS}/p/{name}", 404) for name in ("log", "exec", "attach", "portforward", "proxy")),
    *(
        Difference(PROFILES, "GET", path, 404)
        for path in ("/debug/pprof/", "/debug/flags/v", "/metrics/slis", "/statusz", "/flagz")
    ),
    *(
        Difference(UNSERVED, "GET", f"{APIS}/{path}", 404)
        for path in (
            "coordination.k8s.io/v1beta1/leasecandidates",
            "internal.apiserver.k8s.io/v1alpha1/storageversions",
            "scheduling.k8s.io/v1beta1/podgroups",
            "scheduling.k8s.io/v1beta1/workloads",
            "lifecycle.k8s.io/v1alpha1/evictionrequests",
            "resource.k8s.io/v1beta1/deviceclasses",
        )
    ),
    Difference(AUTOSCALERS, "POST", HPAS, 422, autoscaler(0), "spec.minReplicas"),
)


@pytest.fixture
def furnished(http: httpx.Client, namespace: str) -> str:
    """A namespace with a pod `p` and a service account `a`."""
    create_object(http, PODS.format(namespace), "p", spec=POD)
    create_object(http, f"{CORE}/namespaces/{namespace}/serviceaccounts", "a")
    return namespace


@pytest.fixture
def things(http: httpx.Client) -> Iterator[str]:
    """A custom kind whose first printer column has a path of too many steps. Yields the path of its objects."""
    columns = [{"name": "Deep", "type": "string", "jsonPath": "..a" * 4}, {"name": "Flat", "type": "string", "jsonPath": ".a"}]
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "additionalPrinterColumns": columns}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "differences.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    create_object(http, DEFINITIONS, "things.differences.example.com", spec=spec)
    yield "/apis/differences.example.com/v1/things"
    http.delete(f"{DEFINITIONS}/things.differences.example.com")


def check_documented(row: str) -> None:
    assert any(line.startswith(f"| {row}") for line in DIFFERENCES), f"docs/differences.md has no row {row!r}"


@pytest.mark.parametrize("case", RESPONSES, ids=lambda case: f"{case.method} {case.path} {case.code}")
def test_request_is_answered_as_its_row_says(http: httpx.Client, furnished: str, case: Difference) -> None:
    check_documented(case.row)
    headers = [("Content-Type", case.media), *case.headers]
    response = http.request(case.method, case.path.format(furnished), json=case.body, headers=headers)
    assert response.status_code == case.code, response.text
    if case.code >= 400:
        assert response.json()["kind"] == "Status"
        assert case.message in response.json()["message"]


def test_object_with_many_problems_reports_the_first_ones(http: httpx.Client, configmaps: str) -> None:
    check_documented("objects with more than 250 problems")
    response = http.post(configmaps, json={"metadata": {"name": "m"}, "data": {f"{number}/": "" for number in range(300)}})
    assert (response.status_code, len(response.json()["details"]["causes"])) == (422, 250)


def test_refused_patch_is_not_quoted(http: httpx.Client, configmaps: str) -> None:
    check_documented("a refused patch")
    create_object(http, configmaps, "m", data={"known": "content-of-m"})
    patch = [{"op": "replace", "path": "/metadata/labels", "value": {"a": 1}}]
    for media, body in ((JSON_PATCH, patch), (MERGE, {"data": {"new": 1}}), (STRATEGIC, {"data": {"new": 1}})):
        refused = http.patch(f"{configmaps}/m", json=body, headers={"Content-Type": media})
        assert refused.status_code in {400, 422}
        assert "content-of-m" not in refused.text


@pytest.mark.parametrize(("owners", "code"), [(1_000, 201), (1_001, 413)])
def test_index_entries_of_an_object_are_limited(http: httpx.Client, configmaps: str, owners: int, code: int) -> None:
    check_documented("an object with more than 2,000 index entries")
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": f"u-{number}", "blockOwnerDeletion": True}
        for number in range(owners)
    ]
    assert http.post(configmaps, json={"metadata": {"name": "m", "ownerReferences": references}}).status_code == code


def test_columns_from_a_path_of_too_many_steps_on_are_not_shown(http: httpx.Client, things: str) -> None:
    check_documented("a printer column of a custom kind whose JSONPath has more than 3 `..`")
    table = http.get(things, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name"]


@pytest.mark.parametrize("path", ["/apis", "/api/v1", "/apis/apps/v1", "/openapi/v3", "/openapi/v3/apis/apps/v1"])
def test_documents_about_the_api_have_no_protobuf_form(http: httpx.Client, path: str) -> None:
    check_documented("discovery documents and OpenAPI v3 in protobuf")
    accepted = "application/vnd.kubernetes.protobuf, application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    response = http.get(path, headers={"Accept": accepted})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json()


def test_openapi_v2_has_a_protobuf_form(http: httpx.Client) -> None:
    check_documented("discovery documents and OpenAPI v3 in protobuf")
    response = http.get("/openapi/v2", headers={"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
    assert "protobuf" in response.headers["content-type"]


def test_discovery_lists_subresources_that_are_not_found(http: httpx.Client) -> None:
    check_documented(STREAMS)
    listed = {resource["name"] for resource in http.get(CORE).json()["resources"]}
    assert {f"pods/{name}" for name in ("log", "exec", "attach", "portforward", "proxy")} <= listed


def test_there_are_no_component_statuses(http: httpx.Client) -> None:
    check_documented("ComponentStatuses")
    assert http.get(f"{CORE}/componentstatuses").json()["items"] == []


def test_autoscaler_has_no_generation(http: httpx.Client, namespace: str) -> None:
    check_documented(AUTOSCALERS)
    created = http.post(HPAS.format(namespace), json=autoscaler(1))
    assert created.status_code == 201, created.text
    assert "generation" not in created.json()["metadata"]


def test_pods_of_a_restricted_namespace_stay_as_written(http: httpx.Client) -> None:
    check_documented("the admission plugins PodSecurity")
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    create_object(http, f"{CORE}/namespaces", "restricted", metadata={"labels": labels})
    privileged = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}
    created = create_object(http, PODS.format("restricted"), "p", spec=privileged)
    assert created["spec"]["containers"][0]["securityContext"] == {"privileged": True}


def test_token_requests_pass_no_admission(http: httpx.Client, furnished: str) -> None:
    check_documented("TokenRequests")
    accounts = {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["serviceaccounts", "serviceaccounts/token"],
    }
    selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": furnished}}}
    spec = {"matchConstraints": {"resourceRules": [accounts], **selected}, "validations": [{"expression": "false"}]}
    create_object(http, f"{REGISTRATION}/validatingadmissionpolicies", furnished, spec=spec)
    bound = {"policyName": furnished, "validationActions": ["Deny"]}
    create_object(http, f"{REGISTRATION}/validatingadmissionpolicybindings", furnished, spec=bound)
    denied = http.post(f"{CORE}/namespaces/{furnished}/serviceaccounts", json={"metadata": {"name": "b"}})
    assert denied.status_code == 422, denied.text
    assert http.post(TOKEN.format(furnished), json={}).status_code == 201


def test_services_have_no_ip_addresses(http: httpx.Client, namespace: str) -> None:
    check_documented("addresses of services")
    service = create_object(http, f"{CORE}/namespaces/{namespace}/services", "s", spec={"ports": [{"port": 80}]})
    assert service["spec"]["clusterIP"].startswith("10.")
    assert http.get("/apis/networking.k8s.io/v1/ipaddresses").json()["items"] == []


@pytest.mark.parametrize("kind", ["flowschemas", "prioritylevelconfigurations"])
def test_mandatory_flow_control_object_may_have_any_valid_content(http: httpx.Client, kind: str) -> None:
    check_documented("FlowSchemas and PriorityLevelConfigurations that are called")
    path = f"/apis/flowcontrol.apiserver.k8s.io/v1/{kind}/catch-all"
    original = http.get(path).json()["spec"]
    limited = {"type": "Limited", "limited": {"nominalConcurrencyShares": 77, "limitResponse": {"type": "Reject"}}}
    spec = limited if kind == "prioritylevelconfigurations" else {**original, "matchingPrecedence": 9_000}
    try:
        changed = http.patch(path, json={"spec": spec}, headers={"Content-Type": MERGE})
        assert (changed.status_code, changed.json()["metadata"]["generation"] > 1) == (200, True)
    finally:
        http.patch(path, json={"spec": original}, headers={"Content-Type": MERGE})


@pytest.mark.parametrize(
    ("path", "spec", "changed"),
    [
        ("certificates.k8s.io/v1/namespaces/{}/podcertificaterequests", {"signerName": "a"}, {"signerName": "b"}),
        ("certificates.k8s.io/v1/clustertrustbundles", {"trustBundle": "no PEM"}, {"trustBundle": "none either"}),
        ("storagemigration.k8s.io/v1/storageversionmigrations", {"resource": {"resource": "a"}}, {"resource": {"resource": "b"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kind_without_validation_may_have_any_content(
    http: httpx.Client, namespace: str, path: str, spec: dict[str, Any], changed: dict[str, Any]
) -> None:
    check_documented("PodCertificateRequests, ClusterTrustBundles and StorageVersionMigrations")
    path = f"{APIS}/{path.format(namespace)}"
    created = create_object(http, path, "x", spec=spec)
    updated = http.put(f"{path}/x", json={**created, "spec": changed})
    assert updated.status_code == 200, updated.text
    assert updated.json()["spec"] != created["spec"]
    http.delete(f"{path}/x")


def test_main_resource_writes_the_status_of_a_certificate_request_of_a_pod(http: httpx.Client, namespace: str) -> None:
    check_documented("PodCertificateRequests, ClusterTrustBundles and StorageVersionMigrations")
    path = f"{APIS}/certificates.k8s.io/v1/namespaces/{namespace}/podcertificaterequests"
    created = create_object(http, path, "x", spec={"signerName": "a"}, status={"certificateChain": "b"})
    assert created["status"]["certificateChain"] == "b"

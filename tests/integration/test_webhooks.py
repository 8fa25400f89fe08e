"""Admission webhooks: real TLS servers, called by a server in the test's process."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, Response, running
from support.webhook_servers import MAPS, PODS, WebhookServer, allow, configuration, deny, patch, review_response, serving

REGISTRATION = "apis/admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = f"{REGISTRATION}/mutatingwebhookconfigurations", f"{REGISTRATION}/validatingwebhookconfigurations"
MAPS_PATH = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
NEW: dict[str, Any] = {"metadata": {"name": "m"}}
AUTOSCALER = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3, "minReplicas": 1}


async def configure(server: InProcessServer, resource: str, hook: WebhookServer, **options: Any) -> None:
    await server.create(resource, "", configuration(resource, options.pop("client", None) or hook.client, **options))


async def post(server: InProcessServer, object_: Any = NEW, **query: Any) -> Response:
    return await server.request("POST", MAPS_PATH, object_, query=query)


async def test_review_has_all_fields_that_kubernetes_sends() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        await configure(server, VALIDATING, hook)
        response = await post(server, {"metadata": {"name": "m"}, "data": {"a": "b"}}, fieldManager="me")
        assert response.code == 201, response.body
        [review] = hook.reviews
        assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        request = review["request"]
        object_ = request.pop("object")
        assert (object_["apiVersion"], object_["kind"], object_["data"]) == ("v1", "ConfigMap", {"a": "b"})
        assert object_["metadata"]["uid"] == response.json["metadata"]["uid"]
        kind, resource = ({"group": "", "version": "v1", name: value} for name, value in _names("ConfigMap", "configmaps"))
        assert request.pop("uid")
        assert request == {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "m",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "system:unsecured", "groups": ["system:masters", "system:authenticated"]},
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"},
        }
        assert hook.paths == ["/hook?timeout=10s"]


def _names(kind: str, plural: str) -> list[tuple[str, str]]:
    return [("kind", kind), ("resource", plural)]


async def test_denial_keeps_the_webhooks_message() -> None:
    async with running(collects=False) as server, serving(deny) as hook:
        await configure(server, VALIDATING, hook)
        response = await post(server)
        assert response.code == 400
        assert response.json["message"] == 'admission webhook "guard.example.com" denied the request: not today'
        status = {"code": 403, "reason": "Forbidden", "details": {"causes": [{"field": "data", "message": "bad"}]}}
        hook.answer = lambda review: review_response(review, allowed=False, status=status)
        response = await post(server)
        assert (response.code, response.json["reason"]) == (403, "Forbidden")
        assert response.json["message"] == 'admission webhook "guard.example.com" denied the request: Forbidden'
        assert response.json["details"]["causes"] == [{"field": "data", "message": "bad"}]
        hook.answer = lambda review: review_response(review, allowed=False)
        assert "denied the request without explanation" in (await post(server)).json["message"]
        assert (await server.request("GET", f"{MAPS_PATH}/m")).code == 404


async def test_patch_is_applied_and_seen_by_the_next_webhook() -> None:
    add = {"op": "add", "path": "/data", "value": {"a": "b"}}
    async with running(collects=False) as server, serving(lambda review: patch(review, add)) as one, serving(allow) as two:
        await configure(server, MUTATING, two, name="second")
        await configure(server, MUTATING, one, name="first")
        response = await post(server)
        assert response.json["data"] == {"a": "b"}
        assert "data" not in one.requests[0]["object"]
        assert two.requests[0]["object"]["data"] == {"a": "b"}


@pytest.mark.parametrize(("policy", "times"), [("Never", 1), ("IfNeeded", 2)])
async def test_reinvocation_policy_calls_a_webhook_again_after_later_changes(policy: str, times: int) -> None:
    add = {"op": "add", "path": "/data", "value": {"a": "b"}}
    async with running(collects=False) as server, serving(allow) as one, serving(lambda review: patch(review, add)) as two:
        await configure(server, MUTATING, one, name="first", reinvocationPolicy=policy)
        await configure(server, MUTATING, two, name="second", reinvocationPolicy="IfNeeded")
        await post(server)
        assert (len(one.reviews), len(two.reviews)) == (times, 1)


RULES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("all resources alone", {"resources": ["*"]}, ["configmaps", "pods"]),
    ("all", {"resources": ["*/*"]}, ["configmaps", "pods", "pods/status"]),
    ("a resource and its parts", {"resources": ["pods/*"]}, ["pods", "pods/status"]),
    ("a part alone", {"resources": ["pods/status"]}, ["pods/status"]),
    ("that part of all", {"resources": ["*/status"]}, ["pods/status"]),
    ("another group", {"resources": ["*"], "apiGroups": ["apps"]}, []),
    ("any group and version", {"resources": ["pods"], "apiGroups": ["*"], "apiVersions": ["*"]}, ["pods"]),
    ("updates only", {"resources": ["*/*"], "operations": ["UPDATE"]}, ["pods/status"]),
    ("what is in no namespace", {"resources": ["*/*"], "scope": "Cluster"}, []),
    ("what is in one", {"resources": ["*"], "scope": "Namespaced"}, ["configmaps", "pods"]),
]


@pytest.mark.parametrize(("_name", "rule", "asked"), RULES, ids=[one[0] for one in RULES])
async def test_rules_select_the_calls(_name: str, rule: dict[str, Any], asked: list[str]) -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        await configure(server, VALIDATING, hook, rules=[{**PODS, **rule}])
        await post(server)
        await server.create("pods", "default", {**NEW, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        path = "/api/v1/namespaces/default/pods/m/status"
        assert (await server.request("PATCH", path, {"status": {"phase": "Running"}}, media=MERGE)).code == 200
        found = ["/".join(filter(None, (one["resource"]["resource"], one.get("subResource")))) for one in hook.requests]
        assert found == asked


async def test_updates_and_deletes_send_the_old_object() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        await post(server)
        await configure(server, VALIDATING, hook)
        await server.request("PATCH", f"{MAPS_PATH}/m", {"data": {"a": "b"}}, media=MERGE)
        await server.request("DELETE", f"{MAPS_PATH}/m", {"gracePeriodSeconds": 3, "propagationPolicy": "Background"})
        update, delete = hook.requests
        assert ("data" in update["oldObject"], update["object"]["data"]) == (False, {"a": "b"})
        assert (delete["operation"], delete["object"], delete["oldObject"]["data"]) == ("DELETE", None, {"a": "b"})
        said = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        assert delete["options"] == {**said, "gracePeriodSeconds": 3, "propagationPolicy": "Background"}


async def test_selectors_match_labels_of_namespaces_and_objects() -> None:
    async with running(collects=False) as server, serving(deny) as hook:
        await server.create("namespaces", "", {"metadata": {"name": "guarded", "labels": {"guard": "on"}}})
        chosen = {"matchLabels": {"guard": "on"}}
        await configure(server, VALIDATING, hook, namespaceSelector=chosen, objectSelector={"matchLabels": {"l": "m"}})
        labelled = {"metadata": {"name": "l", "labels": {"l": "m"}}}
        assert (await post(server, labelled)).code == 201
        assert (await server.request("POST", "/api/v1/namespaces/guarded/configmaps", NEW)).code == 201
        assert (await server.request("POST", "/api/v1/namespaces/guarded/configmaps", labelled)).code == 400
        assert (await server.request("PATCH", f"{MAPS_PATH}/l", {"metadata": {"labels": None}}, media=MERGE)).code == 200


async def test_namespace_selector_matches_a_namespaces_own_labels_and_all_cluster_scoped_objects() -> None:
    async with running(collects=False) as server, serving(deny) as hook:
        rules = [{**PODS, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["namespaces", "priorityclasses"]}]
        await configure(server, VALIDATING, hook, rules=rules, namespaceSelector={"matchLabels": {"guard": "on"}})
        guarded = {"metadata": {"name": "guarded", "labels": {"guard": "on"}}}
        assert (await server.request("POST", "/api/v1/namespaces", guarded)).code == 400
        assert (await server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "free"}})).code == 201
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        assert (await server.request("POST", classes, {"metadata": {"name": "p"}, "value": 1})).code == 400


async def test_object_is_sent_in_the_version_of_the_rule() -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "resources": ["horizontalpodautoscalers"],
    }
    change = {"op": "replace", "path": "/spec/maxReplicas", "value": 7}
    one = {"metadata": {"name": "h"}, "spec": {**AUTOSCALER, "targetCPUUtilizationPercentage": 50}}
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    async with running(collects=False) as server, serving(lambda review: patch(review, change)) as hook:
        await configure(server, MUTATING, hook, rules=[rule])
        response = await server.request("POST", path, one)
        assert response.json["spec"]["maxReplicas"] == 7, response.body
        assert response.json["spec"]["targetCPUUtilizationPercentage"] == 50
        [request] = hook.requests
        assert request["object"]["spec"]["metrics"][0]["resource"]["name"] == "cpu"
        assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v2", "v1")
        assert request["object"]["apiVersion"] == "autoscaling/v2"


async def test_match_policy_exact_matches_only_the_exact_version() -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "resources": ["horizontalpodautoscalers"],
    }
    async with running(collects=False) as server, serving(deny) as hook:
        await configure(server, VALIDATING, hook, rules=[rule], matchPolicy="Exact")
        path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
        assert (await server.request("POST", path, {"metadata": {"name": "h"}, "spec": AUTOSCALER})).code == 201


async def test_warnings_and_annotations_are_passed_on() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        hook.answer = lambda review: review_response(review, allowed=True, warnings=["mind the gap"], auditAnnotations={"a": "b"})
        await configure(server, VALIDATING, hook)
        assert (await post(server)).headers["warning"] == '299 - "mind the gap"'


async def test_dry_run_calls_webhooks_without_side_effects() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        await configure(server, VALIDATING, hook, sideEffects="NoneOnDryRun")
        assert (await post(server, dryRun="All")).code == 201
        assert hook.requests[0]["dryRun"] is True
        for other in ("Some", "Unknown", None):
            changed = configuration(VALIDATING, hook.client, sideEffects=other)
            assert (await server.request("PATCH", f"/{VALIDATING}/hooks", changed, media=MERGE)).code == 422


async def test_webhooks_cannot_deny_webhook_configurations() -> None:
    everything = {**PODS, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    async with running(collects=False) as server, serving(deny) as hook:
        await configure(server, VALIDATING, hook, rules=[everything])
        await configure(server, MUTATING, hook, rules=[everything])
        assert (await post(server)).code == 400
        assert (await server.request("DELETE", f"/{MUTATING}/hooks")).code == 200
        assert (await server.request("DELETE", f"/{VALIDATING}/hooks")).code == 200
        assert (await post(server)).code == 201


async def test_connections_are_reused_and_reopened() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        await configure(server, VALIDATING, hook)
        for number in range(5):
            assert (await post(server, {"metadata": {"name": f"m{number}"}})).code == 201
        assert hook.connections == 1
        hook.close_connections()
        assert (await post(server)).code == 201
        assert hook.connections == 2


async def test_service_is_resolved_by_the_mapping_with_its_own_server_name() -> None:
    services: dict[str, str] = {}
    async with running(collects=False, webhook_services=services) as server, serving(allow, name="guard.shop.svc") as hook:
        client = {"caBundle": hook.client["caBundle"], "service": {"namespace": "shop", "name": "guard", "path": "/check"}}
        await configure(server, VALIDATING, hook, client=client)
        response = await post(server)
        assert response.code == 500
        assert "there is no cluster network" in response.json["message"]
        assert "--webhook-service shop/guard:443=URL" in response.json["message"]
        services["shop/guard"] = hook.url
        assert (await post(server)).code == 201
        assert hook.paths == ["/check?timeout=10s"]


async def test_reads_and_other_kinds_are_not_sent() -> None:
    async with running(collects=False) as server, serving(deny) as hook:
        await configure(server, VALIDATING, hook, rules=[MAPS])
        assert (await server.request("GET", MAPS_PATH)).code == 200
        await server.create("secrets", "default", NEW)
        assert hook.reviews == []

"""Admission webhooks: real servers over TLS, asked by a server in the test's own process."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, Told, running
from support.webhook_servers import MAPS, PODS, Hook, allow, configuration, deny, patch, responded, serving

REGISTRATION = "apis/admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = f"{REGISTRATION}/mutatingwebhookconfigurations", f"{REGISTRATION}/validatingwebhookconfigurations"
MAPS_PATH = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
NEW: dict[str, Any] = {"metadata": {"name": "m"}}
AUTOSCALER = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3, "minReplicas": 1}


async def configure(house: House, resource: str, hook: Hook, **options: Any) -> None:
    await house.create(resource, "", configuration(resource, options.pop("client", None) or hook.client, **options))


async def post(house: House, object_: Any = NEW, **query: Any) -> Told:
    return await house.ask("POST", MAPS_PATH, object_, query=query)


async def test_a_review_says_all_that_kubernetes_says() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await configure(house, VALIDATING, hook)
        told = await post(house, {"metadata": {"name": "m"}, "data": {"a": "b"}}, fieldManager="me")
        assert told.code == 201, told.body
        [review] = hook.asked
        assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        request = review["request"]
        object_ = request.pop("object")
        assert (object_["apiVersion"], object_["kind"], object_["data"]) == ("v1", "ConfigMap", {"a": "b"})
        assert object_["metadata"]["uid"] == told.json["metadata"]["uid"]
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


async def test_a_denial_is_told_in_its_own_words() -> None:
    async with running(collects=False) as house, serving(deny) as hook:
        await configure(house, VALIDATING, hook)
        told = await post(house)
        assert told.code == 400
        assert told.json["message"] == 'admission webhook "guard.example.com" denied the request: not today'
        status = {"code": 403, "reason": "Forbidden", "details": {"causes": [{"field": "data", "message": "bad"}]}}
        hook.answer = lambda review: responded(review, allowed=False, status=status)
        told = await post(house)
        assert (told.code, told.json["reason"]) == (403, "Forbidden")
        assert told.json["message"] == 'admission webhook "guard.example.com" denied the request: Forbidden'
        assert told.json["details"]["causes"] == [{"field": "data", "message": "bad"}]
        hook.answer = lambda review: responded(review, allowed=False)
        assert "denied the request without explanation" in (await post(house)).json["message"]
        assert (await house.ask("GET", f"{MAPS_PATH}/m")).code == 404


async def test_a_patch_is_applied_and_the_next_webhook_sees_it() -> None:
    add = {"op": "add", "path": "/data", "value": {"a": "b"}}
    async with running(collects=False) as house, serving(lambda review: patch(review, add)) as one, serving(allow) as two:
        await configure(house, MUTATING, two, name="second")
        await configure(house, MUTATING, one, name="first")
        told = await post(house)
        assert told.json["data"] == {"a": "b"}
        assert "data" not in one.requests[0]["object"]
        assert two.requests[0]["object"]["data"] == {"a": "b"}


@pytest.mark.parametrize(("policy", "times"), [("Never", 1), ("IfNeeded", 2)])
async def test_who_wants_to_is_asked_again_after_others_have_changed_something(policy: str, times: int) -> None:
    add = {"op": "add", "path": "/data", "value": {"a": "b"}}
    async with running(collects=False) as house, serving(allow) as one, serving(lambda review: patch(review, add)) as two:
        await configure(house, MUTATING, one, name="first", reinvocationPolicy=policy)
        await configure(house, MUTATING, two, name="second", reinvocationPolicy="IfNeeded")
        await post(house)
        assert (len(one.asked), len(two.asked)) == (times, 1)


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
async def test_rules_say_what_is_asked_about(_name: str, rule: dict[str, Any], asked: list[str]) -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await configure(house, VALIDATING, hook, rules=[{**PODS, **rule}])
        await post(house)
        await house.create("pods", "default", {**NEW, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        path = "/api/v1/namespaces/default/pods/m/status"
        assert (await house.ask("PATCH", path, {"status": {"phase": "Running"}}, media=MERGE)).code == 200
        found = ["/".join(filter(None, (one["resource"]["resource"], one.get("subResource")))) for one in hook.requests]
        assert found == asked


async def test_updates_and_deletes_show_the_old_object() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await post(house)
        await configure(house, VALIDATING, hook)
        await house.ask("PATCH", f"{MAPS_PATH}/m", {"data": {"a": "b"}}, media=MERGE)
        await house.ask("DELETE", f"{MAPS_PATH}/m", {"gracePeriodSeconds": 3, "propagationPolicy": "Background"})
        update, delete = hook.requests
        assert ("data" in update["oldObject"], update["object"]["data"]) == (False, {"a": "b"})
        assert (delete["operation"], delete["object"], delete["oldObject"]["data"]) == ("DELETE", None, {"a": "b"})
        said = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        assert delete["options"] == {**said, "gracePeriodSeconds": 3, "propagationPolicy": "Background"}


async def test_selectors_choose_by_the_labels_of_namespaces_and_objects() -> None:
    async with running(collects=False) as house, serving(deny) as hook:
        await house.create("namespaces", "", {"metadata": {"name": "guarded", "labels": {"guard": "on"}}})
        chosen = {"matchLabels": {"guard": "on"}}
        await configure(house, VALIDATING, hook, namespaceSelector=chosen, objectSelector={"matchLabels": {"l": "m"}})
        labelled = {"metadata": {"name": "l", "labels": {"l": "m"}}}
        assert (await post(house, labelled)).code == 201
        assert (await house.ask("POST", "/api/v1/namespaces/guarded/configmaps", NEW)).code == 201
        assert (await house.ask("POST", "/api/v1/namespaces/guarded/configmaps", labelled)).code == 400
        assert (await house.ask("PATCH", f"{MAPS_PATH}/l", {"metadata": {"labels": None}}, media=MERGE)).code == 200


async def test_a_namespace_is_chosen_by_its_own_labels_and_what_is_in_none_always() -> None:
    async with running(collects=False) as house, serving(deny) as hook:
        rules = [{**PODS, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["namespaces", "priorityclasses"]}]
        await configure(house, VALIDATING, hook, rules=rules, namespaceSelector={"matchLabels": {"guard": "on"}})
        guarded = {"metadata": {"name": "guarded", "labels": {"guard": "on"}}}
        assert (await house.ask("POST", "/api/v1/namespaces", guarded)).code == 400
        assert (await house.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "free"}})).code == 201
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        assert (await house.ask("POST", classes, {"metadata": {"name": "p"}, "value": 1})).code == 400


async def test_another_version_is_shown_in_the_one_that_the_rules_name() -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "resources": ["horizontalpodautoscalers"],
    }
    change = {"op": "replace", "path": "/spec/maxReplicas", "value": 7}
    one = {"metadata": {"name": "h"}, "spec": {**AUTOSCALER, "targetCPUUtilizationPercentage": 50}}
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    async with running(collects=False) as house, serving(lambda review: patch(review, change)) as hook:
        await configure(house, MUTATING, hook, rules=[rule])
        told = await house.ask("POST", path, one)
        assert told.json["spec"]["maxReplicas"] == 7, told.body
        assert told.json["spec"]["targetCPUUtilizationPercentage"] == 50
        [request] = hook.requests
        assert request["object"]["spec"]["metrics"][0]["resource"]["name"] == "cpu"
        assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v2", "v1")
        assert request["object"]["apiVersion"] == "autoscaling/v2"


async def test_exact_means_exact() -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "resources": ["horizontalpodautoscalers"],
    }
    async with running(collects=False) as house, serving(deny) as hook:
        await configure(house, VALIDATING, hook, rules=[rule], matchPolicy="Exact")
        path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
        assert (await house.ask("POST", path, {"metadata": {"name": "h"}, "spec": AUTOSCALER})).code == 201


async def test_warnings_and_annotations_are_passed_on() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        hook.answer = lambda review: responded(review, allowed=True, warnings=["mind the gap"], auditAnnotations={"a": "b"})
        await configure(house, VALIDATING, hook)
        assert (await post(house)).headers["warning"] == '299 - "mind the gap"'


async def test_a_dry_run_asks_all_as_none_has_side_effects_then() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await configure(house, VALIDATING, hook, sideEffects="NoneOnDryRun")
        assert (await post(house, dryRun="All")).code == 201
        assert hook.requests[0]["dryRun"] is True
        for other in ("Some", "Unknown", None):
            changed = configuration(VALIDATING, hook.client, sideEffects=other)
            assert (await house.ask("PATCH", f"/{VALIDATING}/hooks", changed, media=MERGE)).code == 422


async def test_configurations_of_webhooks_are_nobodys_to_refuse() -> None:
    everything = {**PODS, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    async with running(collects=False) as house, serving(deny) as hook:
        await configure(house, VALIDATING, hook, rules=[everything])
        await configure(house, MUTATING, hook, rules=[everything])
        assert (await post(house)).code == 400
        assert (await house.ask("DELETE", f"/{MUTATING}/hooks")).code == 200
        assert (await house.ask("DELETE", f"/{VALIDATING}/hooks")).code == 200
        assert (await post(house)).code == 201


async def test_connections_are_kept_and_made_again() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await configure(house, VALIDATING, hook)
        for number in range(5):
            assert (await post(house, {"metadata": {"name": f"m{number}"}})).code == 201
        assert hook.connections == 1
        hook.drop()
        assert (await post(house)).code == 201
        assert hook.connections == 2


async def test_a_service_is_found_by_the_mapping_and_has_its_own_name() -> None:
    async with running(collects=False) as house, serving(allow, name="guard.shop.svc") as hook:
        client = {"caBundle": hook.client["caBundle"], "service": {"namespace": "shop", "name": "guard", "path": "/check"}}
        await configure(house, VALIDATING, hook, client=client)
        told = await post(house)
        assert told.code == 500
        assert "there is no cluster network" in told.json["message"]
        assert "--webhook-service shop/guard:443=URL" in told.json["message"]
        house.api.services = {"shop/guard": hook.url}
        assert (await post(house)).code == 201
        assert hook.paths == ["/check?timeout=10s"]


async def test_nobody_is_asked_about_reads_or_other_kinds() -> None:
    async with running(collects=False) as house, serving(deny) as hook:
        await configure(house, VALIDATING, hook, rules=[MAPS])
        assert (await house.ask("GET", MAPS_PATH)).code == 200
        await house.create("secrets", "default", NEW)
        assert hook.asked == []

"""What a tenant configures applies to its objects, whoever writes them, and to no others. What the platform has applies to all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from probate.api.objects import Object
from probate.api.rbac.users import User
from support import admission_policies
from support.admission_policies import binding, rules, validating_policy
from support.audit_logs import with_audit_log
from support.in_process_server import Response
from support.tenant_server import TenantServer, running_with_tenants, user_of
from support.webhook_servers import PODS, WebhookServer, allow, configuration, deny, patch, review_response, serving

ADMIN, OTHER = user_of("111111"), user_of("222222")
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
VALIDATING, MUTATING = "validatingwebhookconfigurations", "mutatingwebhookconfigurations"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "scope": "*"}
ADD_LABEL = {"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}
MERGE = "application/merge-patch+json"
DEPLOYMENTS = "/apis/apps/v1/namespaces/111111-web/deployments"
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        yield one


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def pod(name: str = "p", **spec: Any) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "00000000-0000-4000-8000-0000000000ff"}
    container = {"name": "c", "image": "i"}
    return {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"containers": [container], **spec}}


async def create_as_controller(server: TenantServer, namespace: str = "111111-web", **object_: Any) -> Response:
    return await server.ask_as(CONTROLLER, "POST", pods(namespace), body=pod(**object_))


async def configure(server: TenantServer, kind: str, hook: WebhookServer, user: User = ADMIN, **options: Any) -> None:
    """Configures a webhook in a tenant."""
    body = configuration(kind, hook.client, **{"rules": [PODS], **options})
    response = await server.ask(user, "POST", f"{REGISTRATION}/{kind}", body=body)
    assert response.code == 201, response.body


async def create_in_tenant(server: TenantServer, plural: str, object_: Object, user: User = ADMIN) -> None:
    response = await server.ask(user, "POST", f"{REGISTRATION}/{plural}", body=object_)
    assert response.code == 201, response.body


def check_without_prefix(hook: WebhookServer) -> None:
    assert hook.reviews
    assert b"111111" not in orjson.dumps(hook.reviews), hook.reviews
    assert b"kubezoo" not in orjson.dumps(hook.reviews), hook.reviews


class TestTenant:
    """A tenant's webhooks and policies, for writes in the physical view."""

    async def test_mutating_webhook_changes_what_a_controller_creates(self, server: TenantServer) -> None:
        async with serving(lambda review: patch(review, ADD_LABEL)) as hook:
            await configure(server, MUTATING, hook)
            created = await create_as_controller(server)
            assert created.code == 201, created.body
            assert created.json["metadata"]["labels"] == {"hooked": "yes", "kubezoo.io/tenant": "111111"}
            assert created.json["metadata"]["namespace"] == "111111-web"
            [request] = hook.requests
            assert request["namespace"] == request["object"]["metadata"]["namespace"] == "web"
            assert request["userInfo"]["username"] == CONTROLLER
            check_without_prefix(hook)

    async def test_references_of_a_mutated_object_are_those_of_the_tenant(self, server: TenantServer) -> None:
        term = {"labelSelector": {}, "topologyKey": "t", "namespaces": ["web"]}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        add = {"op": "add", "path": "/spec/affinity", "value": affinity}
        async with serving(lambda review: patch(review, add)) as hook:
            await configure(server, MUTATING, hook)
            created = (await create_as_controller(server)).json
            [added] = created["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert added["namespaces"] == ["111111-web"]

    async def test_what_a_webhook_leaves_alone_stays_as_the_physical_client_wrote_it(self, server: TenantServer) -> None:
        add = {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}
        async with serving(lambda review: patch(review, add)) as hook:
            await configure(server, MUTATING, hook, rules=[{**PODS, "resources": ["persistentvolumeclaims"]}])
            spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pvc-unprefixed"}
            claims = "/api/v1/namespaces/111111-web/persistentvolumeclaims"
            created = (await server.request("POST", claims, {"metadata": {"name": "c"}, "spec": spec})).json
            assert created["metadata"]["annotations"] == {"a": "b"}
            assert created["spec"]["volumeName"] == "pvc-unprefixed"

    async def test_webhook_with_all_rules_sees_objects_of_its_tenant_only(self, server: TenantServer) -> None:
        async with serving(allow) as hook:
            await configure(server, VALIDATING, hook, rules=[EVERYTHING])
            for namespace in ("222222-web", "a", "default"):
                assert (await create_as_controller(server, namespace)).code == 201
            await server.create("namespaces", "", {"metadata": {"name": "222222-new"}})
            await server.create("namespaces", "", {"metadata": {"name": "333333-new"}})
            await server.create("persistentvolumes", "", volume("222222-v"))
            await server.create("persistentvolumes", "", volume("platform"))
            assert (await server.ask(OTHER, "POST", pods("web"), body=pod("q"))).code == 201
            assert not hook.reviews
            await server.create("namespaces", "", {"metadata": {"name": "111111-new"}})
            await server.create("persistentvolumes", "", volume("111111-v"))
            claim = {"namespace": "111111-web", "name": "c"}
            await server.create("persistentvolumes", "", volume("pvc-1", claimRef=claim))
            assert (await create_as_controller(server)).code == 201
            assert [request.get("name") for request in hook.requests] == ["new", "v", "pvc-1", "p"]
            assert hook.requests[2]["object"]["spec"]["claimRef"]["namespace"] == "web"
            check_without_prefix(hook)

    async def test_tenants_have_webhooks_of_their_own(self, server: TenantServer) -> None:
        async with serving(allow) as one, serving(deny) as two:
            await configure(server, VALIDATING, one)
            await configure(server, VALIDATING, two, OTHER)
            assert (await create_as_controller(server)).code == 201
            refused = await create_as_controller(server, "222222-web")
            assert (refused.code, refused.json["message"]) == (
                400,
                'admission webhook "guard.example.com" denied the request: not today',
            )
            assert (len(one.reviews), len(two.reviews)) == (1, 1)

    async def test_selectors_and_conditions_are_in_the_tenants_terms(self, server: TenantServer) -> None:
        named = {"matchLabels": {"kubernetes.io/metadata.name": "web"}}
        unmarked = {"matchExpressions": [{"key": "kubezoo.io/tenant", "operator": "DoesNotExist"}]}
        condition = {"name": "c", "expression": "object.metadata.namespace == 'web' && request.namespace == 'web'"}
        async with serving(allow) as hook:
            options: dict[str, Any] = {"namespaceSelector": named, "objectSelector": unmarked, "matchConditions": [condition]}
            await configure(server, VALIDATING, hook, **options)
            await server.create("namespaces", "", {"metadata": {"name": "111111-other"}})
            assert (await create_as_controller(server)).code == 201
            assert (await create_as_controller(server, "111111-other")).code == 201
            assert [request["namespace"] for request in hook.requests] == ["web"]

    async def test_updates_subresources_and_deletes_are_reviewed(self, server: TenantServer) -> None:
        async with serving(allow) as hook:
            await server.request("POST", DEPLOYMENTS, DEPLOYMENT)
            await server.create("pods", "111111-web", pod())
            await server.create("pods", "111111-web", pod("evicted"))
            await server.create("nodes", "", {"metadata": {"name": "n"}})
            await configure(server, VALIDATING, hook, rules=[EVERYTHING])
            hook.reviews.clear()
            at = f"{pods('111111-web')}/p"
            status = await server.request("PATCH", f"{at}/status", {"status": {"reason": "r"}}, media=MERGE)
            scale = await server.request("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, media=MERGE)
            target = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
            bound = await server.request("POST", f"{at}/binding", target)
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted"}}
            evicted = await server.request("POST", f"{pods('111111-web')}/evicted/eviction", eviction)
            deleted = await server.request("DELETE", at, {"gracePeriodSeconds": 0})
            codes = [response.code for response in (status, scale, bound, evicted, deleted)]
            assert codes == [200, 200, 201, 201, 200], [one.body for one in (status, scale, bound, evicted, deleted)]
            about = [(request["operation"], request.get("subResource", ""), request["kind"]["kind"]) for request in hook.requests]
            assert about == [
                ("UPDATE", "status", "Pod"),
                ("UPDATE", "scale", "Scale"),
                ("CREATE", "binding", "Binding"),
                ("CREATE", "eviction", "Eviction"),
                ("DELETE", "", "Pod"),
            ]
            assert hook.requests[0]["oldObject"]["metadata"]["namespace"] == "web"
            check_without_prefix(hook)

    async def test_scale_is_mutated(self, server: TenantServer) -> None:
        change = {"op": "replace", "path": "/spec/replicas", "value": 5}
        async with serving(lambda review: patch(review, change)) as hook:
            await server.request("POST", DEPLOYMENTS, DEPLOYMENT)
            scales = [{**EVERYTHING, "resources": ["deployments/scale"]}]
            await configure(server, MUTATING, hook, rules=scales)
            scaled = await server.request("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, media=MERGE)
            assert (scaled.code, scaled.json["spec"]["replicas"]) == (200, 5), scaled.body

    async def test_denied_delete_deletes_nothing(self, server: TenantServer) -> None:
        async with serving(allow) as hook:
            await server.create("pods", "111111-web", pod())
            await configure(server, VALIDATING, hook)
            hook.answer = deny
            assert (await server.request("DELETE", f"{pods('111111-web')}/p")).code == 400
            assert "deletionTimestamp" not in (await server.request("GET", f"{pods('111111-web')}/p")).json["metadata"]

    async def test_dry_runs_are_marked(self, server: TenantServer) -> None:
        async with serving(allow) as hook:
            await configure(server, VALIDATING, hook)
            response = await server.request("POST", pods("111111-web"), pod(), query={"dryRun": "All"})
            assert response.code == 201
            assert hook.requests[0]["dryRun"] is True

    @pytest.mark.parametrize(("policy", "code"), [("Ignore", 201), ("Fail", 500)])
    async def test_failure_policy_of_a_broken_webhook(self, server: TenantServer, policy: str, code: int) -> None:
        async with serving(lambda _: b"nonsense") as hook:
            await configure(server, VALIDATING, hook, failurePolicy=policy)
            assert (await create_as_controller(server)).code == code

    async def test_warnings_reach_the_physical_client(self, server: TenantServer) -> None:
        async with serving(lambda review: review_response(review, allowed=True, warnings=["careful"])) as hook:
            await configure(server, VALIDATING, hook)
            assert "careful" in (await create_as_controller(server)).headers["warning"]

    async def test_audit_annotations_are_those_of_the_write(self, server: TenantServer, tmp_path: Path) -> None:
        async with serving(lambda review: review_response(review, allowed=True, auditAnnotations={"a": "b"})) as hook:
            await configure(server, VALIDATING, hook)
            async with with_audit_log(server, tmp_path) as log:
                assert (await create_as_controller(server)).code == 201
                [event] = await log.events(stage="ResponseComplete")
            assert event["annotations"]["guard.example.com/a"] == "b"

    async def test_webhook_is_called_again_only_if_its_object_has_changed(self, server: TenantServer) -> None:
        async with serving(allow) as own, serving(lambda review: patch(review, ADD_LABEL)) as platform:
            await configure(server, MUTATING, own, reinvocationPolicy="IfNeeded")
            assert (await create_as_controller(server)).code == 201
            assert len(own.reviews) == 1
            body = configuration(MUTATING, platform.client, rules=[PODS])
            await server.create(f"{REGISTRATION.strip('/')}/{MUTATING}", "", body)
            assert (await create_as_controller(server, name="q")).code == 201
            assert len(own.reviews) == 3
            assert own.requests[-1]["object"]["metadata"]["labels"] == {"hooked": "yes"}

    async def test_context_starts_when_a_physical_client_writes(self, server: TenantServer) -> None:
        async with serving(allow) as hook:
            body = configuration(VALIDATING, hook.client, "111111-hooks", rules=[PODS])
            await server.create(f"{REGISTRATION.strip('/')}/{VALIDATING}", "", body)
            assert len(server.contexts) == 0
            assert (await create_as_controller(server, "222222-web")).code == 201
            assert len(server.contexts) == 0
            assert (await create_as_controller(server)).code == 201
            assert (len(server.contexts), len(hook.reviews)) == (1, 1)

    async def test_plugin_is_disabled_while_no_tenant_has_configured_anything(self, server: TenantServer) -> None:
        chain = server.api.admission.chain
        assert (await create_as_controller(server)).code == 201
        numbers = [len(chain.mutators)]
        await server.ask(ADMIN, "GET", pods("web"))
        numbers.append(len(chain.mutators))
        await server.per_tenant.evict("111111")
        numbers.append(len(chain.mutators))
        assert numbers == [0, 1, 0]

    async def test_validating_policy_denies_in_the_tenants_terms(self, server: TenantServer) -> None:
        match = {"resourceRules": [rules("pods", "persistentvolumes")]}
        expression = "object.metadata.name != 'bad' && (namespaceObject == null || namespaceObject.metadata.name == 'web')"
        await create_in_tenant(server, "validatingadmissionpolicies", validating_policy(expression, match=match))
        await create_in_tenant(server, "validatingadmissionpolicybindings", binding())
        refused = await create_as_controller(server, name="bad")
        assert (refused.code, refused.json["reason"]) == (422, "Invalid")
        assert "ValidatingAdmissionPolicy 'p' with binding 'b' denied request" in refused.json["message"]
        refused = await server.request("POST", "/api/v1/persistentvolumes", volume("111111-bad"))
        assert refused.json["message"].startswith('persistentvolumes "111111-bad" is forbidden: ')
        assert refused.json["details"]["name"] == "111111-bad"
        assert (await create_as_controller(server)).code == 201
        assert (await create_as_controller(server, "222222-web", name="bad")).code == 201

    async def test_mutating_policy_changes_what_a_controller_creates(self, server: TenantServer) -> None:
        match = {"resourceRules": [rules("pods")]}
        change = "Object{metadata: Object.metadata{labels: {'in': object.metadata.namespace}}}"
        policy = admission_policies.mutating_policy(change, match=match)
        await create_in_tenant(server, "mutatingadmissionpolicies", policy)
        await create_in_tenant(server, "mutatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": {"policyName": "p"}})
        created = await create_as_controller(server)
        assert created.code == 201, created.body
        assert created.json["metadata"]["labels"]["in"] == "web"
        assert created.json["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"

    async def test_custom_resources_have_the_group_of_the_tenant(self, server: TenantServer) -> None:
        async with serving(lambda review: patch(review, ADD_LABEL)) as hook:
            created = await server.ask(ADMIN, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=CRD)
            assert created.code == 201, created.body
            rule = {**PODS, "apiGroups": ["a.com"], "resources": ["foos"]}
            await configure(server, MUTATING, hook, rules=[rule])
            await server.api.kinds.refresh(now=server.api.timestamp())
            foo = {"apiVersion": "111111-a.com/v1", "kind": "Foo", "metadata": {"name": "111111-x"}}
            created = await server.request("POST", "/apis/111111-a.com/v1/foos", foo)
            assert created.code == 201, created.body
            assert created.json["apiVersion"] == "111111-a.com/v1"
            assert created.json["metadata"]["labels"]["hooked"] == "yes"
            [request] = hook.requests
            assert (request["object"]["apiVersion"], request["name"]) == ("a.com/v1", "x")
            check_without_prefix(hook)

    async def test_events_are_reviewed_in_each_version(self, server: TenantServer) -> None:
        about = {"kind": "Pod", "namespace": "111111-web", "name": "p", "apiVersion": "v1"}
        event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "r", "message": "m", "type": "Normal"}
        new = {**event, "metadata": {"name": "f"}, "regarding": about, "eventTime": "2026-01-01T00:00:00.000000Z"}
        new |= {"action": "a", "reportingController": "c", "reportingInstance": "i"}
        del new["involvedObject"], new["message"]
        async with serving(allow) as hook:
            await configure(server, VALIDATING, hook, rules=[EVERYTHING])
            hook.reviews.clear()
            await server.create("events", "111111-web", event)
            await server.create("apis/events.k8s.io/v1/events", "111111-web", new)
            assert hook.requests[0]["object"]["involvedObject"]["namespace"] == "web"
            assert hook.requests[1]["object"]["regarding"]["namespace"] == "web"
            check_without_prefix(hook)


class TestPlatform:
    """The platform's webhooks and policies, for writes of tenants' users."""

    async def test_policy_denies_a_tenants_privileged_pod(self, server: TenantServer) -> None:
        expression = "object.spec.containers.all(c, !(has(c.securityContext) && c.securityContext.privileged == true))"
        policy = validating_policy(expression, name="no-privileged", match={"resourceRules": [rules("pods")]})
        await admission_policies.create_validating(server, policy)
        privileged = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
        refused = await server.ask(ADMIN, "POST", pods("web"), body=pod("bad", containers=[privileged]))
        assert (refused.code, refused.json["reason"]) == (422, "Invalid")
        message = refused.json["message"]
        assert message.startswith("pods \"bad\" is forbidden: ValidatingAdmissionPolicy 'no-privileged' with binding 'b' denied")
        assert "111111" not in refused.body.decode()
        assert (await server.ask(ADMIN, "POST", pods("web"), body=pod())).code == 201

    async def test_policy_sees_the_physical_names_and_the_answer_has_the_tenants(self, server: TenantServer) -> None:
        expression = "!object.metadata.name.startsWith('111111-') || request.userInfo.username != '111111-admin'"
        policy = validating_policy(expression, match={"resourceRules": [rules("persistentvolumes")]})
        await admission_policies.create_validating(server, policy)
        refused = await server.ask(ADMIN, "POST", "/api/v1/persistentvolumes", body=volume("v"))
        assert refused.json["message"].startswith('persistentvolumes "v" is forbidden: ')
        assert refused.json["details"]["name"] == "v"

    async def test_webhook_sees_what_the_tenants_own_webhook_has_made_of_it(self, server: TenantServer) -> None:
        async with serving(lambda review: patch(review, ADD_LABEL)) as own, serving(allow) as platform:
            await configure(server, MUTATING, own)
            body = configuration(VALIDATING, platform.client, rules=[PODS])
            await server.create(f"{REGISTRATION.strip('/')}/{VALIDATING}", "", body)
            created = await server.ask(ADMIN, "POST", pods("web"), body=pod())
            assert created.json["metadata"]["labels"] == {"hooked": "yes"}
            [request] = platform.requests
            assert request["namespace"] == request["object"]["metadata"]["namespace"] == "111111-web"
            assert request["object"]["metadata"]["labels"] == {"hooked": "yes", "kubezoo.io/tenant": "111111"}
            assert request["userInfo"]["username"] == "111111-admin"
            check_without_prefix(own)

    async def test_mutating_webhook_changes_a_tenants_pod(self, server: TenantServer) -> None:
        async with serving(lambda review: patch(review, {"op": "add", "path": "/spec/nodeName", "value": "n"})) as platform:
            body = configuration(MUTATING, platform.client, rules=[PODS])
            await server.create(f"{REGISTRATION.strip('/')}/{MUTATING}", "", body)
            created = await server.ask(ADMIN, "POST", pods("web"), body=pod())
            assert created.code == 201, created.body
            assert (created.json["spec"]["nodeName"], created.json["metadata"]["namespace"]) == ("n", "web")
            assert "labels" not in created.json["metadata"]

    async def test_selectors_of_the_platform_tell_tenants_apart(self, server: TenantServer) -> None:
        of_tenant = {"matchLabels": {"kubezoo.io/tenant": "222222"}}
        async with serving(deny) as platform:
            body = configuration(VALIDATING, platform.client, rules=[PODS], namespaceSelector=of_tenant)
            await server.create(f"{REGISTRATION.strip('/')}/{VALIDATING}", "", body)
            assert (await server.ask(ADMIN, "POST", pods("web"), body=pod())).code == 201
            assert (await server.ask(OTHER, "POST", pods("web"), body=pod())).code == 400

    async def test_tenant_cannot_delete_what_the_platform_protects(self, server: TenantServer) -> None:
        await server.ask(ADMIN, "POST", pods("web"), body=pod())
        async with serving(deny) as platform:
            body = configuration(VALIDATING, platform.client, rules=[{**PODS, "operations": ["DELETE"]}])
            await server.create(f"{REGISTRATION.strip('/')}/{VALIDATING}", "", body)
            assert (await server.ask(ADMIN, "DELETE", f"{pods('web')}/p")).code == 400
            assert platform.requests[0]["namespace"] == "111111-web"


class TestQuota:
    """Quotas are charged in the view in which a write is handled, and in no other."""

    async def test_quota_is_charged_once(self, server: TenantServer) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "4"}}}
        assert (await server.ask(ADMIN, "POST", "/api/v1/namespaces/web/resourcequotas", body=quota)).code == 201
        await server.api.admission.configuration.refresh_all()
        async with serving(allow) as hook:
            await configure(server, VALIDATING, hook, rules=[EVERYTHING])
            body = configuration(VALIDATING, hook.client, rules=[EVERYTHING])
            await server.create(f"{REGISTRATION.strip('/')}/{VALIDATING}", "", body)
            codes = []
            for number in range(3):
                map_ = {"metadata": {"name": f"m{number}"}}
                codes += [
                    (await server.ask(ADMIN, "POST", "/api/v1/namespaces/web/configmaps", body=map_)).code,
                    (
                        await server.request(
                            "POST", "/api/v1/namespaces/111111-web/configmaps", {"metadata": {"name": f"n{number}"}}
                        )
                    ).code,
                ]
            assert codes == [201, 201, 201, 201, 403, 403]

    async def test_concurrent_writes_in_both_views_do_not_exceed_a_quota(self, server: TenantServer) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "3"}}}
        await server.ask(ADMIN, "POST", "/api/v1/namespaces/web/resourcequotas", body=quota)
        await server.api.admission.configuration.refresh_all()
        pending = []
        for number in range(4):
            pending.append(
                server.ask(ADMIN, "POST", "/api/v1/namespaces/web/configmaps", body={"metadata": {"name": f"m{number}"}})
            )
            path = "/api/v1/namespaces/111111-web/configmaps"
            pending.append(server.request("POST", path, {"metadata": {"name": f"n{number}"}}))
        codes = sorted(response.code for response in await asyncio.gather(*pending))
        assert codes == [201] * 3 + [403] * 5


def volume(name: str, **spec: Any) -> Object:
    needed = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    return {"metadata": {"name": name}, "spec": {**needed, **spec}}


CRD = {
    "metadata": {"name": "foos.a.com"},
    "spec": {
        "group": "a.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Cluster",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}

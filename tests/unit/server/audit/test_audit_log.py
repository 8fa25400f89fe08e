"""Audit events of requests: user, verb, object, source address and outcome."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from probate.api.audit.redaction import REDACTED
from probate.api.rbac.users import service_account_user
from probate.core import errors
from probate.core.clock import FakeClock
from probate.server import routing
from probate.server.app import App
from probate.server.audit.request_trail import CURRENT_TRAIL
from probate.server.local_transport import LocalTransport
from support.audit_logs import EVERYTHING, METADATA, AuditLogReader, with_audit_log
from support.rbac_server import RbacServer, running_with_rbac

MAPS = "/api/v1/namespaces/a/configmaps"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
async def server() -> AsyncGenerator[RbacServer, None]:
    async with running_with_rbac() as server:
        yield server


@pytest.fixture
async def log(server: RbacServer, quick_path: Path) -> AsyncGenerator[AuditLogReader, None]:
    async with with_audit_log(server, quick_path) as log:
        yield log


def new(name: str = "m", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


async def test_create_event_matches_kubernetes(server: RbacServer, log: AuditLogReader) -> None:
    created = await server.request("POST", MAPS, new(), query={"fieldManager": "me"}, headers=[(b"user-agent", b"tests/1.0")])
    [event] = await log.events()
    assert MICRO_TIME.fullmatch(event.pop("requestReceivedTimestamp"))
    assert MICRO_TIME.fullmatch(event.pop("stageTimestamp"))
    meta = created.json["metadata"]
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "audit-1",
        "stage": "ResponseComplete",
        "requestURI": f"{MAPS}?fieldManager=me",
        "verb": "create",
        "user": {"username": "system:unsecured", "groups": ["system:masters", "system:authenticated"]},
        "userAgent": "tests/1.0",
        "objectRef": {
            "resource": "configmaps",
            "namespace": "a",
            "name": "m",
            "uid": meta["uid"],
            "apiVersion": "v1",
            "resourceVersion": meta["resourceVersion"],
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }
    assert created.headers["audit-id"] == "audit-1"


async def test_each_verb_records_its_object(server: RbacServer, log: AuditLogReader) -> None:
    created = (await server.request("POST", MAPS, new())).json
    await server.request("GET", f"{MAPS}/m")
    await server.request("PUT", f"{MAPS}/m", new(data={"a": "b"}))
    await server.request("PATCH", f"{MAPS}/m", {"data": {"a": "c"}}, media="application/merge-patch+json")
    await server.request("GET", MAPS)
    await server.request("DELETE", f"{MAPS}/m")
    await server.request("DELETE", MAPS)
    uid = created["metadata"]["uid"]
    response = [(item["verb"], item["objectRef"].get("name"), item["objectRef"].get("uid")) for item in await log.events()]
    assert response == [
        ("create", "m", uid),
        ("get", "m", uid),
        ("update", "m", uid),
        ("patch", "m", uid),
        ("list", None, None),
        ("delete", "m", uid),
        ("deletecollection", None, None),
    ]


async def test_error_event_has_the_reason(server: RbacServer, log: AuditLogReader) -> None:
    response = await server.request("GET", f"{MAPS}/none")
    [event] = await log.events()
    said = {name: value for name, value in response.json.items() if name not in {"kind", "apiVersion"}}
    assert event["responseStatus"] == said
    assert event["responseStatus"]["reason"] == "NotFound"


async def test_forbidden_request_has_the_decision(server: RbacServer, log: AuditLogReader) -> None:
    await server.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    await server.ask_as("ann", "GET", f"{MAPS}/m")
    await server.ask_as("ann", "DELETE", f"{MAPS}/m")
    allowed, refused = (await log.events())[-2:]
    assert allowed["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert re.fullmatch(
        r'RBAC: allowed by RoleBinding "ann-\d+/a" of Role "ann-\d+" to User "ann"',
        allowed["annotations"]["authorization.k8s.io/reason"],
    )
    assert refused["annotations"] == {"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": ""}
    assert (refused["responseStatus"]["code"], refused["responseStatus"]["reason"]) == (403, "Forbidden")
    assert refused["user"]["username"] == "system:unsecured"
    assert refused["impersonatedUser"] == {"username": "ann", "groups": ["system:authenticated"]}


async def test_request_refused_by_a_later_check_was_allowed_by_rbac(server: RbacServer, log: AuditLogReader) -> None:
    """Being forbidden to grant rights differs from being forbidden to send the request."""
    await server.grant(
        "ann", {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}, namespace="a"
    )
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles"
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    assert (await server.ask_as("ann", "POST", path, body={"metadata": {"name": "r"}, "rules": [rule]})).code == 403
    assert (await log.events())[-1]["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_forbidden_impersonation_is_recorded(server: RbacServer, log: AuditLogReader) -> None:
    app = App(server.api, authenticate=lambda _: _ann())
    server.app = app
    assert (await server.ask_as("boss", "GET", MAPS)).code == 403
    [event] = await log.events()
    assert event["user"]["username"] == "system:serviceaccount:a:ann"
    assert "impersonatedUser" not in event
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def _ann() -> Any:
    return service_account_user("a", "ann")


async def test_unauthenticated_request_has_no_user(server: RbacServer, log: AuditLogReader) -> None:
    async def nobody(_: Any) -> Any:
        raise errors.Unauthorized

    server.app = App(server.api, authenticate=nobody)
    assert (await server.request("GET", MAPS, headers=[(b"authorization", b"Bearer MARKER")])).code == 401
    [event] = await log.events()
    assert (event["user"], event["stage"], event["responseStatus"]["code"]) == ({}, "ResponseStarted", 401)
    assert "MARKER" not in await log.text()


async def test_non_resource_paths_and_unknown_kinds_are_recorded(server: RbacServer, log: AuditLogReader) -> None:
    await server.request("GET", "/version")
    await server.request("GET", "/apis/not.served/v1/namespaces/a/things/x")
    version, thing = await log.events()
    assert (version["verb"], version["requestURI"], "objectRef" in version) == ("get", "/version", False)
    assert thing["objectRef"] == {"resource": "things", "namespace": "a", "name": "x", "apiGroup": "not.served", "apiVersion": "v1"}
    assert thing["responseStatus"]["code"] == 404


async def test_level_decides_which_bodies_are_recorded(server: RbacServer, quick_path: Path) -> None:
    for level, expected in (
        ("Metadata", set()),
        ("Request", {"requestObject"}),
        ("RequestResponse", {"requestObject", "responseObject"}),
    ):
        async with with_audit_log(server, quick_path / level, METADATA.replace("{level: Metadata}", f"{{level: {level}}}")) as log:
            await server.request("POST", MAPS, new(level.lower(), data={"a": "b"}))
            [event] = await log.events()
            assert {item for item in event if item.endswith("Object")} == expected
            assert event["level"] == level
            if "responseObject" in event:
                assert event["requestObject"] == new(level.lower(), data={"a": "b"})
                assert event["responseObject"]["metadata"]["uid"] == event["objectRef"]["uid"]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("application/yaml", "metadata: {name: m}\ndata: {a: b}\n"),
        ("application/json", '{"metadata":\n{"name":"m"},"data":{"a":"b"}}'),
    ],
)
async def test_request_body_of_any_media_type_is_recorded_as_json_on_one_line(
    server: RbacServer, quick_path: Path, media: str, body: str
) -> None:
    async with with_audit_log(server, quick_path, EVERYTHING) as log:
        response = await server.send("POST", MAPS, body.encode(), media=media)
        assert response.code == 201, response.body
        [event] = await log.events(stage="ResponseComplete")
        assert event["requestObject"] == new(data={"a": "b"})


@pytest.mark.parametrize("accept", ["application/yaml", "application/vnd.kubernetes.protobuf"])
async def test_response_of_any_media_type_is_recorded_as_json(server: RbacServer, quick_path: Path, accept: str) -> None:
    async with with_audit_log(server, quick_path, EVERYTHING) as log:
        plain = (await server.request("POST", MAPS, new(data={"a": "b"}))).json
        response = await server.request("GET", f"{MAPS}/{plain['metadata']['name']}", accept=accept)
        assert response.headers["content-type"] == accept
        _, event = await log.events(stage="ResponseComplete")
        assert event["responseObject"] == plain
        secrets = MAPS.replace("configmaps", "secrets")
        await server.request("POST", secrets, new("s", stringData={"a": "hush"}), accept=accept)
        assert "hush" not in await log.text()
        assert "aHVzaA==" not in await log.text()


async def test_policy_can_omit_managed_fields(server: RbacServer, quick_path: Path) -> None:
    async with with_audit_log(server, quick_path, EVERYTHING.replace("rules:", "omitManagedFields: true, rules:")) as log:
        await server.request("POST", MAPS, new(data={"a": "b"}))
        await server.request("GET", MAPS)
        await server.request("GET", MAPS, accept="application/json;as=Table;g=meta.k8s.io;v=v1", query={"includeObject": "Object"})
        text = await log.text()
        assert '"responseObject"' in text
        assert "managedFields" not in text


async def test_body_that_is_too_large_is_omitted_and_marked_truncated(server: RbacServer, quick_path: Path) -> None:
    async with with_audit_log(server, quick_path, EVERYTHING) as log:
        for name in ("m", "n"):
            assert (await server.request("POST", MAPS, new(name, data={"a": "x" * 1_000_000}))).code == 201
        await server.request("GET", MAPS)
        kept, _, left_out = await log.events(stage="ResponseComplete")
        assert kept["requestObject"]["data"] == kept["responseObject"]["data"]
        assert "responseObject" not in left_out
        assert left_out["annotations"]["audit.k8s.io/truncated"] == "true"


async def test_each_stage_is_recorded_unless_omitted(server: RbacServer, quick_path: Path) -> None:
    async with with_audit_log(server, quick_path / "all", EVERYTHING) as log:
        await server.request("GET", MAPS)
        assert [(item["stage"], item["auditID"]) for item in await log.events()] == [
            ("RequestReceived", "audit-1"),
            ("ResponseComplete", "audit-1"),
        ]
        assert "responseStatus" not in (await log.events())[0]
    async with with_audit_log(
        server, quick_path / "some", EVERYTHING.replace("level:", "omitStages: [ResponseComplete], level:")
    ) as log:
        await server.request("GET", MAPS)
        assert [item["stage"] for item in await log.events()] == ["RequestReceived"]


async def test_requests_excluded_by_the_policy_are_not_recorded(server: RbacServer, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", "rules: [{level: None, namespaces: [a]}, ")
    async with with_audit_log(server, quick_path, policy) as log:
        left_out = (await server.request("GET", MAPS)).headers["audit-id"]
        response = (await server.request("GET", MAPS.replace("/a/", "/b/"))).headers["audit-id"]
        assert [(item["requestURI"], item["auditID"]) for item in await log.events()] == [(MAPS.replace("/a/", "/b/"), response)]
        assert left_out != response


async def test_watch_is_recorded_when_it_begins_and_ends(server: RbacServer, quick_path: Path) -> None:
    async with with_audit_log(server, quick_path, EVERYTHING) as log:
        left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": MAPS, "query_string": b"watch=true", "headers": []}
        watching = asyncio.create_task(server.app(scope, receive, send))
        while len(await log.events()) < 2:  # noqa: ASYNC110 there is no event to wait for
            await asyncio.sleep(0)
        begun = [(item["stage"], item["verb"]) for item in await log.events()]
        assert begun == [("RequestReceived", "watch"), ("ResponseStarted", "watch")]
        left.set()
        await watching
        assert [item["stage"] for item in await log.events()][2:] == ["ResponseComplete"]
        assert dict(sent[0]["headers"])[b"audit-id"].decode() == (await log.events())[0]["auditID"]


async def test_unexpected_failure_is_recorded_as_panic(
    server: RbacServer, log: AuditLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(routing.VERBS, "get", fail)
    assert (await server.request("GET", f"{MAPS}/m")).code == 500
    [event] = await log.events()
    assert (event["stage"], event["responseStatus"]["code"]) == ("Panic", 500)


async def test_requests_of_controllers_are_recorded(server: RbacServer, log: AuditLogReader) -> None:
    own = LocalTransport(server.api, service_account_user("kube-system", "job-controller"))
    await own.send("GET", "/apis/batch/v1/jobs", query={"limit": "5"}, body=b"", media="application/json")
    code, _ = await own.send("DELETE", "/api/v1/nodes/n", query={}, body=b"", media="application/json")
    listed, refused = await log.events()
    assert (listed["user"]["username"], listed["userAgent"]) == ("system:serviceaccount:kube-system:job-controller", "probate")
    assert listed["requestURI"] == "/apis/batch/v1/jobs?limit=5"
    assert (code, refused["responseStatus"]["code"]) == (403, 403)
    async with own.stream("/apis/batch/v1/jobs", {"watch": "true"}):
        pass
    assert [item["stage"] for item in await log.events(verb="watch")] == ["ResponseStarted", "ResponseComplete"]
    assert CURRENT_TRAIL.get() is None


async def test_source_addresses_end_with_the_client(server: RbacServer, log: AuditLogReader) -> None:
    forwarded = [(b"x-forwarded-for", b"10.0.0.1, nonsense, 2001:db8::1")]
    await server.request("GET", MAPS, headers=forwarded, client=("192.0.2.7", 1234))
    await server.request("GET", MAPS, client=("192.0.2.7", 1234))
    first, second = await log.events()
    assert first["sourceIPs"] == ["10.0.0.1", "2001:db8::1", "192.0.2.7"]
    assert second["sourceIPs"] == ["192.0.2.7"]


async def test_audit_annotations_of_policies_are_recorded(server: RbacServer, log: AuditLogReader) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps", "secrets"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false"}],
        "auditAnnotations": [{"key": "seen", "valueExpression": "'it is ' + object.metadata.name"}],
    }
    await server.request("POST", f"{group}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Audit"]}
    await server.request("POST", f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    await server.request("POST", MAPS, new())
    annotations = (await log.events())[-1]["annotations"]
    assert annotations["p/seen"] == "it is m"
    assert "validation.policy.admission.k8s.io/validation_failure" in annotations


async def test_policy_messages_about_secrets_are_redacted(server: RbacServer, quick_path: Path) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets", "configmaps"]}
    validation = {"expression": "false", "messageExpression": "'it has ' + string(object.data.k)"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    await server.request("POST", f"{group}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Deny", "Audit"]}
    await server.request("POST", f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    async with with_audit_log(server, quick_path, EVERYTHING) as log:
        response = await server.request("POST", "/api/v1/namespaces/a/secrets", new(data={"k": "U0VTQU1F"}))
        assert (response.code, "it has U0VTQU1F" in response.json["message"]) == (422, True)
        [event] = await log.events(stage="ResponseComplete")
        assert "U0VTQU1F" not in await log.text()
        assert (event["responseStatus"]["message"], event["responseStatus"]["reason"]) == (REDACTED, "Invalid")
        await server.request("POST", MAPS, new(data={"k": "open"}))
        assert "it has open" in (await log.events(stage="ResponseComplete"))[-1]["responseStatus"]["message"]


async def test_tokens_in_urls_are_redacted(server: RbacServer, log: AuditLogReader) -> None:
    await server.request("GET", MAPS, query={"limit": "5", "access_token": "SESAME", "token": "SESAME", "continue": ""})
    [event] = await log.events()
    assert event["requestURI"] == f"{MAPS}?limit=5&access_token={REDACTED}&token={REDACTED}&continue="


async def test_timestamps_come_from_the_clock(quick_path: Path) -> None:
    async with running_with_rbac(FakeClock(1_800_000_000.25)) as server, with_audit_log(server, quick_path) as log:
        await server.request("GET", MAPS)
        [event] = await log.events()
        assert event["requestReceivedTimestamp"] == event["stageTimestamp"] == "2027-01-15T08:00:00.250000Z"

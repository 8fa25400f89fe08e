"""What the audit log tells of requests: who, what, from where, and what became of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from probate.api.audit.redaction import REDACTED
from probate.api.rbac.users import account
from probate.core import errors
from probate.core.clock import FakeClock
from probate.server import routing
from probate.server.app import App
from probate.server.audit.request_trail import TRAIL
from probate.server.local_transport import Local
from support.audit_logs import EVERYTHING, METADATA, Log, audited
from support.rbac_server import Guarded, guarded

MAPS = "/api/v1/namespaces/a/configmaps"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
async def house() -> AsyncGenerator[Guarded, None]:
    async with guarded() as house:
        yield house


@pytest.fixture
async def log(house: Guarded, quick_path: Path) -> AsyncGenerator[Log, None]:
    async with audited(house, quick_path) as log:
        yield log


def new(name: str = "m", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


async def test_a_create_is_told_as_kubernetes_tells_it(house: Guarded, log: Log) -> None:
    made = await house.ask("POST", MAPS, new(), query={"fieldManager": "me"}, headers=[(b"user-agent", b"tests/1.0")])
    [event] = await log.events()
    assert MICRO_TIME.fullmatch(event.pop("requestReceivedTimestamp"))
    assert MICRO_TIME.fullmatch(event.pop("stageTimestamp"))
    meta = made.json["metadata"]
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
    assert made.headers["audit-id"] == "audit-1"


async def test_each_verb_names_its_object(house: Guarded, log: Log) -> None:
    made = (await house.ask("POST", MAPS, new())).json
    await house.ask("GET", f"{MAPS}/m")
    await house.ask("PUT", f"{MAPS}/m", new(data={"a": "b"}))
    await house.ask("PATCH", f"{MAPS}/m", {"data": {"a": "c"}}, media="application/merge-patch+json")
    await house.ask("GET", MAPS)
    await house.ask("DELETE", f"{MAPS}/m")
    await house.ask("DELETE", MAPS)
    uid = made["metadata"]["uid"]
    told = [(one["verb"], one["objectRef"].get("name"), one["objectRef"].get("uid")) for one in await log.events()]
    assert told == [
        ("create", "m", uid),
        ("get", "m", uid),
        ("update", "m", uid),
        ("patch", "m", uid),
        ("list", None, None),
        ("delete", "m", uid),
        ("deletecollection", None, None),
    ]


async def test_a_refusal_is_told_with_its_reason(house: Guarded, log: Log) -> None:
    told = await house.ask("GET", f"{MAPS}/none")
    [event] = await log.events()
    said = {name: value for name, value in told.json.items() if name not in {"kind", "apiVersion"}}
    assert event["responseStatus"] == said
    assert event["responseStatus"]["reason"] == "NotFound"


async def test_who_may_not_is_told_with_the_decision(house: Guarded, log: Log) -> None:
    await house.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    await house.ask_as("ann", "GET", f"{MAPS}/m")
    await house.ask_as("ann", "DELETE", f"{MAPS}/m")
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


async def test_what_is_refused_later_was_allowed(house: Guarded, log: Log) -> None:
    """Not to be allowed to grant something is another thing than not to be allowed to ask."""
    await house.grant(
        "ann", {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}, namespace="a"
    )
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles"
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    assert (await house.ask_as("ann", "POST", path, {"metadata": {"name": "r"}, "rules": [rule]})).code == 403
    assert (await log.events())[-1]["annotations"]["authorization.k8s.io/decision"] == "allow"


async def test_a_refused_impersonation_is_told(house: Guarded, log: Log) -> None:
    app = App(house.api, recognise=lambda _: _ann())
    house.app = app
    assert (await house.ask_as("boss", "GET", MAPS)).code == 403
    [event] = await log.events()
    assert event["user"]["username"] == "system:serviceaccount:a:ann"
    assert "impersonatedUser" not in event
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def _ann() -> Any:
    return account("a", "ann")


async def test_who_is_not_known_is_told_without_a_name(house: Guarded, log: Log) -> None:
    async def nobody(_: Any) -> Any:
        raise errors.Unauthorized

    house.app = App(house.api, recognise=nobody)
    assert (await house.ask("GET", MAPS, headers=[(b"authorization", b"Bearer MARKER")])).code == 401
    [event] = await log.events()
    assert (event["user"], event["stage"], event["responseStatus"]["code"]) == ({}, "ResponseStarted", 401)
    assert "MARKER" not in await log.text()


async def test_paths_that_are_no_resource_and_kinds_nobody_serves_are_told(house: Guarded, log: Log) -> None:
    await house.ask("GET", "/version")
    await house.ask("GET", "/apis/not.served/v1/namespaces/a/things/x")
    version, thing = await log.events()
    assert (version["verb"], version["requestURI"], "objectRef" in version) == ("get", "/version", False)
    assert thing["objectRef"] == {"resource": "things", "namespace": "a", "name": "x", "apiGroup": "not.served", "apiVersion": "v1"}
    assert thing["responseStatus"]["code"] == 404


async def test_levels_say_what_is_kept_of_bodies(house: Guarded, quick_path: Path) -> None:
    for level, wanted in (
        ("Metadata", set()),
        ("Request", {"requestObject"}),
        ("RequestResponse", {"requestObject", "responseObject"}),
    ):
        async with audited(house, quick_path / level, METADATA.replace("{level: Metadata}", f"{{level: {level}}}")) as log:
            await house.ask("POST", MAPS, new(level.lower(), data={"a": "b"}))
            [event] = await log.events()
            assert {one for one in event if one.endswith("Object")} == wanted
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
async def test_any_form_of_body_is_told_as_json_on_one_line(house: Guarded, quick_path: Path, media: str, body: str) -> None:
    async with audited(house, quick_path, EVERYTHING) as log:
        told = await house.send("POST", MAPS, body.encode(), media=media)
        assert told.code == 201, told.body
        [event] = await log.events(stage="ResponseComplete")
        assert event["requestObject"] == new(data={"a": "b"})


@pytest.mark.parametrize("accept", ["application/yaml", "application/vnd.kubernetes.protobuf"])
async def test_any_form_of_answer_is_told_as_json(house: Guarded, quick_path: Path, accept: str) -> None:
    async with audited(house, quick_path, EVERYTHING) as log:
        plain = (await house.ask("POST", MAPS, new(data={"a": "b"}))).json
        told = await house.ask("GET", f"{MAPS}/{plain['metadata']['name']}", accept=accept)
        assert told.headers["content-type"] == accept
        _, event = await log.events(stage="ResponseComplete")
        assert event["responseObject"] == plain
        secrets = MAPS.replace("configmaps", "secrets")
        await house.ask("POST", secrets, new("s", stringData={"a": "hush"}), accept=accept)
        assert "hush" not in await log.text()
        assert "aHVzaA==" not in await log.text()


async def test_managed_fields_are_left_out_if_the_policy_says_so(house: Guarded, quick_path: Path) -> None:
    async with audited(house, quick_path, EVERYTHING.replace("rules:", "omitManagedFields: true, rules:")) as log:
        await house.ask("POST", MAPS, new(data={"a": "b"}))
        await house.ask("GET", MAPS)
        await house.ask("GET", MAPS, accept="application/json;as=Table;g=meta.k8s.io;v=v1", query={"includeObject": "Object"})
        text = await log.text()
        assert '"responseObject"' in text
        assert "managedFields" not in text


async def test_what_is_too_large_is_left_out_and_said_so(house: Guarded, quick_path: Path) -> None:
    async with audited(house, quick_path, EVERYTHING) as log:
        for name in ("m", "n"):
            assert (await house.ask("POST", MAPS, new(name, data={"a": "x" * 1_000_000}))).code == 201
        await house.ask("GET", MAPS)
        kept, _, left_out = await log.events(stage="ResponseComplete")
        assert kept["requestObject"]["data"] == kept["responseObject"]["data"]
        assert "responseObject" not in left_out
        assert left_out["annotations"]["audit.k8s.io/truncated"] == "true"


async def test_each_stage_is_told_unless_it_is_omitted(house: Guarded, quick_path: Path) -> None:
    async with audited(house, quick_path / "all", EVERYTHING) as log:
        await house.ask("GET", MAPS)
        assert [(one["stage"], one["auditID"]) for one in await log.events()] == [
            ("RequestReceived", "audit-1"),
            ("ResponseComplete", "audit-1"),
        ]
        assert "responseStatus" not in (await log.events())[0]
    async with audited(house, quick_path / "some", EVERYTHING.replace("level:", "omitStages: [ResponseComplete], level:")) as log:
        await house.ask("GET", MAPS)
        assert [one["stage"] for one in await log.events()] == ["RequestReceived"]


async def test_what_the_policy_leaves_out_is_not_there(house: Guarded, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", "rules: [{level: None, namespaces: [a]}, ")
    async with audited(house, quick_path, policy) as log:
        left_out = (await house.ask("GET", MAPS)).headers["audit-id"]
        told = (await house.ask("GET", MAPS.replace("/a/", "/b/"))).headers["audit-id"]
        assert [(one["requestURI"], one["auditID"]) for one in await log.events()] == [(MAPS.replace("/a/", "/b/"), told)]
        assert left_out != told


async def test_a_watch_is_told_when_it_begins_and_when_it_ends(house: Guarded, quick_path: Path) -> None:
    async with audited(house, quick_path, EVERYTHING) as log:
        left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": MAPS, "query_string": b"watch=true", "headers": []}
        watching = asyncio.create_task(house.app(scope, receive, send))
        while len(await log.events()) < 2:  # noqa: ASYNC110 the log tells nobody that something was written
            await asyncio.sleep(0)
        begun = [(one["stage"], one["verb"]) for one in await log.events()]
        assert begun == [("RequestReceived", "watch"), ("ResponseStarted", "watch")]
        left.set()
        await watching
        assert [one["stage"] for one in await log.events()][2:] == ["ResponseComplete"]
        assert dict(sent[0]["headers"])[b"audit-id"].decode() == (await log.events())[0]["auditID"]


async def test_a_failure_nobody_foresaw_is_told_as_panic(house: Guarded, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(routing.VERBS, "get", fail)
    assert (await house.ask("GET", f"{MAPS}/m")).code == 500
    [event] = await log.events()
    assert (event["stage"], event["responseStatus"]["code"]) == ("Panic", 500)


async def test_our_own_controllers_are_told_like_anybody(house: Guarded, log: Log) -> None:
    own = Local(house.api, account("kube-system", "job-controller"))
    await own.send("GET", "/apis/batch/v1/jobs", {"limit": "5"}, b"", "application/json")
    code, _ = await own.send("DELETE", "/api/v1/nodes/n", {}, b"", "application/json")
    listed, refused = await log.events()
    assert (listed["user"]["username"], listed["userAgent"]) == ("system:serviceaccount:kube-system:job-controller", "probate")
    assert listed["requestURI"] == "/apis/batch/v1/jobs?limit=5"
    assert (code, refused["responseStatus"]["code"]) == (403, 403)
    async with own.stream("/apis/batch/v1/jobs", {"watch": "true"}):
        pass
    assert [one["stage"] for one in await log.events(verb="watch")] == ["ResponseStarted", "ResponseComplete"]
    assert TRAIL.get() is None


async def test_where_a_request_comes_from_is_told_with_the_sender_last(house: Guarded, log: Log) -> None:
    forwarded = [(b"x-forwarded-for", b"10.0.0.1, nonsense, 2001:db8::1")]
    await house.ask("GET", MAPS, headers=forwarded, client=("192.0.2.7", 1234))
    await house.ask("GET", MAPS, client=("192.0.2.7", 1234))
    first, second = await log.events()
    assert first["sourceIPs"] == ["10.0.0.1", "2001:db8::1", "192.0.2.7"]
    assert second["sourceIPs"] == ["192.0.2.7"]


async def test_what_policies_say_for_the_audit_log_is_there(house: Guarded, log: Log) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps", "secrets"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false"}],
        "auditAnnotations": [{"key": "seen", "valueExpression": "'it is ' + object.metadata.name"}],
    }
    await house.ask("POST", f"{group}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Audit"]}
    await house.ask("POST", f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    await house.ask("POST", MAPS, new())
    annotations = (await log.events())[-1]["annotations"]
    assert annotations["p/seen"] == "it is m"
    assert "validation.policy.admission.k8s.io/validation_failure" in annotations


async def test_what_policies_say_about_secrets_in_their_own_words_is_not_written(house: Guarded, quick_path: Path) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets", "configmaps"]}
    validation = {"expression": "false", "messageExpression": "'it has ' + string(object.data.k)"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    await house.ask("POST", f"{group}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Deny", "Audit"]}
    await house.ask("POST", f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    async with audited(house, quick_path, EVERYTHING) as log:
        told = await house.ask("POST", "/api/v1/namespaces/a/secrets", new(data={"k": "U0VTQU1F"}))
        assert (told.code, "it has U0VTQU1F" in told.json["message"]) == (422, True)
        [event] = await log.events(stage="ResponseComplete")
        assert "U0VTQU1F" not in await log.text()
        assert (event["responseStatus"]["message"], event["responseStatus"]["reason"]) == (REDACTED, "Invalid")
        await house.ask("POST", MAPS, new(data={"k": "open"}))
        assert "it has open" in (await log.events(stage="ResponseComplete"))[-1]["responseStatus"]["message"]


async def test_tokens_in_urls_are_not_written(house: Guarded, log: Log) -> None:
    await house.ask("GET", MAPS, query={"limit": "5", "access_token": "SESAME", "token": "SESAME", "continue": ""})
    [event] = await log.events()
    assert event["requestURI"] == f"{MAPS}?limit=5&access_token={REDACTED}&token={REDACTED}&continue="


async def test_times_are_those_of_the_clock(quick_path: Path) -> None:
    async with guarded(FakeClock(1_800_000_000.25)) as house, audited(house, quick_path) as log:
        await house.ask("GET", MAPS)
        [event] = await log.events()
        assert event["requestReceivedTimestamp"] == event["stageTimestamp"] == "2027-01-15T08:00:00.250000Z"

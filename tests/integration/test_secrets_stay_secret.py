"""Secret data reaches only clients that read the Secret: no log, metric, Event or error message contains it.

A server as talkative as it can be is sent Secrets by every verb and in every form, rightly and wrongly, and then all that it wrote
is searched for what was in them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from probate.api.audit.redaction import REDACTED
from support.http_server import run_memory_server

SECRETS = "/api/v1/namespaces/default/secrets"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
WORD = "SESAMEopen"
JSON, YAML = "application/json", "application/yaml"
JSON_PATCH, MERGE, STRATEGIC = (f"application/{one}+json" for one in ("json-patch", "merge-patch", "strategic-merge-patch"))
APPLY = "application/apply-patch+yaml"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def hidden(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


MARKS = (WORD, hidden(WORD * 4)[:12], hidden(f"x{WORD * 4}")[3:12], hidden(f"xx{WORD * 4}")[3:12])
SECRET = hidden(WORD * 4)
OTHER = hidden(f"other {WORD * 4}")


def tells(text: str) -> bool:
    """Whether the text contains the secret, in plain or encoded form."""
    return any(mark in text for mark in MARKS)


class Sent(NamedTuple):
    """A request about Secrets."""

    method: str
    name: str
    body: Any
    media: str = JSON
    query: dict[str, str] = {}  # noqa: RUF012 nobody changes it

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def new(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n"}, **more}


def of(name: str, **more: Any) -> dict[str, Any]:
    return {**new(**more), "metadata": {"name": name}}


ALLOWED = [
    Sent("POST", "", of("full", data={"k": SECRET}, stringData={"l": WORD})),
    Sent("POST", "", of("fixed", data={"k": SECRET}, immutable=True)),
    Sent("POST", "", f"metadata: {{name: yaml}}\nstringData:\n  k: {WORD}\n".encode(), YAML),
    Sent("POST", "", new(metadata={"name": "copied", "annotations": {LAST_APPLIED: json.dumps(of("copied", data={"k": SECRET}))}})),
    Sent("POST", "", of("rehearsed", data={"k": SECRET}), JSON, {"dryRun": "All"}),
    Sent("POST", "", new(metadata={"name": "odd"}, dota={"k": SECRET}), JSON, {"fieldValidation": "Warn"}),
    Sent("POST", "", new(metadata={"generateName": "made-"}, stringData={"k": WORD})),
    Sent("PUT", "full", of("full", data={"k": OTHER})),
    Sent("PATCH", "full", {"stringData": {"m": WORD}}, MERGE),
    Sent("PATCH", "full", {"data": {"n": SECRET, "$patch": "replace"}}, STRATEGIC),
    Sent(
        "PATCH",
        "full",
        [{"op": "test", "path": "/data/n", "value": SECRET}, {"op": "add", "path": "/data/o", "value": SECRET}],
        JSON_PATCH,
    ),
    Sent("PATCH", "full", [{"op": "copy", "from": "/data/o", "path": "/data/p"}], JSON_PATCH),
    Sent("PATCH", "applied", of("applied", data={"k": SECRET}), APPLY, {"fieldManager": "me"}),
    Sent("PATCH", "applied", f"apiVersion: v1\nkind: Secret\nstringData: {{k: {WORD}}}\n".encode(), APPLY, {"fieldManager": "me"}),
    Sent("GET", "", b""),
    Sent("GET", "full", b""),
    Sent("DELETE", "odd", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}),
    Sent("DELETE", "", {"data": {"k": SECRET}}, JSON, {"labelSelector": "none=none"}),
]

REFUSED = [
    Sent("POST", "", new(data={"k": f"{WORD}!!"})),
    Sent("POST", "", new(data={"k": SECRET[:-1]})),
    Sent("POST", "", new(data={"k": {"l": WORD}})),
    Sent("POST", "", new(data=[WORD])),
    Sent("POST", "", new(data=WORD)),
    Sent("POST", "", new(stringData={"k": [WORD]})),
    Sent("POST", "", new(stringData=WORD)),
    Sent("POST", "", new(data={"k": hidden(WORD * 110_000)})),
    Sent("POST", "", new(stringData={"k": WORD * 110_000})),
    Sent("POST", "", new(data={"k": SECRET}, dota={"k": SECRET}), JSON, {"fieldValidation": "Strict"}),
    Sent(
        "POST",
        "",
        b'{"metadata":{"name":"n"},"data":{"k":"%b","k":"%b"}}' % (SECRET.encode(), SECRET.encode()),
        JSON,
        {"fieldValidation": "Strict"},
    ),
    Sent("POST", "", b'{"metadata":{"name":"n"},"data":{"k":"%b" "l"}}' % SECRET.encode()),
    Sent("POST", "", b'{"metadata":{"name":"n"},"data":{"k":%b}}' % WORD.encode()),
    Sent("POST", "", b'{"metadata":{"name":"n"},"data":{"k":"%b' % SECRET.encode()),
    Sent("POST", "", b'{"metadata":{"name":"n"},"data":{"k":"%b\xff"}}' % WORD.encode()),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: !%b\n" % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: !%b {}\n" % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: *%b\n" % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: &%b! x\n" % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: %%%b\n" % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData:\n  k: %b: %b\n" % (WORD.encode(), WORD.encode()), YAML),
    Sent("POST", "", b'metadata: {name: n}\nstringData:\n  k: "%b\n' % WORD.encode(), YAML),
    Sent("POST", "", b"metadata: {name: n}\nstringData: %b\n" % WORD.encode(), YAML),
    Sent("POST", "", b"k8s\x00%b" % WORD.encode(), "application/vnd.kubernetes.protobuf"),
    Sent("POST", "", WORD.encode(), "text/plain"),
    Sent("POST", "", [WORD]),
    Sent("POST", "", {**new(data={"k": SECRET}), "kind": "ConfigMap"}),
    Sent("POST", "", new(data={"k": SECRET}, type="kubernetes.io/tls")),
    Sent("POST", "", new(data={".dockerconfigjson": SECRET}, type="kubernetes.io/dockerconfigjson")),
    Sent("POST", "", of("fixed", data={"k": SECRET})),
    Sent("POST", "", new(metadata={"name": "n", "annotations": {LAST_APPLIED: {"data": SECRET}}})),
    Sent("POST", "", new(metadata={"name": "n", "annotations": {LAST_APPLIED: SECRET * 10_000}})),
    Sent("POST", "", new(metadata={"name": "n", "labels": {"policy": "says-no"}}, data={"k": SECRET})),
    Sent("POST", "", new(metadata={"name": "n", "labels": {"policy": "fails"}}, data={"k": SECRET})),
    Sent("PUT", "none", of("none", data={"k": SECRET})),
    Sent("PUT", "fixed", of("fixed", data={"k": OTHER}, immutable=True)),
    Sent("PUT", "full", {**of("full", data={"k": SECRET}), "metadata": {"name": "full", "resourceVersion": "1"}}),
    Sent("PATCH", "fixed", {"stringData": {"k": f"other {WORD}"}}, MERGE),
    Sent("PATCH", "fixed", {"stringData": {"k": f"other {WORD}"}}, STRATEGIC),
    Sent("PATCH", "full", {"data": {"k": {"l": WORD}}}, MERGE),
    Sent("PATCH", "full", {"data": WORD}, STRATEGIC),
    Sent("PATCH", "full", {"data": {"$patch": WORD}}, STRATEGIC),
    Sent("PATCH", "full", json.dumps(WORD).encode(), MERGE),
    Sent("PATCH", "full", [{"op": "test", "path": "/data/n", "value": OTHER}], JSON_PATCH),
    Sent("PATCH", "full", [{"op": "test", "path": "/data", "value": {"n": WORD}}], JSON_PATCH),
    Sent("PATCH", "full", [{"op": "replace", "path": "/data/none", "value": WORD}], JSON_PATCH),
    Sent("PATCH", "full", [{"op": "add", "path": "/data/n/l", "value": WORD}], JSON_PATCH),
    Sent("PATCH", "full", [{"op": "add", "path": "/data/n", "value": {"l": WORD}}], JSON_PATCH),
    Sent("PATCH", "full", [{"op": "none", "path": "/data/n", "value": WORD}], JSON_PATCH),
    Sent("PATCH", "full", [WORD], JSON_PATCH),
    *(
        Sent("PATCH", "full", [{"op": op, "from": source, "path": target}], JSON_PATCH)
        for op in ("copy", "move")
        for source in ("/data/n", "/data")
        for target in ("/metadata/name", "/metadata/uid", "/type", "/kind", "/metadata/annotations", "/metadata/labels")
    ),
    Sent("PATCH", "full", [{"op": "copy", "from": "", "path": "/metadata/annotations"}], JSON_PATCH),
    Sent("PATCH", "full", of("full", data={"n": OTHER}), APPLY, {"fieldManager": "me"}),
    Sent("PATCH", "full", of("full", data={"n": {"l": WORD}}), APPLY, {"fieldManager": "me", "force": "true"}),
    Sent("PATCH", "full", of("full", data=WORD), APPLY, {"fieldManager": "me", "force": "true"}),
    Sent("PATCH", "full", of("full", data={"n": f"{WORD}!"}), APPLY, {"fieldManager": "me", "force": "true"}),
    Sent("PATCH", "full", b"apiVersion: v1\nkind: Secret\ndata: {n: '%b\n" % WORD.encode(), APPLY, {"fieldManager": "me"}),
    Sent("DELETE", "full", b'{"data":%b}' % WORD.encode()),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns everything that a server wrote after all requests, by destination."""
    folder = tmp_path_factory.mktemp("audited")
    found: dict[str, str] = {}
    with run_memory_server(*_talkative(folder)) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        _make_policies(client)
        found["refusals"] = "\n".join(_sent(client))
        found["tokens"] = "\n".join(_tokens(client))
        found["Events"] = client.get("/api/v1/events").text
        form = "application/json;as=Table;g=meta.k8s.io;v=v1"
        rows = client.get(SECRETS, headers={"accept": form}).json()["rows"]
        found["tables"] = json.dumps([row["cells"] for row in rows])
        found["metadata"] = _metadata(client)
        found["figures"] = client.get("/metrics").text
        server.stop()
        found["log"] = server.log.read_text()
    found["audit"] = (folder / "audit.log").read_text()
    return found


def _talkative(folder: Path) -> list[str]:
    policy = folder / "policy.yaml"
    policy.write_text("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: RequestResponse}]}")
    return ["--log-level", "debug", "--audit-log-path", str(folder / "audit.log"), "--audit-policy-file", str(policy)]


def _make_policies(client: httpx.Client) -> None:
    """A policy that denies with its own message, and one that cannot be evaluated."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]}
    for name, expression, actions in (("says-no", "false", ["Deny"]), ("fails", "int(object.data.k) > 1", ["Deny", "Audit"])):
        matched = {"resourceRules": [rule], "objectSelector": {"matchLabels": {"policy": name}}}
        validation = {"expression": expression, "message": "no"}
        told = [{"key": "seen", "valueExpression": "string(object.data.k)"}]
        spec = {"matchConstraints": matched, "validations": [validation], "auditAnnotations": told}
        bound = {"policyName": name, "validationActions": actions}
        for kind, body in (("policies", spec), ("policybindings", bound)):
            made = client.post(f"{POLICIES}/validatingadmission{kind}", json={"metadata": {"name": name}, "spec": body})
            assert made.status_code == 201, made.text


def _sent(client: httpx.Client) -> Iterator[str]:
    """Sends all requests and returns the error responses."""
    for is_allowed, requests in ((True, ALLOWED), (False, REFUSED)):
        for sent in requests:
            path = f"{SECRETS}/{sent.name}" if sent.name else SECRETS
            answer = client.request(
                sent.method, path, content=sent.content, params=sent.query, headers={"content-type": sent.media}
            )
            assert answer.is_success is is_allowed, (sent, answer.text)
            if not is_allowed:
                yield f"{answer.text} {dict(answer.headers)}"


def _tokens(client: httpx.Client) -> Iterator[str]:
    """Issues tokens and reviews them."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert client.post(accounts, json={"metadata": {"name": "bot"}}).status_code == 201
    token = client.post(f"{accounts}/bot/token", json={"spec": {}}).json()["status"]["token"]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    assert client.post("/apis/authentication.k8s.io/v1/tokenreviews", json=review).json()["status"]["authenticated"]
    client.post("/apis/authentication.k8s.io/v1/tokenreviews", json={**review, "spec": {"token": f"not.{token}"}})
    client.get("/api/v1/pods", headers={"authorization": f"Bearer {token}"})
    client.get("/api/v1/pods", params={"access_token": token, "token": token})
    yield token


def _metadata(client: httpx.Client) -> str:
    """Metadata of Secrets, without the annotation in which a client stores a copy."""
    form = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    items = client.get(SECRETS, headers={"accept": form}).json()["items"]
    return json.dumps([{**one["metadata"], "annotations": None} for one in items])


@pytest.mark.parametrize("where", ["refusals", "Events", "tables", "metadata", "figures", "log", "audit"])
def test_secret_data_is_not_in(written: dict[str, str], where: str) -> None:
    assert not [line for line in written[where].splitlines() if tells(line)]


@pytest.mark.parametrize("where", ["refusals", "Events", "figures", "log", "audit"])
def test_tokens_are_not_in(written: dict[str, str], where: str) -> None:
    signature = written["tokens"].rpartition(".")[2]
    assert signature
    assert signature not in written[where]


def test_audit_log_contains_everything_else(written: dict[str, str]) -> None:
    """Guards the other tests: the searched output is not empty."""
    events = [json.loads(line) for line in written["audit"].splitlines()]
    told = [one for one in events if one["stage"] == "ResponseComplete" and one.get("objectRef", {}).get("resource") == "secrets"]
    assert len(told) >= len(ALLOWED) + len(REFUSED)
    [full] = [one for one in told if one["objectRef"].get("name") == "full" and one["verb"] == "create"]
    assert full["requestObject"]["data"] == {"k": REDACTED}
    assert full["responseObject"]["data"] == {"k": REDACTED, "l": REDACTED}
    assert full["responseObject"]["metadata"]["name"] == "full"
    patches = [one["requestObject"] for one in told if one["verb"] == "patch" and isinstance(one.get("requestObject"), list)]
    assert {"op": "add", "path": "/data/o", "value": REDACTED} in [change for patch in patches for change in patch]
    [token] = [
        one for one in events if one["stage"] == "ResponseComplete" and one.get("objectRef", {}).get("subresource") == "token"
    ]
    assert token["responseObject"]["status"].get("token") == REDACTED

"""Misbehaving webhooks: each fails as its failure policy says, in time, and cannot change what it must not change."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import orjson
import pytest

from probate.server.webhooks import https_client
from support.in_process_server import InProcessServer, Response, running
from support.webhook_servers import WebhookServer, allow, authority, configuration, http, patch, review_response, serving

REGISTRATION = "apis/admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = f"{REGISTRATION}/mutatingwebhookconfigurations", f"{REGISTRATION}/validatingwebhookconfigurations"
MAPS_PATH = "/api/v1/namespaces/default/configmaps"
FAILED = 'Internal error occurred: failed calling webhook "guard.example.com": '
REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}


async def configure(house: InProcessServer, resource: str, hook: WebhookServer, **options: Any) -> None:
    await house.create(resource, "", configuration(resource, options.pop("client", None) or hook.client, **options))


async def post(house: InProcessServer, name: str = "m") -> Response:
    return await house.request("POST", MAPS_PATH, {"metadata": {"name": name}})


def uid_of(review: Any) -> str:
    uid: str = review["request"]["uid"]
    return uid


BAD: dict[str, tuple[Any, str]] = {
    "garbage": (lambda _: b"\x00\x01garbage\r\n\r\n", "malformed HTTP response"),
    "nothing": (lambda _: b"", "EOF"),
    "half of an answer": (lambda _: b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", "unexpected EOF"),
    "a redirect": (lambda _: http(b"", "302 Found", "location: https://127.0.0.1:1/"), "redirects are not followed"),
    "an error": (lambda _: http(b"out of order", "500 Internal Server Error"), "HTTP status 500: out of order"),
    "no JSON": (lambda _: http(b"<html>"), "json parse error"),
    "a list": (lambda _: http(b"[]"), "the answer is not an AdmissionReview"),
    "another kind": (lambda _: {"kind": "Pod", "apiVersion": "v1"}, "expected webhook response of admission.k8s.io/v1, Kind="),
    "no response": (lambda _: REVIEW, "webhook response was absent"),
    "another uid": (lambda _: {**REVIEW, "response": {"uid": "x", "allowed": True}}, "expected response.uid="),
    "a text for a truth": (
        lambda review: {**REVIEW, "response": {"uid": uid_of(review), "allowed": "yes"}},
        "response.allowed must be of type boolean, not string",
    ),
    "odd warnings": (
        lambda review: review_response(review, allowed=True, warnings=[1]),
        "response.warnings must be of type array of string",
    ),
    "a patch of one who may not": (lambda review: patch(review, {"op": "remove", "path": "/data"}), "validating webhook may not"),
}


@pytest.mark.parametrize(("answer", "why"), BAD.values(), ids=BAD.keys())
async def test_invalid_response_fails_as_the_failure_policy_says(answer: Any, why: str) -> None:
    async with running(collects=False) as house, serving(answer) as hook:
        await configure(house, VALIDATING, hook)
        response = await post(house)
        assert response.code == 500
        assert response.json["message"].startswith(FAILED)
        assert why in response.json["message"]
        assert (await house.request("GET", f"{MAPS_PATH}/m")).code == 404
        await house.request("DELETE", f"/{VALIDATING}/hooks")
        await configure(house, VALIDATING, hook, failurePolicy="Ignore")
        assert (await post(house)).code == 201


async def test_endless_response_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_client, "MAX_ANSWER_BYTES", 100_000)
    async with running(collects=False) as house, serving(allow) as hook:
        hook.answer = lambda _: b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000
        await configure(house, VALIDATING, hook)
        assert "the answer is over the limit of 100,000 bytes" in (await post(house)).json["message"]


async def test_slow_webhook_is_limited_by_its_timeout_and_blocks_no_others() -> None:
    async def never(_: Any) -> bytes:
        await asyncio.sleep(60)
        return b""

    async with running(collects=False) as house, serving(never) as hook:
        await configure(house, VALIDATING, hook, timeoutSeconds=1)
        waiting = asyncio.ensure_future(post(house))
        await hook.wait_for_reviews()
        await house.create("secrets", "default", {"metadata": {"name": "s"}})
        assert not waiting.done()
        told = await waiting
        assert told.code == 500
        url = f"{hook.url}/hook?timeout=1s"
        assert told.json["message"].startswith(f'{FAILED}failed to call webhook: Post "{url}": context deadline exceeded')


async def test_busy_webhook_server_gets_no_more_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_client, "MAX_AT_ONCE", 2)
    gate = asyncio.Event()

    async def later(review: Any) -> Any:
        await gate.wait()
        return allow(review)

    async with running(collects=False) as house, serving(later) as hook:
        await configure(house, VALIDATING, hook)
        waiting = [asyncio.ensure_future(post(house, f"m{number}")) for number in range(2)]
        await hook.wait_for_reviews(2)
        assert "2 requests to this server are in progress already" in (await post(house)).json["message"]
        gate.set()
        assert [(await one).code for one in waiting] == [201, 201]
        assert (await post(house)).code == 201


async def test_unreachable_and_untrusted_webhooks_fail() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        await configure(house, VALIDATING, hook, client={**hook.client, "caBundle": ""})
        assert "tls: failed to verify certificate: x509" in (await post(house)).json["message"]
        await house.request("DELETE", f"/{VALIDATING}/hooks")
        wrong = {"caBundle": hook.client["caBundle"], "url": f"https://localhost:{hook.port}/"}
        await configure(house, VALIDATING, hook, client=wrong)
        assert "tls: failed to verify certificate" in (await post(house)).json["message"]
        await house.request("DELETE", f"/{VALIDATING}/hooks")
        await configure(house, VALIDATING, hook, client={**hook.client, "url": "https://127.0.0.1:1/"})
        assert "dial tcp 127.0.0.1:1: connect: connection refused" in (await post(house)).json["message"]
        assert authority().cert_pem.bytes().startswith(b"-----BEGIN")


PATCHES: dict[str, tuple[Any, int, str]] = {
    "one that does not apply": ([{"op": "remove", "path": "/nowhere"}], 500, "operation 0 of the JSON patch failed"),
    "no operations": ({"op": "add"}, 500, "a JSON patch is a list of operations"),
    "one that makes it another kind": (
        [{"op": "replace", "path": "/kind", "value": "Secret"}],
        500,
        "changes the apiVersion or kind",
    ),
    "one that does not fit the kind": ([{"op": "add", "path": "/data", "value": 5}], 500, "data must be of type object"),
    "one that takes its name": ([{"op": "remove", "path": "/metadata/name"}], 422, "name or generateName is required"),
    "another namespace": ([{"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}], 400, "does not match"),
    "one that makes it invalid": ([{"op": "add", "path": "/data", "value": {"a b": "c"}}], 422, "a b"),
}


@pytest.mark.parametrize(("operations", "code", "why"), PATCHES.values(), ids=PATCHES.keys())
async def test_unusable_patch_changes_nothing(operations: Any, code: int, why: str) -> None:
    encoded = base64.b64encode(orjson.dumps(operations)).decode()
    async with running(collects=False) as house, serving(allow) as hook:
        hook.answer = lambda review: review_response(review, allowed=True, patchType="JSONPatch", patch=encoded)
        await configure(house, MUTATING, hook, failurePolicy="Ignore")
        response = await post(house)
        assert response.code == code, response.body
        assert why in response.json["message"]
        assert (await house.request("GET", f"{MAPS_PATH}/m")).code == 404


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"patch": "W10="}, "response.patch but not response.patchType"),
        ({"patchType": "JSONPatch"}, "response.patchType but not response.patch"),
        ({"patchType": "Merge", "patch": "W10="}, 'invalid response.patchType of "Merge"'),
        ({"patchType": "JSONPatch", "patch": "%%%"}, "is not a JSON patch in base64"),
    ],
)
async def test_incomplete_patch_response_fails(response: dict[str, Any], why: str) -> None:
    async with running(collects=False) as house, serving(lambda review: review_response(review, allowed=True, **response)) as hook:
        await configure(house, MUTATING, hook)
        told = await post(house)
        assert told.code == 500
        assert why in told.json["message"]


async def test_webhook_cannot_change_immutable_fields() -> None:
    change: list[dict[str, Any]] = [{"op": "replace", "path": "/metadata/creationTimestamp", "value": "2001-01-01T00:00:00Z"}]
    async with running(collects=False) as house, serving(lambda review: patch(review, *change)) as hook:
        made = (await post(house)).json
        await configure(house, MUTATING, hook)
        response = await house.request("PATCH", f"{MAPS_PATH}/m", {"data": {"a": "b"}}, media="application/merge-patch+json")
        assert response.json["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
        change[:] = [{"op": "replace", "path": "/metadata/uid", "value": "x"}]
        response = await house.request("PATCH", f"{MAPS_PATH}/m", {"data": {"a": "c"}}, media="application/merge-patch+json")
        assert response.code == 400
        change[:] = [{"op": "add", "path": "/immutable", "value": True}]
        assert (
            await house.request("PATCH", f"{MAPS_PATH}/m", {"data": {"a": "d"}}, media="application/merge-patch+json")
        ).code == 200
        change[:] = [{"op": "replace", "path": "/data/a", "value": "e"}]
        response = await house.request(
            "PATCH", f"{MAPS_PATH}/m", {"metadata": {"labels": {"l": "m"}}}, media="application/merge-patch+json"
        )
        assert response.code == 422


@pytest.mark.parametrize("part", ["binding", "eviction"])
async def test_command_is_validated_again_after_a_webhook_has_mutated_it(part: str) -> None:
    pods = "/api/v1/namespaces/default/pods"
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [f"pods/{part}"]}
    change = [{"op": "remove", "path": "/target"}] if part == "binding" else [{"op": "add", "path": "/deleteOptions", "value": 5}]
    async with running(collects=False) as house, serving(lambda review: patch(review, *change)) as hook:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await house.create("pods", "default", {"metadata": {"name": "p"}, "spec": spec})
        await configure(house, MUTATING, hook, rules=[rule])
        response = await house.request("POST", f"{pods}/p/{part}", {"metadata": {"name": "p"}, "target": {"name": "n"}})
        assert response.code == (422 if part == "binding" else 400), response.body
        assert "nodeName" not in (await house.request("GET", f"{pods}/p")).json["spec"]


async def test_delete_cannot_be_patched() -> None:
    async with (
        running(collects=False) as house,
        serving(lambda review: patch(review, {"op": "add", "path": "/data", "value": {}})) as h,
    ):
        await post(house)
        await configure(house, MUTATING, h)
        response = await house.request("DELETE", f"{MAPS_PATH}/m")
        assert response.code == 500
        assert "attempted to modify the object" in response.json["message"]
        assert (await house.request("GET", f"{MAPS_PATH}/m")).code == 200

"""The HTTP client of commands: answers, errors, watches and credentials. (tests/e2e has it with TLS.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from probate.client.http_client import HttpClient
from probate.client.http_kubeconfig import ServerAccess
from probate.client.resources import PODS
from probate.core import errors
from support.loopback_ports import free_port
from support.scripted_api_server import Answer, ScriptedApiServer, failure


@pytest.fixture
def start() -> Iterator[Callable[..., ScriptedApiServer]]:
    with ExitStack() as running:
        yield lambda *answers: running.enter_context(ScriptedApiServer(*answers).running())


def client(url: str, **access: str) -> HttpClient:
    return HttpClient(ServerAccess(url, "the context of a test", **access))  # type: ignore[arg-type]


def test_answer_is_an_object(start: Callable[..., ScriptedApiServer]) -> None:
    server = start(Answer(200, {"a": 1}))
    assert client(server.url).get("/x", {"q": "ä b"}) == {"a": 1}
    assert (server.requests[0].path, server.requests[0].headers.get("Authorization")) == ("/x?q=%C3%A4+b", None)


def test_path_of_the_server_comes_first(start: Callable[..., ScriptedApiServer]) -> None:
    server = start(Answer(200, {}))
    client(f"{server.url}/base").create("/x", {"b": 2})
    assert (server.requests[0].path, server.requests[0].body) == ("/base/x", {"b": 2})


def test_error_response_is_an_exception(start: Callable[..., ScriptedApiServer]) -> None:
    server = start(failure(409, "AlreadyExists", "it exists", name="x"))
    with pytest.raises(errors.AlreadyExists, match="it exists") as error:
        client(server.url).get("/x")
    assert error.value.details.name == "x"


@pytest.mark.parametrize("answer", [Answer(404, "<html>"), Answer(200, "[]"), Answer(502, "")])
def test_what_is_no_api_server_is_not_taken_for_absence(start: Callable[..., ScriptedApiServer], answer: Answer) -> None:
    server = start(answer)
    with pytest.raises(errors.ApiError, match="is it an API server") as error:
        client(server.url).get("/x")
    assert not isinstance(error.value, errors.NotFound)


def test_server_that_does_not_run() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(errors.StoreUnavailable, match=f"{url} does not answer: Connection refused"):
        client(url).get("/x")


def test_server_that_is_silent(start: Callable[..., ScriptedApiServer]) -> None:
    server = start(Answer(200, None))
    with pytest.raises(errors.StoreUnavailable, match="does not answer"):
        client(server.url).get("/x")


def test_token_file_is_read_for_each_request(start: Callable[..., ScriptedApiServer], tmp_path: Path) -> None:
    server, file = start(Answer(200, {})), tmp_path / "token"
    one = client(server.url, token_file=str(file))
    for token in ("first", "second"):
        file.write_text(f"{token}\n")
        one.get("/x")
    assert [request.headers["Authorization"] for request in server.requests] == ["Bearer first", "Bearer second"]
    file.unlink()
    with pytest.raises(errors.CannotOpen, match="token file"):
        one.get("/x")


def test_watch_yields_events_until_the_server_ends_it(start: Callable[..., ScriptedApiServer]) -> None:
    server = start(Answer(200, [{"type": "ADDED", "object": {"n": 1}}, {"type": "DELETED", "object": {"n": 2}}]))
    events = list(client(server.url).watch(PODS, {"fieldSelector": "metadata.name=x"}, seconds=7))
    assert [(event.type, event.object["n"]) for event in events] == [("ADDED", 1), ("DELETED", 2)]
    assert server.requests[0].path == "/api/v1/pods?watch=1&timeoutSeconds=7&fieldSelector=metadata.name%3Dx"


def test_error_in_a_watch_is_an_exception(start: Callable[..., ScriptedApiServer]) -> None:
    expired = failure(410, "Expired", "too old").body
    server = start(Answer(200, [{"type": "ADDED", "object": {}}, {"type": "ERROR", "object": expired}]))
    events = client(server.url).watch(PODS, {}, seconds=1)
    assert next(events).type == "ADDED"
    with pytest.raises(errors.Gone, match="too old"):
        next(events)


@pytest.mark.parametrize("part", [{"authority": b"no PEM"}, {"certificate": b"x", "key": b"y"}, {"authority": b"\xff"}])
def test_certificates_that_cannot_be_used(part: dict[str, bytes]) -> None:
    with pytest.raises(errors.CannotOpen, match="the context of a test has a certificate or key that cannot be used"):
        HttpClient(ServerAccess("https://127.0.0.1:1", "the context of a test", **part))  # type: ignore[arg-type]

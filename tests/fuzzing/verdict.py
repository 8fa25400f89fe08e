"""What an answer must not be, whatever was asked."""

from __future__ import annotations

import json
from typing import Any

import requests
import yaml

PATIENT_SECONDS = 30.0
"""An answer that takes longer is a hang."""


class Wrong(Exception):
    """An answer that must not be, with the request that led to it."""


def check(answer: requests.Response, body: bytes) -> None:
    """A refusal is a `Status` that says what is wrong, and never the server's failure."""
    if answer.status_code < 400 or answer.request.method == "HEAD":
        return
    is_yaml = answer.headers.get("content-type") == "application/yaml"
    try:
        status: Any = yaml.safe_load(body) if is_yaml else json.loads(body)
    except (ValueError, yaml.YAMLError):
        raise Wrong(f"the refusal is not in the form that it says: {answer.status_code} {body[:300]!r}") from None
    if (status.get("kind"), status.get("code")) != ("Status", answer.status_code) or not status.get("message"):
        raise Wrong(f"the refusal is no Status that says what is wrong: {answer.status_code} {body[:300]!r}")
    causes = [one.get("reason") for one in status.get("details", {}).get("causes", [])]
    if answer.status_code >= 500 and causes != ["ResourceVersionTooLarge"]:  # which is 504 in Kubernetes too
        raise Wrong(f"the server failed: {answer.status_code} {body[:1000]!r}")


def exchange(session: requests.Session, request: dict[str, Any]) -> tuple[int, bytes]:
    """The code and the body of an answer that is in order; a watch is left as soon as it has begun."""
    try:
        with session.request(**request, stream=True, timeout=PATIENT_SECONDS) as answer:
            is_watch = answer.headers.get("transfer-encoding") == "chunked"
            body = b"" if is_watch else answer.content
            check(answer, body)
            return answer.status_code, body
    except (requests.RequestException, Wrong) as error:
        shown = {name: value for name, value in request.items() if name != "cookies"}
        raise Wrong(f"{error}\n  the request was {str(shown)[:20_000]}") from error

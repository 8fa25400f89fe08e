"""What reviews share: the question that was sent, and the same with its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from probate.api.field_errors import Path, Problem, invalid
from probate.api.rbac.users import Extra
from probate.core import errors
from probate.server import api_errors, query
from probate.server.codec import negotiation, responses
from probate.server.codec import request_body as bodies
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.request import Request, Target

Object = dict[str, Any]

_OVERLOOKED = frozenset({"namespace", "managedFields"})


async def question(api: Api, request: Request, at: Target) -> Object:
    """The object in the body, as its kind has it."""
    options = query.write_options(request.query, "CreateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body, rules = await request.read_body(), api.kinds.rules(at.resource)
    read = await api.apart(len(body), lambda: bodies.read_object(body, media, at.resource, rules, options.field_validation))
    _check_place(read.object, at)
    return {"spec": {}, **read.object}


def _check_place(asked: Object, at: Target) -> None:
    """A question that names a namespace is asked in it; where there is none, the name is overlooked."""
    namespace = (asked.get("metadata") or {}).get("namespace")
    if namespace and at.namespace and namespace != at.namespace:
        raise errors.BadRequest(
            f"the namespace of the object ({namespace}) does not match the namespace on the request ({at.namespace})"
        )


def problems_of_metadata(asked: Object) -> Iterator[Problem]:
    """Nothing is kept of a question about rights, so it has no name, and no notes."""
    metadata = asked.get("metadata") or {}
    if any(value for field, value in metadata.items() if field not in _OVERLOOKED):
        yield invalid(Path("metadata"), metadata, "must be empty")


def answered(at: Target, asked: Object, status: Object, form: Form) -> Answer:
    """The question with its answer."""
    about = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}
    spec = {"spec": asked["spec"]} if asked["spec"] else {}
    whole = {**about, "metadata": asked.get("metadata") or {}, **spec, "status": status}
    return responses.one_made(whole, form, code=201)


def check(at: Target, problems: Iterable[Problem]) -> None:
    """`Invalid` if there are any."""
    found = list(problems)
    if found:
        raise api_errors.invalid(at.resource, "", found)


def extra_of(given: Mapping[str, Any] | None) -> Extra:
    """What else is said about somebody."""
    return tuple((key.lower(), tuple(values or ())) for key, values in sorted((given or {}).items()))

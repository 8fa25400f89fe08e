"""What the reviews share: reading the review that was sent, and answering with the same review and its status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, invalid
from probate.api.objects import Object
from probate.api.rbac.users import Extra
from probate.core import errors
from probate.server import api_errors, query
from probate.server.codec import negotiation, responses
from probate.server.codec import request_body as bodies
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.request import Request, Target
from probate.server.response import Response

_IGNORED_METADATA = frozenset({"namespace", "managedFields"})


async def read_review(context: ServerContext, request: Request, at: Target) -> Object:
    """Returns the review in the body, decoded and with defaults."""
    options = query.write_options(request.query, "CreateOptions")
    media = negotiation.media_type(request.headers.get(b"content-type", b""))
    body, rules = await request.read_body(), context.kinds.rules(at.resource)
    read = await context.offloader.offload_if_large(
        len(body), lambda: bodies.read_object(body, media, at.resource, rules=rules, field_validation=options.field_validation)
    )
    _check_namespace(read.object, at)
    return {"spec": {}, **read.object}


def _check_namespace(review: Object, at: Target) -> None:
    """Raises `BadRequest` if a review names another namespace than its URL. A cluster-scoped review ignores the name."""
    namespace = (review.get("metadata") or {}).get("namespace")
    if namespace and at.namespace and namespace != at.namespace:
        raise errors.BadRequest(
            f"the namespace of the object ({namespace}) does not match the namespace on the request ({at.namespace})"
        )


def metadata_problems(review: Object) -> Iterator[FieldError]:
    """Checks that an access review has no metadata, since it is not stored."""
    metadata = review.get("metadata") or {}
    if any(value for field, value in metadata.items() if field not in _IGNORED_METADATA):
        yield invalid(FieldPath("metadata"), metadata, "must be empty")


def response(at: Target, review: Object, status: Object, *, form: Form) -> Response:
    """Returns the answer: the review with its status."""
    type_meta = {"kind": at.resource.kind, "apiVersion": str(at.resource.group_version)}
    spec = {"spec": review["spec"]} if review["spec"] else {}
    whole = {**type_meta, "metadata": review.get("metadata") or {}, **spec, "status": status}
    return responses.one_made(whole, form, code=201)


def check_problems(at: Target, problems: Iterable[FieldError]) -> None:
    """Raises `Invalid` if there are any problems."""
    listed = list(problems)
    if listed:
        raise api_errors.invalid(at.resource, "", listed)


def extra_of(extra: Mapping[str, Any] | None) -> Extra:
    """Returns the extra fields of a user, as a review has them."""
    return tuple((key.lower(), tuple(values or ())) for key, values in sorted((extra or {}).items()))

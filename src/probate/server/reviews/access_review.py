"""SelfSubjectAccessReview, SubjectAccessReview and LocalSubjectAccessReview: `kubectl auth can-i` sends them."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import FieldError, FieldPath, invalid
from probate.api.objects import Object
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import NonResourceAttributes, ResourceAttributes
from probate.api.rbac.users import User
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.reviews import review_body, review_selectors

_SPEC = FieldPath("spec")


async def review_self(context: ServerContext, request: Request, at: Target, *, form: Form) -> Response:
    """Answers a SelfSubjectAccessReview."""
    review = await review_body.read_review(context, request, at)
    review_body.check_problems(at, (*_attribute_problems(review["spec"]), *review_body.metadata_problems(review)))
    return review_body.response(at, review, await _status(context, request.user, review["spec"]), form=form)


async def review_subject(context: ServerContext, request: Request, at: Target, *, form: Form) -> Response:
    """Answers a SubjectAccessReview or a LocalSubjectAccessReview."""
    review = await review_body.read_review(context, request, at)
    spec = review["spec"]
    problems = (*_attribute_problems(spec), *_user_problems(spec), *_namespace_problems(spec, at))
    review_body.check_problems(at, (*problems, *review_body.metadata_problems(review)))
    user = User(
        spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", review_body.extra_of(spec.get("extra"))
    )
    return review_body.response(at, review, await _status(context, user, spec), form=form)


def _attribute_problems(spec: Object) -> Iterator[FieldError]:
    attributes, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if attributes is not None and of_path is not None:
        yield invalid(_SPEC / "nonResourceAttributes", of_path, "cannot be specified in combination with resourceAttributes")
    elif attributes is None and of_path is None:
        message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid(_SPEC / "resourceAttributes", None, message)
    yield from review_selectors.problems(attributes)


def _user_problems(spec: Object) -> Iterator[FieldError]:
    if not spec.get("user") and not spec.get("groups"):
        yield invalid(_SPEC / "user", "", "at least one of user or group must be specified")


def _namespace_problems(spec: Object, at: Target) -> Iterator[FieldError]:
    """Checks that a LocalSubjectAccessReview is about its own namespace."""
    if not at.resource.is_namespaced:
        return
    attributes, of_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if of_path is not None:
        yield invalid(_SPEC / "nonResourceAttributes", of_path, "disallowed on this kind of request")
    if attributes is not None and (attributes.get("namespace") or "") != at.namespace:
        yield invalid(_SPEC / "resourceAttributes" / "namespace", attributes.get("namespace") or "", f"must be {at.namespace}")


async def _status(context: ServerContext, user: User, spec: Object) -> Object:
    ask = _ask(spec)
    if user.is_superuser:
        return {"allowed": True, "reason": "members of system:masters may do anything"}
    rights = await context.authorizer.rights(user)
    granting = rights.allowing_binding(ask)
    if granting is not None:
        return {"allowed": True, "reason": forbidden_message.allowed_reason(granting)}
    lost = forbidden_message.missing_roles_message(
        rights.bindings_without_role("" if isinstance(ask, NonResourceAttributes) else ask.namespace)
    ).removeprefix(": ")
    return {"allowed": False, **({"reason": lost} if lost else {})}


def _ask(spec: Object) -> ResourceAttributes | NonResourceAttributes:
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        path = spec["nonResourceAttributes"]
        return NonResourceAttributes(path.get("verb") or "", path.get("path") or "")
    return ResourceAttributes(
        *(attributes.get(name) or "" for name in ("verb", "group", "resource", "subresource", "namespace", "name"))
    )

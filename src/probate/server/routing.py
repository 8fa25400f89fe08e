"""Who answers a request: the verb of a resource, or one of the paths that are no resource."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson

from probate.api.gvk import GroupResource
from probate.api.rbac.policy_rules import Ask
from probate.server import api_errors, health, metrics_endpoint, query, timeouts, version_info
from probate.server.audit import request_trail as trails
from probate.server.authn import issuer_discovery
from probate.server.authz import attributes
from probate.server.codec import negotiation, responses
from probate.server.codec.negotiation import Form
from probate.server.context import PATIENCE, Answer, Api, Stream
from probate.server.discovery import documents as discovery_documents
from probate.server.kind_rules import object_parts
from probate.server.ownership_api import graph_endpoint, owners_and_dependents
from probate.server.request import Asked, Request, Target
from probate.server.reviews import access_review, identity_reviews, rules_review
from probate.server.subresources import binding, eviction, scale, token
from probate.server.verbs import create, delete, deletecollection, get, patch, update, watch
from probate.server.verbs import list as listing

Verb = Callable[[Api, Request, Target, Form], Awaitable[Answer | Stream]]

VERBS: dict[str, Verb] = {
    "get": get.get,
    "list": listing.list_,
    "watch": watch.watch,
    "create": create.create,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": deletecollection.deletecollection,
}

COMMANDS: dict[GroupResource, Callable[[], Verb]] = {
    GroupResource("", "bindings"): lambda: binding.create,
    GroupResource("authentication.k8s.io", "selfsubjectreviews"): lambda: identity_reviews.about_oneself,
    GroupResource("authentication.k8s.io", "tokenreviews"): lambda: identity_reviews.about_token,
    GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"): lambda: access_review.about_oneself,
    GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"): lambda: rules_review.about_oneself,
    GroupResource("authorization.k8s.io", "subjectaccessreviews"): lambda: access_review.about_anybody,
    GroupResource("authorization.k8s.io", "localsubjectaccessreviews"): lambda: access_review.about_anybody,
}
"""Resources of which nothing is stored: what is sent there is done. (Who does it may not be loaded yet, here and below.)"""

PARTS: dict[str, Callable[[], Verb]] = {
    "scale": lambda: scale.answer,
    "binding": lambda: binding.answer,
    "eviction": lambda: eviction.answer,
    "token": lambda: token.answer,
}

READS = {"get", "list", "watch"}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}

QUESTIONS: dict[str, Callable[[], Callable[[Api, Request], Awaitable[Answer]]]] = {
    "/apis/probate.dev/v1alpha1/dependents": lambda: owners_and_dependents.dependents,
    "/apis/probate.dev/v1alpha1/owners": lambda: owners_and_dependents.owners,
    "/debug/ownership": lambda: graph_endpoint.ownership,
}
"""Paths of our own, which are no resources: discovery does not show them."""

ISSUER: dict[str, Callable[[], Callable[[Api], Awaitable[Answer]]]] = {
    ".well-known/openid-configuration": lambda: issuer_discovery.configuration,
    "openid/v1/jwks": lambda: issuer_discovery.keys,
}
"""What others need who verify the tokens of service accounts."""

TEXT = "text/plain; charset=utf-8"


def asked(api: Api, request: Request) -> Asked | None:
    """What is wanted of which resource; None if it is no resource that is asked. `NotFound` and others where nothing is served."""
    return None if request.path in QUESTIONS else api.targets.asked(request, api.kinds.catalog)


async def answer(api: Api, request: Request) -> Answer | Stream:
    """The answer; an `ApiError` if it is no."""
    return await answer_to(api, request, asked(api, request))


async def answer_to(api: Api, request: Request, wanted: Asked | None) -> Answer | Stream:
    """The answer to a request that was understood, if who asks may ask it."""
    if "timeout" in request.query and (wanted is None or wanted.verb != "watch"):
        timeouts.seconds(request.query)
    if api.audit is not None:
        await _check_may(api, request, wanted)
    elif not request.user.is_master and (wanted is None or request.query or not api.access.recalls(request.user, *wanted)):
        await _check_is_allowed(api, request, wanted)
    if wanted is not None:
        answer = await _resource(api, request, *wanted)
        warning = wanted.at.resource.deprecation
        return answer._replace(warnings=(warning, *answer.warnings)) if warning else answer
    if request.path in QUESTIONS:
        return await _question(api, request)
    if request.path.startswith("/openapi"):
        return await api.elsewhere(lambda: discovery_documents.openapi(api, request))
    documents = discovery_documents.document(api, request)
    if documents is not None:
        return documents
    return await _process(api, request)


async def _check_is_allowed(api: Api, request: Request, wanted: Asked | None) -> None:
    """`Forbidden` if who asks may not. If they may, that is remembered for as long as rights are what they are."""
    user = request.user
    ask = attributes.about_path(request) if wanted is None else attributes.about_resource(request, wanted)
    if not isinstance(ask, Ask) or wanted is None or not api.access.is_known_to_allow(user, ask):
        await api.access.check_other(user, ask)
    elif not request.query:
        api.access.note_allowed(user, *wanted)


async def _check_may(api: Api, request: Request, wanted: Asked | None) -> None:
    """`Forbidden` if who asks may not."""
    user, ask = request.user, attributes.about_path(request) if wanted is None else attributes.about_resource(request, wanted)
    if not user.is_master:
        await api.access.check_other(user, ask)
    trail = None if api.audit is None else trails.TRAIL.get()
    if trail is not None:
        trail.note_decision(is_allowed=True, reason=await api.access.why(user, ask))


async def _question(api: Api, request: Request) -> Answer:
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    async with asyncio.timeout(timeouts.seconds(request.query) or PATIENCE):
        return await QUESTIONS[request.path]()(api, request)


async def _resource(api: Api, request: Request, verb: str, at: Target) -> Answer | Stream:
    form = negotiation.accepted(request.headers.get(b"accept", b""), has_protobuf=not at.resource.is_custom)
    if form.shape:
        form = _shaped(form, request, verb, at)
    if request.query:
        if query.truth(request.query, "pretty"):
            form = form._replace(is_pretty=True)
        if form.shape == "Table":
            form = form._replace(included=query.included(request.query))
    if verb in READS and not at.subresource:
        answer = await VERBS[verb](api, request, at, form)
        return await _written(api, answer, form) if form.is_yaml or form.is_protobuf else answer
    if "timeout" not in request.query:
        answer = await _writer(verb, at)(api, request, at, form)
    else:
        async with asyncio.timeout(timeouts.seconds(request.query)):
            answer = await _writer(verb, at)(api, request, at, form)
    if verb in WRITES:
        if api.kinds.is_definition(at.resource):
            await asyncio.shield(api.kinds.refresh(now=api.now()))  # it is written, so it is served, whether or not in time
        elif api.configured.is_of(at.resource):
            await asyncio.shield(api.configured.refresh(at.resource.group_resource))
    return await _written(api, answer, form) if form.is_yaml or form.is_protobuf else answer


def _shaped(form: Form, request: Request, verb: str, at: Target) -> Form:
    """The first of the client's wishes that there is of this; `NotAcceptable` if there is none."""
    if form.shape == "Table" and not _has_tables(request, verb, at):
        form = negotiation.accepted(request.headers[b"accept"], has_tables=False, has_protobuf=not at.resource.is_custom)
    negotiation.check_suits(form, verb)
    return form


def _has_tables(request: Request, verb: str, at: Target) -> bool:
    """Whether there is a table of what is asked. Not of what is only done, and not of a watch that begins with a list."""
    if at.resource.group_resource in COMMANDS or at.subresource in {"binding", "eviction", "token"}:
        return False
    return verb != "watch" or not query.truth(request.query, "sendInitialEvents")


async def _written(api: Api, answer: Answer | Stream, form: Form) -> Answer | Stream:
    """The answer in YAML or protobuf."""
    if isinstance(answer, Stream):
        return answer
    whole = answer
    return await api.apart(len(whole.body), lambda: (responses.as_yaml if form.is_yaml else responses.as_protobuf)(whole))


def _writer(verb: str, at: Target) -> Verb:
    if (at.resource.group, at.resource.plural) in COMMANDS:
        return COMMANDS[at.resource.group_resource]()
    if at.subresource in PARTS:
        return PARTS[at.subresource]()
    if at.subresource and at.subresource != "status" and at.subresource not in object_parts.PARTS:
        raise api_errors.no_such_resource()
    return VERBS[verb]


async def _process(api: Api, request: Request) -> Answer:
    """What says how the process is."""
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    path = request.path.strip("/")
    if path == "version":
        return Answer(200, orjson.dumps(version_info.info(), option=orjson.OPT_INDENT_2))
    if path == "metrics":
        return await _metrics(api, request)
    if path in ISSUER:
        return await ISSUER[path]()(api)
    check, _, only = path.partition("/")
    excluded = request.query.get("exclude", ())
    found = await health.examine(api, check, only, excluded) if check in health.CHECKS else None
    if found is None:
        raise api_errors.no_such_path(request.path)
    code, text = health.render(check, found, is_verbose="verbose" in request.query)
    return Answer(code, text, TEXT, headers=(("x-content-type-options", "nosniff"),))


async def _metrics(api: Api, request: Request) -> Answer:
    await api.figures.look(api.store, api.kinds, api.clock)
    told, accepted = api.figures.registry.gather(), request.header("accept")
    page = await api.elsewhere(lambda: metrics_endpoint.render(told, accepted))
    return Answer(200, page.text, page.content_type)

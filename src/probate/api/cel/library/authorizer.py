"""The authorizer library: `authorizer.group('apps').resource('deployments').check('create').allowed()`.

The variable `authorizer` provides the `CelAuthorizer` that answers the checks. Without an authorizer, everything is allowed.
"""

from __future__ import annotations

from typing import Any

from probate.api.rbac.cel_authorizer import Attributes, AuthorizationDecision, CelAuthorizer
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.evaluation import Run
from probate.lib.cel.field_access import ABSENT, Lazy
from probate.lib.cel.functions import Library

LIBRARY = Library()
function = LIBRARY.function

CHECK_COST = 350_000
"""Cost of one check, as in Kubernetes: limits an expression to about two checks."""


class Authorizer(Lazy):
    """The variable `authorizer`: checks permissions of the requesting user or of a service account.

    `own` holds the attributes of the request itself.
    """

    __slots__ = ("account", "decider", "own")
    cel_type = "kubernetes.authorization.Authorizer"

    def __init__(self, decider: CelAuthorizer, account: tuple[str, str] | None = None, own: Attributes | None = None) -> None:
        self.decider = decider
        self.account = account
        self.own = own

    def find(self, name: str, _: Run) -> Any:
        """Returns `authorizer.requestResource`, the resource of the request itself."""
        if name != "requestResource" or self.own is None:
            return ABSENT
        return ResourceCheck(self.decider, self.own)


class Check:
    """A permission check with the attributes specified so far."""

    __slots__ = ("attributes", "decider")

    def __init__(self, decider: CelAuthorizer, attributes: Attributes) -> None:
        self.decider = decider
        self.attributes = attributes

    def with_(self, **changes: Any) -> Any:
        """Returns a copy with more attributes."""
        return type(self)(self.decider, self.attributes._replace(**changes))


class PathCheck(Check):
    """A check of a non-resource path."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.PathCheck"


class GroupCheck(Check):
    """A check of an API group whose resource is not yet specified."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.GroupCheck"


class ResourceCheck(Check):
    """A check of a resource."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.ResourceCheck"


class Decision:
    """The result of a check."""

    __slots__ = ("verdict",)
    cel_type = "kubernetes.authorization.Decision"

    def __init__(self, verdict: AuthorizationDecision) -> None:
        self.verdict = verdict


@function("Authorizer::path(string) -> PathCheck")
def _path(_: Meter, one: Authorizer, path: str) -> PathCheck:
    return PathCheck(one.decider, Attributes("", path=path, service_account=one.account))


@function("Authorizer::group(string) -> GroupCheck")
def _group(_: Meter, one: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(one.decider, Attributes("", group=group, service_account=one.account))


@function("Authorizer::serviceAccount(string, string) -> Authorizer")
def _service_account(_: Meter, one: Authorizer, namespace: str, name: str) -> Authorizer:
    return Authorizer(one.decider, (namespace, name))


@function("GroupCheck::resource(string) -> ResourceCheck")
def _resource(_: Meter, one: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(one.decider, one.attributes._replace(resource=resource))


@function("ResourceCheck::subresource(string) -> ResourceCheck")
def _subresource(_: Meter, one: ResourceCheck, subresource: str) -> Any:
    return one.with_(subresource=subresource)


@function("ResourceCheck::namespace(string) -> ResourceCheck")
def _namespace(_: Meter, one: ResourceCheck, namespace: str) -> Any:
    return one.with_(namespace=namespace)


@function("ResourceCheck::name(string) -> ResourceCheck")
def _name(_: Meter, one: ResourceCheck, name: str) -> Any:
    return one.with_(name=name)


@function("ResourceCheck::fieldSelector(string) -> ResourceCheck")
def _field_selector(_: Meter, one: ResourceCheck, selector: str) -> Any:
    return one.with_(field_selector=selector)


@function("ResourceCheck::labelSelector(string) -> ResourceCheck")
def _label_selector(_: Meter, one: ResourceCheck, selector: str) -> Any:
    return one.with_(label_selector=selector)


@function("ResourceCheck::check(string) -> Decision", "PathCheck::check(string) -> Decision", cost=lambda *_: CHECK_COST)
def _check(_: Meter, one: Check, verb: str) -> Decision:
    return Decision(one.decider.decide(one.attributes._replace(verb=verb)))


@function("Decision::allowed() -> bool")
def _allowed(_: Meter, one: Decision) -> bool:
    return one.verdict.is_allowed


@function("Decision::reason() -> string", grows=lambda _: 1000)
def _reason(_: Meter, one: Decision) -> str:
    return one.verdict.reason


@function("Decision::errored() -> bool")
def _errored(_: Meter, one: Decision) -> bool:
    return bool(one.verdict.error)


@function("Decision::error() -> string", grows=lambda _: 1000)
def _error(_: Meter, one: Decision) -> str:
    return one.verdict.error

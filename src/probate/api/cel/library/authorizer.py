"""`authorizer.group('apps').resource('deployments').check('create').allowed()`: asking who may do what.

Who answers is given with the variable `authorizer`: something that has `decide`. Where nobody is configured, everything is allowed.
"""

from __future__ import annotations

from typing import Any

from probate.api.rbac.cel_authorizer import Attributes, Decider, Verdict
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.evaluation import Run
from probate.lib.cel.field_access import ABSENT, Lazy
from probate.lib.cel.functions import Library

LIBRARY = Library()
function = LIBRARY.function

CHECK_COST = 350_000
"""As in Kubernetes: so that one expression asks twice or so."""


class Authorizer(Lazy):
    """The variable: asks about the one who makes the request, or about a service account. `own` is what the request is about."""

    __slots__ = ("account", "decider", "own")
    cel_type = "kubernetes.authorization.Authorizer"

    def __init__(self, decider: Decider, account: tuple[str, str] | None = None, own: Attributes | None = None) -> None:
        self.decider = decider
        self.account = account
        self.own = own

    def find(self, name: str, _: Run) -> Any:
        """`authorizer.requestResource`: what the request is about."""
        if name != "requestResource" or self.own is None:
            return ABSENT
        return ResourceCheck(self.decider, self.own)


class Check:
    """What would be done, as far as it has been said."""

    __slots__ = ("attributes", "decider")

    def __init__(self, decider: Decider, attributes: Attributes) -> None:
        self.decider = decider
        self.attributes = attributes

    def with_(self, **changes: Any) -> Any:
        """The same, with more said."""
        return type(self)(self.decider, self.attributes._replace(**changes))


class PathCheck(Check):
    """Of a path that is no resource."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.PathCheck"


class GroupCheck(Check):
    """Of a group, whose resource is still to be said."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.GroupCheck"


class ResourceCheck(Check):
    """Of a resource."""

    __slots__ = ()
    cel_type = "kubernetes.authorization.ResourceCheck"


class Decision:
    """What was decided."""

    __slots__ = ("verdict",)
    cel_type = "kubernetes.authorization.Decision"

    def __init__(self, verdict: Verdict) -> None:
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

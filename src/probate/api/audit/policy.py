"""Audit policy: the level at which a request is logged, and the stages that are omitted.

Rules are evaluated in order, and the first match decides. A request that matches no rule is not logged. A rule matches any value of
an attribute that it does not mention.

    level: Metadata, resources: [{group: "", resources: ["secrets", "pods/log"]}]     these two resources, for all users
    level: None, users: ["ann"], nonResourceURLs: ["/healthz*"]                       the user ann, at paths with this prefix
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from probate.api.audit.request_info import RequestInfo
from probate.api.rbac.users import User

RECEIVED, STARTED, COMPLETE, PANIC = "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)
CACHE_SIZE = 4_000


class Level(IntEnum):
    """The audit level. Each level logs what the ones before it log, and more."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {"None": Level.NONE, "Metadata": Level.METADATA, "Request": Level.REQUEST, "RequestResponse": Level.REQUEST_RESPONSE}
LEVEL_NAMES = {level: name for name, level in LEVELS.items()}


class AuditConfig(NamedTuple):
    """How a request is logged."""

    level: Level
    omitted_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


NOT_LOGGED = AuditConfig(Level.NONE)


class GroupResources(NamedTuple):
    """Resources of one group, optionally only objects with these names."""

    group: str
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Rule(NamedTuple):
    """The requests that a rule matches, and how they are logged."""

    config: AuditConfig
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    paths: tuple[str, ...] = ()


class Policy:
    """An audit policy with a cache of its decisions."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.uses_resource_names = any(resources.names for rule in rules for resources in rule.resources)
        self._uses_users = any(rule.users or rule.groups for rule in rules)
        self._cache: dict[tuple[object, ...], AuditConfig] = {}

    def evaluate(self, user: User | None, info: RequestInfo) -> AuditConfig:
        """Returns the decision of the first rule that matches."""
        key = self._key(user, info)
        config = self._cache.get(key)
        if config is None:
            if len(self._cache) >= CACHE_SIZE:
                self._cache.clear()
            config = self._cache[key] = self._decide(user, info)
        return config

    def _key(self, user: User | None, info: RequestInfo) -> tuple[object, ...]:
        """Returns the cache key: all that the decision can depend on."""
        user_key = None if user is None else (user.name, user.groups) if self._uses_users else True
        if not info.resource:
            return user_key, info.verb, info.path
        name = info.name if self.uses_resource_names else ""
        return user_key, info.verb, info.group, info.resource, info.subresource, info.namespace, name

    def _decide(self, user: User | None, info: RequestInfo) -> AuditConfig:
        return next((rule.config for rule in self.rules if matches(rule, user, info)), NOT_LOGGED)


def matches(rule: Rule, user: User | None, info: RequestInfo) -> bool:
    """Returns whether the rule matches the request."""
    if rule.users and (user is None or user.name not in rule.users):
        return False
    if rule.groups and (user is None or not set(rule.groups) & set(user.groups)):
        return False
    if rule.verbs and info.verb not in rule.verbs:
        return False
    if rule.namespaces or rule.resources:
        return bool(info.resource) and _matches_resource(rule, info)
    return not rule.paths or (not info.resource and any(_path_matches(path, info.path) for path in rule.paths))


def _path_matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _matches_resource(rule: Rule, info: RequestInfo) -> bool:
    if rule.namespaces and info.namespace not in rule.namespaces:
        return False
    return not rule.resources or any(_matches_group_resources(resources, info) for resources in rule.resources)


def _matches_group_resources(resources: GroupResources, info: RequestInfo) -> bool:
    if resources.group != info.group:
        return False
    if not resources.resources:
        return True
    if resources.names and info.name not in resources.names:
        return False
    return any(_resource_matches(pattern, info) for pattern in resources.resources)


def _resource_matches(pattern: str, info: RequestInfo) -> bool:
    """Matches a resource pattern: `pods` excludes subresources, `pods/*` includes them.

    `*/scale` matches that subresource of any resource, and `*` matches all resources and subresources.
    """
    resource, slash, subresource = pattern.partition("/")
    if not slash:
        return pattern == "*" or (pattern == info.resource and not info.subresource)
    if subresource == "*":
        return resource in {info.resource, "*"}
    return resource in {info.resource, "*"} and subresource == info.subresource

"""What an audit policy says about a request: how much of it is written down, and at which stages.

The rules are asked in their order, and the first that matches decides. What no rule matches is not written down at all. A rule that
says nothing about something matches whatever that is.

    level: Metadata, resources: [{group: "", resources: ["secrets", "pods/log"]}]     these two, whoever asks
    level: None, users: ["ann"], nonResourceURLs: ["/healthz*"]                       ann, at paths that begin like this
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from probate.api.audit.request_info import Asked
from probate.api.rbac.users import User

RECEIVED, STARTED, COMPLETE, PANIC = "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)
MAX_KNOWN = 4_000


class Level(IntEnum):
    """How much is written down; each holds what those before it do."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {"None": Level.NONE, "Metadata": Level.METADATA, "Request": Level.REQUEST, "RequestResponse": Level.REQUEST_RESPONSE}
NAMES = {level: name for name, level in LEVELS.items()}


class Verdict(NamedTuple):
    """What is to be written down of a request."""

    level: Level
    omitted: frozenset[str] = frozenset()  # stages
    omits_managed_fields: bool = False


NOTHING = Verdict(Level.NONE)


class Resources(NamedTuple):
    """Resources of one group, and perhaps only objects of these names."""

    group: str
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Rule(NamedTuple):
    """Which requests it is about, and what it says of them."""

    verdict: Verdict
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    resources: tuple[Resources, ...] = ()
    paths: tuple[str, ...] = ()


class Policy:
    """Rules, with what they have said lately."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.asks_names = any(one.names for rule in rules for one in rule.resources)
        self._asks_users = any(rule.users or rule.groups for rule in rules)
        self._known: dict[tuple[object, ...], Verdict] = {}

    def verdict(self, user: User | None, asked: Asked) -> Verdict:
        """What the first rule says that matches."""
        key = self._key(user, asked)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = self._decide(user, asked)
        return found

    def _key(self, user: User | None, asked: Asked) -> tuple[object, ...]:
        """What the answer can depend on."""
        who = None if user is None else (user.name, user.groups) if self._asks_users else True
        if not asked.resource:
            return who, asked.verb, asked.path
        name = asked.name if self.asks_names else ""
        return who, asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace, name

    def _decide(self, user: User | None, asked: Asked) -> Verdict:
        return next((rule.verdict for rule in self.rules if matches(rule, user, asked)), NOTHING)


def matches(rule: Rule, user: User | None, asked: Asked) -> bool:
    """Whether the rule is about such a request."""
    if rule.users and (user is None or user.name not in rule.users):
        return False
    if rule.groups and (user is None or not set(rule.groups) & set(user.groups)):
        return False
    if rule.verbs and asked.verb not in rule.verbs:
        return False
    if rule.namespaces or rule.resources:
        return bool(asked.resource) and _matches_resource(rule, asked)
    return not rule.paths or (not asked.resource and any(_is_path(path, asked.path) for path in rule.paths))


def _is_path(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _matches_resource(rule: Rule, asked: Asked) -> bool:
    if rule.namespaces and asked.namespace not in rule.namespaces:
        return False
    return not rule.resources or any(_is_among(one, asked) for one in rule.resources)


def _is_among(resources: Resources, asked: Asked) -> bool:
    if resources.group != asked.group:
        return False
    if not resources.resources:
        return True
    if resources.names and asked.name not in resources.names:
        return False
    return any(_is_resource(one, asked) for one in resources.resources)


def _is_resource(pattern: str, asked: Asked) -> bool:
    """`pods` is without its parts, `pods/*` is with them, `*/scale` is that part of any, and `*` is everything."""
    resource, slash, part = pattern.partition("/")
    if not slash:
        return pattern == "*" or (pattern == asked.resource and not asked.subresource)
    if part == "*":
        return resource in {asked.resource, "*"}
    return resource in {asked.resource, "*"} and part == asked.subresource

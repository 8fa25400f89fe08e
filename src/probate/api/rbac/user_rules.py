"""What one user may do, worked out from the grants once for each kind of question and then remembered."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.rbac import forbidden_message, policy_rules
from probate.api.rbac.grants import Granted, Grants
from probate.api.rbac.policy_rules import Ask, AskPath, Rule
from probate.api.rbac.users import User

MAX_KNOWN = 4_000
"""Questions whose answers are remembered, for each user."""

Names = frozenset[str] | None
"""The names of the objects that something is allowed to; None: whatever their names."""
NOBODY: Names = frozenset()

_Question = tuple[str, str, str, str, str]


class Rights:
    """Of one user, for as long as the grants are what they were."""

    def __init__(self, grants: Grants, user: User) -> None:
        self.generation = grants.generation
        self.user = user
        self._grants = grants
        self._everywhere = tuple(self._rules(""))
        self._known: dict[_Question, Names] = {}
        self._known_paths: dict[AskPath, bool] = {}
        self._reasons: dict[Ask | AskPath, str] = {}

    def allow(self, ask: Ask) -> bool:
        """Whether the user may do this."""
        names = self.names(ask)
        return names is None or (bool(names) and ask.name in names)

    def names(self, ask: Ask) -> Names:
        """To which objects the user may do this, whichever the question names."""
        return self._names((ask.verb, ask.group, ask.resource, ask.subresource, ask.namespace))

    def allow_path(self, ask: AskPath) -> bool:
        """Whether the user may do this at a path that is no resource. Only what is granted in all of the cluster counts."""
        known = self._known_paths.get(ask)
        if known is None:
            if len(self._known_paths) >= MAX_KNOWN:
                self._known_paths.clear()
            known = self._known_paths[ask] = any(policy_rules.allows_path(rule, ask) for rule in self._everywhere)
        return known

    def granting(self, ask: Ask | AskPath) -> Granted | None:
        """The binding by which the user may do this; None if there is none. (Not remembered: for who wants to know why.)"""
        namespace = "" if isinstance(ask, AskPath) else ask.namespace
        for where in dict.fromkeys(("", namespace)):
            for one in self._grants.granted(self.user, where):
                if any(_allows(rule, ask) for rule in one.rules or ()):
                    return one
        return None

    def reason(self, ask: Ask | AskPath) -> str:
        """The same in words; empty if there is none. Remembered, for who wants to know it of every request."""
        if isinstance(ask, Ask) and ask.name and self.names(ask) is None:
            ask = ask._replace(name="")
        found = self._reasons.get(ask)
        if found is None:
            if len(self._reasons) >= MAX_KNOWN:
                self._reasons.clear()
            granting = self.granting(ask)
            found = self._reasons[ask] = "" if granting is None else forbidden_message.allowed_by(granting)
        return found

    def rules(self, namespace: str) -> list[Rule]:
        """All rules that the user has here: those of the cluster and, if it is not empty, those of the namespace."""
        return [*self._everywhere, *(self._rules(namespace) if namespace else ())]

    def lost(self, namespace: str) -> Iterator[Granted]:
        """What would be granted to the user here if there were such roles."""
        for where in dict.fromkeys(("", namespace)):
            yield from (one for one in self._grants.granted(self.user, where) if one.rules is None)

    def _names(self, question: _Question) -> Names:
        if question in self._known:
            return self._known[question]
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        verb, group, resource, subresource, namespace = question
        found = [rule.names for rule in self.rules(namespace) if policy_rules.concerns(rule, verb, group, resource, subresource)]
        answer = None if not all(found) else frozenset(name for names in found for name in names)
        self._known[question] = answer
        return answer

    def _rules(self, namespace: str) -> Iterator[Rule]:
        for one in self._grants.granted(self.user, namespace):
            yield from one.rules or ()


def _allows(rule: Rule, ask: Ask | AskPath) -> bool:
    return policy_rules.allows_path(rule, ask) if isinstance(ask, AskPath) else policy_rules.allows(rule, ask)

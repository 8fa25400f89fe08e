"""What pods say about their neighbours: near those, not near these, and spread evenly. Near means: the same value of a node label.

Everything that depends on the pod alone is worked out once, before the nodes are looked at one by one. Most pods say nothing, and
then there is nothing to work out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.client.objects import Object
from probate.controllers.scheduler.node_ledger import Host, Ledger
from probate.kinds.core import node_selection

Domain = tuple[str, str]
"""A node label and its value: a zone, a rack, a node."""
NamespaceLabels = Callable[[str], Mapping[str, str]]

NOT_NEAR = "node(s) didn't match pod affinity rules"
TOO_NEAR = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
UNEVEN = "node(s) didn't match pod topology spread constraints"


class Term(NamedTuple):
    """Whom a pod means, and what it calls near."""

    key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    def means(self, pod: Object, labels_of: NamespaceLabels) -> bool:
        namespace = pod["metadata"]["namespace"]
        if namespace not in self.namespaces and not self.namespace_selector.matches(labels_of(namespace)):
            return False
        return self.selector.matches(pod["metadata"].get("labels") or {})


class Spread(NamedTuple):
    """How many pods like this one are in each domain, and how uneven that may be."""

    key: str
    most: int
    counts: dict[str, int]
    is_one: bool
    """Whether the pod counts itself."""

    def is_even_with(self, value: str) -> bool:
        return self.counts.get(value, 0) + self.is_one - min(self.counts.values(), default=0) <= self.most


class Neighbours:
    """What one pod needs to know about all others."""

    def __init__(self, pod: Object, ledger: Ledger, labels_of: NamespaceLabels) -> None:
        near, far = terms_of(pod, "podAffinity"), terms_of(pod, "podAntiAffinity")
        self._near = [(term.key, _domains(term, ledger, labels_of)) for term in near]
        is_first = not any(found for _, found in self._near) and all(term.means(pod, labels_of) for term in near)
        self._is_first = bool(near) and is_first  # of those that want to be near each other
        self._far = {domain for term in far for domain in _domains(term, ledger, labels_of)}
        self._unwelcome = _unwelcome(pod, ledger, labels_of)
        self._spreads = [_spread(one, pod, ledger) for one in _constraints(pod)]

    def objection(self, host: Host) -> str | None:
        """Why the pod cannot go there, as far as neighbours are concerned."""
        labels = _labels(host)
        for key, found in self._near:
            if key not in labels or not (self._is_first or (key, labels[key]) in found):
                return NOT_NEAR
        if self._far and not self._far.isdisjoint(labels.items()):
            return TOO_NEAR
        if self._unwelcome and not self._unwelcome.isdisjoint(labels.items()):
            return UNWELCOME
        for spread in self._spreads:
            if spread.key not in labels or not spread.is_even_with(labels[spread.key]):
                return UNEVEN
        return None


def terms_of(pod: Object, side: str) -> list[Term]:
    """What the pod requires of its neighbours, on one side."""
    stated = ((pod["spec"].get("affinity") or {}).get(side) or {}).get(node_selection.REQUIRED) or ()
    return [_term(one, pod["metadata"]["namespace"]) for one in stated]


def says_something(pod: Object) -> bool:
    """Whether what happens to others can change what the pod is allowed."""
    affinity = pod["spec"].get("affinity") or {}
    return bool(affinity.get("podAffinity") or affinity.get("podAntiAffinity") or pod["spec"].get("topologySpreadConstraints"))


def _term(stated: Object, namespace: str) -> Term:
    named = frozenset(stated.get("namespaces") or ())
    among = stated.get("namespaceSelector")
    if not named and among is None:
        named = frozenset({namespace})
    return Term(stated["topologyKey"], _compiled(stated.get("labelSelector")), named, _compiled(among))


def _compiled(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector, Path("labelSelector"))[0]


def _domains(term: Term, ledger: Ledger, labels_of: NamespaceLabels) -> set[Domain]:
    """Where those are whom the term means."""
    found = set()
    for host, guest in ledger.guests():
        value = _labels(host).get(term.key)
        if value is not None and term.means(guest.pod, labels_of):
            found.add((term.key, value))
    return found


def _unwelcome(pod: Object, ledger: Ledger, labels_of: NamespaceLabels) -> set[Domain]:
    """Where those are who do not want the pod near them."""
    found = set()
    for host in ledger.hosts():
        labels = _labels(host)
        for guest in host.choosy.values():
            terms = [term for term in terms_of(guest.pod, "podAntiAffinity") if term.key in labels]
            found |= {(term.key, labels[term.key]) for term in terms if term.means(pod, labels_of)}
    return found


def _constraints(pod: Object) -> list[Object]:
    stated = pod["spec"].get("topologySpreadConstraints") or ()
    return [one for one in stated if one.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]


def _spread(constraint: Object, pod: Object, ledger: Ledger) -> Spread:
    key, selector = constraint["topologyKey"], _compiled(constraint.get("labelSelector"))
    counts: Counter[str] = Counter()
    for host in ledger.hosts():
        value = _labels(host).get(key)
        if value is not None and host.node is not None and node_selection.is_wanted(pod["spec"], host.node):
            peers = (one.pod["metadata"] for one in host.guests.values())
            here = (meta for meta in peers if meta["namespace"] == pod["metadata"]["namespace"])
            counts[value] += sum(selector.matches(meta.get("labels") or {}) for meta in here if "deletionTimestamp" not in meta)
    return Spread(key, constraint["maxSkew"], dict(counts), selector.matches(pod["metadata"].get("labels") or {}))


def _labels(host: Host) -> dict[str, str]:
    labels: dict[str, str] = (host.node or {"metadata": {}})["metadata"].get("labels") or {}
    return labels

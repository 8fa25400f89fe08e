"""Constraints between pods: affinity, anti-affinity and topology spread. Two nodes are in the same topology domain if they have the
same value of a label.

Everything that depends on the pod alone is computed once, before the nodes are filtered one by one. Most pods have no constraints,
and then there is nothing to compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.controllers.scheduler.node_cache import NodeCache, NodeInfo
from probate.kinds.core import node_selection

Domain = tuple[str, str]
"""A node label and its value: a zone, a rack, a node."""
NamespaceLabels = Callable[[str], Mapping[str, str]]

AFFINITY_NOT_MATCHED = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_NOT_MATCHED = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_NOT_MATCHED = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD_CONSTRAINTS_NOT_MATCHED = "node(s) didn't match pod topology spread constraints"


class AffinityTerm(NamedTuple):
    """Which pods a term selects, and the label that defines its topology domains."""

    key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    def selects(self, pod: Object, namespace_labels: NamespaceLabels) -> bool:
        """Returns whether the term selects the pod."""
        namespace = pod["metadata"]["namespace"]
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels(namespace)):
            return False
        return self.selector.matches(pod["metadata"].get("labels") or {})


class TopologySpread(NamedTuple):
    """How many matching pods each topology domain has, and the maximum skew."""

    key: str
    max_skew: int
    counts: dict[str, int]
    counts_itself: bool
    """Whether the pod matches its own constraint."""

    def allows(self, value: str) -> bool:
        """Returns whether the skew stays within its limit if the pod runs in this domain."""
        return self.counts.get(value, 0) + self.counts_itself - min(self.counts.values(), default=0) <= self.max_skew


class PodConstraints:
    """The constraints of one pod, evaluated against all other pods."""

    def __init__(self, pod: Object, cache: NodeCache, namespace_labels: NamespaceLabels) -> None:
        affinity_terms, anti_affinity_terms = required_terms(pod, "podAffinity"), required_terms(pod, "podAntiAffinity")
        self._affinity = [(term.key, _domains(term, cache, namespace_labels)) for term in affinity_terms]
        is_first_of_group = not any(domains for _, domains in self._affinity) and all(
            term.selects(pod, namespace_labels) for term in affinity_terms
        )
        self._is_first_of_group = bool(affinity_terms) and is_first_of_group  # of a group with mutual affinity
        self._anti_affinity = {domain for term in anti_affinity_terms for domain in _domains(term, cache, namespace_labels)}
        self._excluded_domains = _excluded_domains(pod, cache, namespace_labels)
        self._spreads = [_spread(constraint, pod, cache) for constraint in _constraints(pod)]

    def rejection(self, node: NodeInfo) -> str | None:
        """Returns why the pod cannot run on the node because of other pods, or None."""
        labels = _labels(node)
        for key, domains in self._affinity:
            if key not in labels or not (self._is_first_of_group or (key, labels[key]) in domains):
                return AFFINITY_NOT_MATCHED
        if self._anti_affinity and not self._anti_affinity.isdisjoint(labels.items()):
            return ANTI_AFFINITY_NOT_MATCHED
        if self._excluded_domains and not self._excluded_domains.isdisjoint(labels.items()):
            return EXISTING_ANTI_AFFINITY_NOT_MATCHED
        for spread in self._spreads:
            if spread.key not in labels or not spread.allows(labels[spread.key]):
                return SPREAD_CONSTRAINTS_NOT_MATCHED
        return None


def required_terms(pod: Object, field: str) -> list[AffinityTerm]:
    """Returns the pod's required terms of podAffinity or podAntiAffinity."""
    terms = ((pod["spec"].get("affinity") or {}).get(field) or {}).get(node_selection.REQUIRED) or ()
    return [_term(term, pod["metadata"]["namespace"]) for term in terms]


def has_pod_constraints(pod: Object) -> bool:
    """Returns whether changes of other pods can change which nodes the pod may run on."""
    affinity = pod["spec"].get("affinity") or {}
    return bool(affinity.get("podAffinity") or affinity.get("podAntiAffinity") or pod["spec"].get("topologySpreadConstraints"))


def _term(term: Object, namespace: str) -> AffinityTerm:
    namespaces = frozenset(term.get("namespaces") or ())
    namespace_selector = term.get("namespaceSelector")
    if not namespaces and namespace_selector is None:
        namespaces = frozenset({namespace})
    return AffinityTerm(term["topologyKey"], _compile(term.get("labelSelector")), namespaces, _compile(namespace_selector))


def _compile(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector, FieldPath("labelSelector"))[0]


def _domains(term: AffinityTerm, cache: NodeCache, namespace_labels: NamespaceLabels) -> set[Domain]:
    """Returns the topology domains of the pods that the term selects."""
    domains = set()
    for node, info in cache.pods():
        value = _labels(node).get(term.key)
        if value is not None and term.selects(info.pod, namespace_labels):
            domains.add((term.key, value))
    return domains


def _excluded_domains(pod: Object, cache: NodeCache, namespace_labels: NamespaceLabels) -> set[Domain]:
    """Returns the topology domains from which the anti-affinity of existing pods excludes the pod."""
    domains = set()
    for node in cache.nodes():
        labels = _labels(node)
        for info in node.pods_with_anti_affinity.values():
            terms = [term for term in required_terms(info.pod, "podAntiAffinity") if term.key in labels]
            domains |= {(term.key, labels[term.key]) for term in terms if term.selects(pod, namespace_labels)}
    return domains


def _constraints(pod: Object) -> list[Object]:
    constraints = pod["spec"].get("topologySpreadConstraints") or ()
    return [constraint for constraint in constraints if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]


def _spread(constraint: Object, pod: Object, cache: NodeCache) -> TopologySpread:
    key, selector = constraint["topologyKey"], _compile(constraint.get("labelSelector"))
    counts: Counter[str] = Counter()
    for node in cache.nodes():
        value = _labels(node).get(key)
        if value is not None and node.node is not None and node_selection.is_selected(pod["spec"], node.node):
            peers = (info.pod["metadata"] for info in node.pods.values())
            same_namespace = (meta for meta in peers if meta["namespace"] == pod["metadata"]["namespace"])
            counts[value] += sum(
                selector.matches(meta.get("labels") or {}) for meta in same_namespace if "deletionTimestamp" not in meta
            )
    return TopologySpread(key, constraint["maxSkew"], dict(counts), selector.matches(pod["metadata"].get("labels") or {}))


def _labels(node: NodeInfo) -> dict[str, str]:
    labels: dict[str, str] = (node.node or {"metadata": {}})["metadata"].get("labels") or {}
    return labels

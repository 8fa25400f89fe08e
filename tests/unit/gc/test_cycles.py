"""Circles, against the plainest definition there is: two are on a circle if each can be reached from the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from probate.gc import cycles

Graph = Mapping[str, Sequence[str]]

nodes = st.sampled_from("abcdefgh")
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4), max_size=8)


def reachable(graph: Graph, start: str) -> set[str]:
    """All that can be reached in one step or more."""
    found: set[str] = set()
    todo = list(graph.get(start, ()))
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += graph.get(node, ())
    return found


def rounds(graph: Graph) -> set[frozenset[str]]:
    on_a_round = {node for node in graph if node in reachable(graph, node)}
    return {
        frozenset(other for other in on_a_round if other in reachable(graph, node) and node in reachable(graph, other))
        for node in on_a_round
    }


@given(graphs)
def test_circles_are_those_who_reach_each_other(graph: Graph) -> None:
    found = cycles.circles(graph)
    assert {frozenset(circle) for circle in found} == rounds(graph)
    assert len(found) == len(rounds(graph))


def test_child_that_waits_below_an_owner_that_waits_is_no_circle() -> None:
    assert cycles.circles({"child": ["owner"], "owner": []}) == []


def test_object_that_waits_for_itself_is_a_circle_and_its_tail_is_not() -> None:
    assert cycles.circles({"self": ["self"], "tail": ["self"]}) == [{"self"}]


def test_long_chain_took_minutes_and_is_no_circle_until_it_closes() -> None:
    number = 100_000
    chain = {str(one): [str(one + 1)] for one in range(number)}
    assert cycles.circles(chain) == []
    (found,) = cycles.circles({**chain, str(number): [str(number // 2)]})
    assert found == {str(one) for one in range(number // 2, number + 1)}

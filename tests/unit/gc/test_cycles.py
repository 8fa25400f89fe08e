"""Cycles, against the plainest definition: two nodes are on a cycle if each can be reached from the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from probate.gc import cycles

Graph = Mapping[str, Sequence[str]]

nodes = st.sampled_from("abcdefgh")
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4), max_size=8)


def reachable(graph: Graph, start: str) -> set[str]:
    """Returns the nodes that can be reached in one or more steps."""
    found: set[str] = set()
    todo = list(graph.get(start, ()))
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += graph.get(node, ())
    return found


def expected_cycles(graph: Graph) -> set[frozenset[str]]:
    on_a_round = {node for node in graph if node in reachable(graph, node)}
    return {
        frozenset(other for other in on_a_round if other in reachable(graph, node) and node in reachable(graph, other))
        for node in on_a_round
    }


@given(graphs)
def test_cycles_are_nodes_that_reach_each_other(graph: Graph) -> None:
    found = cycles.find_cycles(graph)
    assert {frozenset(circle) for circle in found} == expected_cycles(graph)
    assert len(found) == len(expected_cycles(graph))


def test_waiting_child_of_a_waiting_owner_is_not_a_cycle() -> None:
    assert cycles.find_cycles({"child": ["owner"], "owner": []}) == []


def test_object_that_waits_for_itself_is_a_cycle_and_its_tail_is_not() -> None:
    assert cycles.find_cycles({"self": ["self"], "tail": ["self"]}) == [{"self"}]


def test_long_chain_took_minutes_and_is_not_a_cycle_until_it_closes() -> None:
    number = 100_000
    chain = {str(one): [str(one + 1)] for one in range(number)}
    assert cycles.find_cycles(chain) == []
    (found,) = cycles.find_cycles({**chain, str(number): [str(number // 2)]})
    assert found == {str(one) for one in range(number // 2, number + 1)}

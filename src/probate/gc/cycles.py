"""Finds objects that wait for each other in a cycle, and would wait forever.

An object that is deleted in the foreground waits for those of its dependents that block it. So each waiting object points, by its
own blocking references, at the owners that wait for it. A strongly connected component of that graph is a cycle: each object in it
waits for all others, and so does an object that blocks itself. Nothing else is a cycle: a child that was deleted in the foreground
before its owner waits for nothing above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=str)


def find_cycles(points_at: Mapping[Node, Sequence[Node]]) -> list[set[Node]]:
    """Returns the strongly connected components of two or more nodes, and every node that points at itself."""
    return [
        component
        for component in _components(points_at)
        if len(component) > 1 or any(node in points_at.get(node, ()) for node in component)
    ]


def _components(points_at: Mapping[Node, Sequence[Node]]) -> list[set[Node]]:
    """Tarjan's algorithm, without recursion: chains of owners can be long."""
    index: dict[Node, int] = {}
    lowlink: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    components: list[set[Node]] = []
    for root in points_at:
        if root in index:
            continue
        path = [(root, iter(points_at.get(root, ())))]
        index[root] = lowlink[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while path:
            node, successors = path[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = lowlink[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    path.append((successor, iter(points_at.get(successor, ()))))
                    break
                if successor in on_stack:
                    lowlink[node] = min(lowlink[node], index[successor])
            else:
                path.pop()
                if path:
                    lowlink[path[-1][0]] = min(lowlink[path[-1][0]], lowlink[node])
                if lowlink[node] == index[node]:
                    component = {stack.pop()}
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    components.append(component)
    return components

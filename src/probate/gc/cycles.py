"""Objects that wait for each other in a circle, and would wait for ever.

An object that is deleted in the foreground waits for those of its dependents that block it. So each object that waits points, by
its own blocking references, at the owners that wait for it. Where such pointers lead back to where they began, everybody in the
round waits for everybody: a strongly connected component of that graph, or an object that blocks itself. Nothing else is a circle:
a child that was deleted in the foreground before its owner waits for nobody above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def circles(points_at: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """The circles of a graph: its strongly connected components of two or more, and every node that points at itself."""
    return [found for found in _components(points_at) if len(found) > 1 or any(node in points_at.get(node, ()) for node in found)]


def _components(points_at: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """Tarjan's algorithm, without recursion: chains of owners can be long."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    trail: list[str] = []
    on_trail: set[str] = set()
    found: list[set[str]] = []
    for root in points_at:
        if root in order:
            continue
        todo = [(root, iter(points_at.get(root, ())))]
        order[root] = lowest[root] = len(order)
        trail.append(root)
        on_trail.add(root)
        while todo:
            node, rest = todo[-1]
            for next_ in rest:
                if next_ not in order:
                    order[next_] = lowest[next_] = len(order)
                    trail.append(next_)
                    on_trail.add(next_)
                    todo.append((next_, iter(points_at.get(next_, ()))))
                    break
                if next_ in on_trail:
                    lowest[node] = min(lowest[node], order[next_])
            else:
                todo.pop()
                if todo:
                    lowest[todo[-1][0]] = min(lowest[todo[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    component = {trail.pop()}
                    while node not in component:
                        component.add(trail.pop())
                    on_trail -= component
                    found.append(component)
    return found

"""`GET /debug/ownership`: a part of the graph of owners and dependents, as Graphviz DOT or as JSON.

/debug/ownership?uid=…&uid=…                                   around these objects
/debug/ownership?apiVersion=…&kind=…&name=…&namespace=…        around this one
/debug/ownership?namespace=…                                   all of a namespace that has owners, or is on its way out

curl -s '…/debug/ownership?uid=…' | dot -Tsvg > owners.svg
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from probate.api.ownership import Standing
from probate.core import errors
from probate.server import query
from probate.server.codec import negotiation
from probate.server.context import Answer, Api
from probate.server.ownership_api import subjects
from probate.server.ownership_api.graph import MAX_UIDS, Collecting, Edge, Graph, Node
from probate.server.ownership_api.owners_and_dependents import API_VERSION
from probate.server.request import Request

DOT = "text/vnd.graphviz; charset=utf-8"
LIMIT = 500
MAX_LIMIT = 5_000
_STATES = ("deleting", "waiting", "orphaning", "missing")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


async def ownership(api: Api, request: Request) -> Answer:
    """The graph around what was asked for."""
    asked = request.query
    if not (subjects.is_named(asked) or asked.get("uid") or asked.get("namespace")):
        raise errors.BadRequest("say which part to show: give uid (once or more), namespace, or apiVersion, kind and name")
    limit = query.number(asked, "limit") or LIMIT
    if not 0 < limit <= MAX_LIMIT:
        raise errors.BadRequest(f"at most {MAX_LIMIT} objects are shown: give a limit from 1 to {MAX_LIMIT}")
    collecting = Collecting(api, limit)
    begin = await collecting.find(api, asked)
    await collecting.spread(begin, subjects.uids(asked, most=MAX_UIDS))
    found = collecting.graph()
    if _wants_json(request.header("accept")):
        return Answer(200, msgspec.json.encode(_document(found)), headers=(("vary", "Accept"),))
    return Answer(200, dot(found).encode(), DOT, headers=(("vary", "Accept"),))


def dot(graph: Graph) -> str:
    """The graph for Graphviz: arrows point from dependents to their owners."""
    lines = ["digraph ownership {", "  rankdir=BT;", "  node [shape=box];"]
    notes = [*([f"cut: only the first {graph.limit} objects are shown"] if graph.cut else []), *graph.notes]
    if notes:
        lines.append(f"  label={_quoted(*notes)};")
    lines += [_node(node) for node in graph.nodes]
    lines += [_edge(edge) for edge in graph.edges]
    return "\n".join([*lines, "}", ""])


def _wants_json(accepted: str) -> bool:
    wishes = [wish.partition(";")[0].strip() for wish in accepted.split(",")]
    return next((wish == negotiation.JSON for wish in wishes if wish in {negotiation.JSON, "text/vnd.graphviz"}), False)


def _document(graph: Graph) -> dict[str, Any]:
    return {"kind": "OwnershipGraph", "apiVersion": API_VERSION, **msgspec.to_builtins(graph)}


def _node(node: Node) -> str:
    states = [state for state in _STATES if getattr(node, state)]
    name = f"{node.kind} {node.namespace}/{node.name}" if node.namespace else f"{node.kind} {node.name}"
    label = _quoted(name, node.uid, *([", ".join(states)] if states else []))
    style = ", style=dashed" if node.missing else ", style=filled, fillcolor=lightgrey" if node.deleting else ""
    return f"  {_quoted(node.uid)} [label={label}{style}];"


def _edge(edge: Edge) -> str:
    is_sound = edge.standing in {Standing.SOLID.value, Standing.WAITING.value}
    said = [*(["blocks"] if edge.blocking else []), *([] if is_sound else [edge.standing])]
    given = [
        *([f"label={_quoted(', '.join(said))}"] if said else []),
        *(["style=bold"] if edge.blocking else [] if is_sound else ["style=dashed"]),
    ]
    tail = f" [{', '.join(given)}]" if given else ""
    return f"  {_quoted(edge.dependent)} -> {_quoted(edge.owner)}{tail};"


def _quoted(*lines: str) -> str:
    """A DOT string of these lines. References can say anything, so nothing in them may mean anything."""
    plain = (_UNPRINTABLE.sub("?", line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(plain) + '"'

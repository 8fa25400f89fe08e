"""`GET /debug/ownership`: part of the ownership graph, as Graphviz DOT or as JSON.

/debug/ownership?uid=…&uid=…                                   around these objects
/debug/ownership?apiVersion=…&kind=…&name=…&namespace=…        around this object
/debug/ownership?namespace=…                                   objects of a namespace that have owners or are being deleted

curl -s '…/debug/ownership?uid=…' | dot -Tsvg > owners.svg
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from probate.api.ownership import OwnerState
from probate.core import errors
from probate.server import query
from probate.server.codec import negotiation
from probate.server.context import ServerContext
from probate.server.ownership_api import object_query
from probate.server.ownership_api.graph import MAX_UIDS, Edge, Graph, GraphBuilder, Node
from probate.server.ownership_api.owners_and_dependents import API_VERSION
from probate.server.request import Request
from probate.server.response import Response

DOT_MEDIA_TYPE = "text/vnd.graphviz; charset=utf-8"
LIMIT = 500
MAX_LIMIT = 5_000
_STATES = ("deleting", "waiting", "orphaning", "missing")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


async def get_ownership_graph(context: ServerContext, request: Request) -> Response:
    """Handles GET /debug/ownership."""
    parameters = request.query
    if not (object_query.names_object(parameters) or parameters.get("uid") or parameters.get("namespace")):
        raise errors.BadRequest("select a part of the graph: give uid (one or more), namespace, or apiVersion, kind and name")
    limit = query.integer(parameters, "limit") or LIMIT
    if not 0 < limit <= MAX_LIMIT:
        raise errors.BadRequest(f"the graph has at most {MAX_LIMIT} objects: give a limit from 1 to {MAX_LIMIT}")
    builder = GraphBuilder(context, limit)
    roots = await builder.find_roots(context, parameters)
    await builder.expand(roots, object_query.requested_uids(parameters, limit=MAX_UIDS))
    graph = builder.build()
    if _wants_json(request.header("accept")):
        return Response(200, msgspec.json.encode(_document(graph)), headers=(("vary", "Accept"),))
    return Response(200, render_dot(graph).encode(), DOT_MEDIA_TYPE, headers=(("vary", "Accept"),))


def render_dot(graph: Graph) -> str:
    """Renders the graph as DOT. Arrows point from dependents to owners."""
    lines = ["digraph ownership {", "  rankdir=BT;", "  node [shape=box];"]
    notes = [*([f"cut: only the first {graph.limit} objects are shown"] if graph.cut else []), *graph.notes]
    if notes:
        lines.append(f"  label={_quoted(*notes)};")
    lines += [_node(node) for node in graph.nodes]
    lines += [_edge(edge) for edge in graph.edges]
    return "\n".join([*lines, "}", ""])


def _wants_json(accepted: str) -> bool:
    media_types = [media_type.partition(";")[0].strip() for media_type in accepted.split(",")]
    return next(
        (media_type == negotiation.JSON for media_type in media_types if media_type in {negotiation.JSON, "text/vnd.graphviz"}),
        False,
    )


def _document(graph: Graph) -> dict[str, Any]:
    return {"kind": "OwnershipGraph", "apiVersion": API_VERSION, **msgspec.to_builtins(graph)}


def _node(node: Node) -> str:
    states = [state for state in _STATES if getattr(node, state)]
    name = f"{node.kind} {node.namespace}/{node.name}" if node.namespace else f"{node.kind} {node.name}"
    label = _quoted(name, node.uid, *([", ".join(states)] if states else []))
    style = ", style=dashed" if node.missing else ", style=filled, fillcolor=lightgrey" if node.deleting else ""
    return f"  {_quoted(node.uid)} [label={label}{style}];"


def _edge(edge: Edge) -> str:
    is_sound = edge.standing in {OwnerState.SOLID.value, OwnerState.WAITING.value}
    labels = [*(["blocks"] if edge.blocking else []), *([] if is_sound else [edge.standing])]
    attributes = [
        *([f"label={_quoted(', '.join(labels))}"] if labels else []),
        *(["style=bold"] if edge.blocking else [] if is_sound else ["style=dashed"]),
    ]
    tail = f" [{', '.join(attributes)}]" if attributes else ""
    return f"  {_quoted(edge.dependent)} -> {_quoted(edge.owner)}{tail};"


def _quoted(*lines: str) -> str:
    """Returns a DOT string of these lines. References hold arbitrary text, so everything with a meaning in DOT is escaped."""
    plain = (_UNPRINTABLE.sub("?", line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(plain) + '"'

"""The path and query parameters of the API, and the parameters of each verb."""

from __future__ import annotations

from typing import NamedTuple


class Parameter(NamedTuple):
    """One parameter. `place` is `query` or `path`."""

    name: str
    type: str
    description: str
    place: str = "query"
    is_required: bool = False


_ALL = (
    Parameter("name", "string", "The name of the object.", "path", is_required=True),
    Parameter("namespace", "string", "The namespace of the object.", "path", is_required=True),
    Parameter("path", "string", "The rest of the path, passed on unchanged.", "path", is_required=True),
    Parameter("pretty", "string", "If `true`, the answer is indented."),
    Parameter("allowWatchBookmarks", "boolean", "Ask for BOOKMARK events, which only tell how far a watch has come."),
    Parameter("continue", "string", "The `metadata.continue` of the previous page: continue the same list where that page ended."),
    Parameter("fieldSelector", "string", "Only objects with these fields, such as `metadata.name=a`."),
    Parameter("labelSelector", "string", "Only objects with these labels, such as `app=a,tier in (b,c)`."),
    Parameter("limit", "integer", "At most this many objects in one answer; `metadata.continue` then leads to the next page."),
    Parameter(
        "resourceVersion", "string", "The version that the answer must have or may not be older than; a watch starts after it."
    ),
    Parameter("resourceVersionMatch", "string", "How `resourceVersion` is meant: `Exact` or `NotOlderThan`."),
    Parameter("sendInitialEvents", "boolean", "Start a watch with an ADDED event for each object there is, then a BOOKMARK."),
    Parameter("timeoutSeconds", "integer", "End the list or watch after this time."),
    Parameter("watch", "boolean", "Stream the changes instead of listing the objects."),
    Parameter("dryRun", "string", "`All` does everything but storing the outcome."),
    Parameter(
        "fieldManager", "string", "Who makes this change, at most 128 printable characters: kept in `metadata.managedFields`."
    ),
    Parameter(
        "fieldValidation",
        "string",
        "What becomes of fields that are unknown or given twice: `Strict` refuses them, `Warn` says so, `Ignore` does not.",
    ),
    Parameter("force", "boolean", "For apply patches: take over fields that another manager owns."),
    Parameter("gracePeriodSeconds", "integer", "How long the object may take to end; 0 deletes at once."),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Delete an object even if what is stored cannot be read."
    ),
    Parameter("orphanDependents", "boolean", "Superseded by `propagationPolicy`: whether dependents stay."),
    Parameter("propagationPolicy", "string", "What becomes of the dependents: `Orphan`, `Background` or `Foreground`."),
    Parameter("container", "string", "Which of the pod's containers; may be left out when there is only one."),
    Parameter("command", "string", "The program to run and its arguments, one parameter each."),
    Parameter("stdin", "boolean", "Connect the standard input."),
    Parameter("stdout", "boolean", "Connect the standard output."),
    Parameter("stderr", "boolean", "Connect the standard error."),
    Parameter("tty", "boolean", "Give the process a terminal."),
    Parameter("ports", "integer", "The ports to forward."),
    Parameter("follow", "boolean", "Keep sending what is logged from now on."),
    Parameter("insecureSkipTLSVerifyBackend", "boolean", "Do not verify the certificate of the node that has the log."),
    Parameter("limitBytes", "integer", "At most this many bytes of the log."),
    Parameter("previous", "boolean", "The log of the container that ran before this one."),
    Parameter("sinceSeconds", "integer", "Only what was logged in the last so many seconds."),
    Parameter("stream", "string", "Which stream of the log: `All`, `Stdout` or `Stderr`."),
    Parameter("tailLines", "integer", "Only the last lines of the log, this many."),
    Parameter("timestamps", "boolean", "Put the time before each line."),
)

BY_NAME = {one.name: one for one in _ALL}

_SELECT = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
)
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)

OF_VERB: dict[str, tuple[str, ...]] = {
    "list": ("allowWatchBookmarks", *_SELECT, "watch"),
    "create": _WRITE,
    "deletecollection": (*_DELETE, *_SELECT),
    "get": (),
    "update": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
}

OF_SUBRESOURCE: dict[str, tuple[str, ...]] = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "log": (
        "container",
        "follow",
        "insecureSkipTLSVerifyBackend",
        "limitBytes",
        "previous",
        "sinceSeconds",
        "stream",
        "tailLines",
        "timestamps",
    ),
    "portforward": ("ports",),
}

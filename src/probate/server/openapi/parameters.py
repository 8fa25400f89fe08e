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
    Parameter("path", "string", "The rest of the path, which is passed on unchanged.", "path", is_required=True),
    Parameter("pretty", "string", "If `true`, the response is indented."),
    Parameter("allowWatchBookmarks", "boolean", "Request BOOKMARK events, which report the current resourceVersion of a watch."),
    Parameter("continue", "string", "The `metadata.continue` of the previous page: returns the next page of the same list."),
    Parameter("fieldSelector", "string", "Only objects with these fields, such as `metadata.name=a`."),
    Parameter("labelSelector", "string", "Only objects with these labels, such as `app=a,tier in (b,c)`."),
    Parameter(
        "limit",
        "integer",
        "The maximum number of objects in a response. If there are more, `metadata.continue` requests the next page.",
    ),
    Parameter("resourceVersion", "string", "The exact or minimum version of the response; a watch starts after this version."),
    Parameter("resourceVersionMatch", "string", "How to apply `resourceVersion`: `Exact` or `NotOlderThan`."),
    Parameter("sendInitialEvents", "boolean", "Start a watch with an ADDED event for each existing object, then a BOOKMARK."),
    Parameter("timeoutSeconds", "integer", "End the list or watch after this many seconds."),
    Parameter("watch", "boolean", "Stream the changes instead of listing the objects."),
    Parameter("dryRun", "string", "`All` runs all stages of the request but stores nothing."),
    Parameter(
        "fieldManager",
        "string",
        "The name that `metadata.managedFields` records for this change: at most 128 printable characters.",
    ),
    Parameter(
        "fieldValidation",
        "string",
        "How to treat unknown or duplicate fields: `Strict` rejects the request, `Warn` returns warnings, `Ignore` does neither.",
    ),
    Parameter("force", "boolean", "For apply patches: take ownership of fields that another manager owns."),
    Parameter("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 deletes it at once."),
    Parameter("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Delete an object whose stored data cannot be read."),
    Parameter("orphanDependents", "boolean", "Deprecated, use `propagationPolicy`: whether to orphan the dependents."),
    Parameter("propagationPolicy", "string", "How to delete the dependents: `Orphan`, `Background` or `Foreground`."),
    Parameter("container", "string", "The container of the pod. Defaults to its only container if it has one."),
    Parameter("command", "string", "The program to run and its arguments, one parameter each."),
    Parameter("stdin", "boolean", "Connect standard input."),
    Parameter("stdout", "boolean", "Connect standard output."),
    Parameter("stderr", "boolean", "Connect standard error."),
    Parameter("tty", "boolean", "Allocate a terminal for the process."),
    Parameter("ports", "integer", "The ports to forward."),
    Parameter("follow", "boolean", "Follow the log."),
    Parameter("insecureSkipTLSVerifyBackend", "boolean", "Do not verify the certificate of the node that serves the log."),
    Parameter("limitBytes", "integer", "The maximum number of bytes to return."),
    Parameter("previous", "boolean", "Return the log of the previous, terminated container."),
    Parameter("sinceSeconds", "integer", "Return only lines logged within this many seconds before now."),
    Parameter("stream", "string", "The stream to return: `All`, `Stdout` or `Stderr`."),
    Parameter("tailLines", "integer", "The number of lines to return from the end of the log."),
    Parameter("timestamps", "boolean", "Prefix each line with its timestamp."),
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

"""The options of a request, read from its query: each verb's in one value, refused where Kubernetes refuses them.

Unknown parameters are ignored, and of a scalar one only the first occurrence counts, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from probate.api import field_errors
from probate.api.field_errors import Path, Problem
from probate.core import errors
from probate.kinds import tables
from probate.server import api_errors

Query: TypeAlias = Mapping[str, Sequence[str]]

_MATCH = Path("resourceVersionMatch")
FIELD_VALIDATIONS = ("Ignore", "Strict", "Warn")


class WriteOptions(NamedTuple):
    """How a create, update or patch is to be done."""

    is_dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    is_forced: bool = False


_PLAIN_WRITE = WriteOptions()


class ListOptions(NamedTuple):
    """What a list or watch is to show, as asked: selectors and tokens are parsed by those who use them."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    is_watch: bool = False
    wants_bookmarks: bool = False
    sends_initial_events: bool | None = None
    timeout_seconds: float | None = None


_PLAIN_LIST = ListOptions()


def first(query: Query, name: str) -> str:
    """The parameter's value; empty if it is not given."""
    return query[name][0] if query.get(name) else ""


def truth(query: Query, name: str) -> bool | None:
    """A truth value as Kubernetes reads it: `0` and `false` are false, all else is true; None if not given."""
    if not query.get(name):
        return None
    return first(query, name).lower() not in {"0", "false"}


def number(query: Query, name: str) -> int | None:
    """A whole number; `BadRequest` if it is none, None if not given."""
    text = first(query, name)
    if not text:
        return None
    try:
        if len(text) > 18:
            raise ValueError(text)  # noqa: TRY301
        return int(text, 10)
    except ValueError:
        raise errors.BadRequest(f"the parameter {name} must be a whole number, not {text!r}") from None


def included(query: Query) -> tables.IncludeObject:
    """What the rows of a table have of their objects: `includeObject`."""
    match first(query, "includeObject"):
        case "" | "Metadata":
            return "Metadata"
        case "Object":
            return "Object"
        case "None":
            return "None"
        case other:
            problem = field_errors.not_supported(Path("includeObject"), other, ("Metadata", "None", "Object"))
            raise errors.BadRequest(f"Unable to convert to Table as requested: {problem.field}: {problem.message}")


def write_options(query: Query, kind: str) -> WriteOptions:
    """The options of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    if not query:
        return _PLAIN_WRITE
    found = [*dry_run_problems(query.get("dryRun", ())), *_manager_problems(first(query, "fieldManager"))]
    field_validation = first(query, "fieldValidation") or "Warn"
    if field_validation not in FIELD_VALIDATIONS:
        found.append(field_errors.not_supported(Path("fieldValidation"), field_validation, FIELD_VALIDATIONS))
    if found:
        raise api_errors.invalid_options(kind, found)
    return WriteOptions(
        is_dry_run=bool(query.get("dryRun")),
        field_manager=first(query, "fieldManager"),
        field_validation=field_validation,
        is_forced=bool(truth(query, "force")),
    )


def dry_run_problems(values: Sequence[str]) -> list[Problem]:
    """Every `dryRun` must be All."""
    return [field_errors.not_supported(Path("dryRun"), list(values), ["All"])] if any(value != "All" for value in values) else []


def _manager_problems(manager: str) -> list[Problem]:
    if len(manager) > 128:
        return [field_errors.too_long(Path("fieldManager"), 128)]
    return (
        []
        if manager.isprintable()
        else [field_errors.invalid(Path("fieldManager"), manager, "should only contain printable characters")]
    )


def list_options(query: Query) -> ListOptions:
    """The options of a list or watch."""
    if not query:
        return _PLAIN_LIST
    limit = max(0, number(query, "limit") or 0)
    timeout = number(query, "timeoutSeconds")
    options = ListOptions(
        label_selector=first(query, "labelSelector"),
        field_selector=first(query, "fieldSelector"),
        limit=limit,
        continue_=first(query, "continue"),
        resource_version=first(query, "resourceVersion"),
        resource_version_match=first(query, "resourceVersionMatch"),
        is_watch=bool(truth(query, "watch")),
        wants_bookmarks=bool(truth(query, "allowWatchBookmarks")),
        sends_initial_events=truth(query, "sendInitialEvents"),
        timeout_seconds=None if timeout is None else float(timeout),
    )
    found = [*_match_problems(options), *_initial_events_problems(options)]
    if found:
        raise api_errors.invalid_options("ListOptions", found)
    return options


def _match_problems(options: ListOptions) -> list[Problem]:
    match = options.resource_version_match
    if not match:
        return []
    known = ("NotOlderThan",) if options.is_watch else ("Exact", "NotOlderThan", "")
    wrong = [] if match in known else [field_errors.not_supported(_MATCH, match, known)]
    return [*wrong, *(field_errors.forbidden(_MATCH, f"resourceVersionMatch {why}") for why in _misplaced(options))]


def _misplaced(options: ListOptions) -> Iterator[str]:
    """Why there may be no resourceVersionMatch."""
    if options.is_watch and options.sends_initial_events is None:
        yield "is forbidden for watch unless sendInitialEvents is provided"
    if not options.is_watch and not options.resource_version:
        yield "is forbidden unless resourceVersion is provided"
    if options.continue_:
        yield "is forbidden when continue is provided"
    if not options.is_watch and (options.resource_version_match, options.resource_version) == ("Exact", "0"):
        yield '"exact" is forbidden for resourceVersion "0"'


def _initial_events_problems(options: ListOptions) -> list[Problem]:
    if options.sends_initial_events is None:
        return []
    if not options.is_watch:
        return [field_errors.forbidden(Path("sendInitialEvents"), "sendInitialEvents is forbidden for list")]
    if options.resource_version_match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        return [field_errors.forbidden(_MATCH, why)]
    return []

"""Parses query parameters into the options of each verb. Rejects what Kubernetes rejects.

As in Kubernetes, unknown parameters are ignored, and only the first occurrence of a scalar parameter counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from probate.api import field_errors
from probate.api.field_errors import FieldError, FieldPath
from probate.core import errors
from probate.kinds import tables
from probate.server import api_errors

Query: TypeAlias = Mapping[str, Sequence[str]]

_MATCH = FieldPath("resourceVersionMatch")
FIELD_VALIDATIONS = ("Ignore", "Strict", "Warn")


class WriteOptions(NamedTuple):
    """The options of a create, update or patch."""

    is_dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    is_forced: bool = False


_DEFAULT_WRITE_OPTIONS = WriteOptions()


class ListOptions(NamedTuple):
    """The options of a list or watch. Selectors and continue tokens are unparsed: the code that uses them parses them."""

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


_DEFAULT_LIST_OPTIONS = ListOptions()


def first_value(query: Query, name: str) -> str:
    """Returns the parameter's first value, or an empty string."""
    return query[name][0] if query.get(name) else ""


def boolean(query: Query, name: str) -> bool | None:
    """Returns a boolean parameter, or None if absent. As in Kubernetes, `0` and `false` are false, all else is true."""
    if not query.get(name):
        return None
    return first_value(query, name).lower() not in {"0", "false"}


def integer(query: Query, name: str) -> int | None:
    """Returns an integer parameter, or None if it is absent. Raises `BadRequest` if it is not an integer."""
    text = first_value(query, name)
    if not text:
        return None
    try:
        if len(text) > 18:
            raise ValueError(text)  # noqa: TRY301
        return int(text, 10)
    except ValueError:
        raise errors.BadRequest(f"the parameter {name} must be an integer, not {text!r}") from None


def include_object(query: Query) -> tables.IncludeObject:
    """Returns the `includeObject` parameter of tables. Raises `BadRequest` if it is not supported."""
    match first_value(query, "includeObject"):
        case "" | "Metadata":
            return "Metadata"
        case "Object":
            return "Object"
        case "None":
            return "None"
        case value:
            problem = field_errors.not_supported(FieldPath("includeObject"), value, ("Metadata", "None", "Object"))
            raise errors.BadRequest(f"Unable to convert to Table as requested: {problem.field}: {problem.message}")


def write_options(query: Query, kind: str) -> WriteOptions:
    """Parses the options of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions. Raises `Invalid`."""
    if not query:
        return _DEFAULT_WRITE_OPTIONS
    problems = [*dry_run_problems(query.get("dryRun", ())), *_manager_problems(first_value(query, "fieldManager"))]
    field_validation = first_value(query, "fieldValidation") or "Warn"
    if field_validation not in FIELD_VALIDATIONS:
        problems.append(field_errors.not_supported(FieldPath("fieldValidation"), field_validation, FIELD_VALIDATIONS))
    if problems:
        raise api_errors.invalid_options(kind, problems)
    return WriteOptions(
        is_dry_run=bool(query.get("dryRun")),
        field_manager=first_value(query, "fieldManager"),
        field_validation=field_validation,
        is_forced=bool(boolean(query, "force")),
    )


def dry_run_problems(values: Sequence[str]) -> list[FieldError]:
    """Returns a field error unless every `dryRun` is All."""
    return (
        [field_errors.not_supported(FieldPath("dryRun"), list(values), ["All"])] if any(value != "All" for value in values) else []
    )


def _manager_problems(manager: str) -> list[FieldError]:
    if len(manager) > 128:
        return [field_errors.too_long(FieldPath("fieldManager"), 128)]
    return (
        []
        if manager.isprintable()
        else [field_errors.invalid(FieldPath("fieldManager"), manager, "should only contain printable characters")]
    )


def list_options(query: Query) -> ListOptions:
    """Parses the options of a list or watch. Raises `Invalid`."""
    if not query:
        return _DEFAULT_LIST_OPTIONS
    limit = max(0, integer(query, "limit") or 0)
    timeout = integer(query, "timeoutSeconds")
    options = ListOptions(
        label_selector=first_value(query, "labelSelector"),
        field_selector=first_value(query, "fieldSelector"),
        limit=limit,
        continue_=first_value(query, "continue"),
        resource_version=first_value(query, "resourceVersion"),
        resource_version_match=first_value(query, "resourceVersionMatch"),
        is_watch=bool(boolean(query, "watch")),
        wants_bookmarks=bool(boolean(query, "allowWatchBookmarks")),
        sends_initial_events=boolean(query, "sendInitialEvents"),
        timeout_seconds=None if timeout is None else float(timeout),
    )
    problems = [*_match_problems(options), *_initial_events_problems(options)]
    if problems:
        raise api_errors.invalid_options("ListOptions", problems)
    return options


def _match_problems(options: ListOptions) -> list[FieldError]:
    match = options.resource_version_match
    if not match:
        return []
    supported = ("NotOlderThan",) if options.is_watch else ("Exact", "NotOlderThan", "")
    unsupported = [] if match in supported else [field_errors.not_supported(_MATCH, match, supported)]
    return [
        *unsupported,
        *(field_errors.forbidden(_MATCH, f"resourceVersionMatch {why}") for why in _misplaced_match_reasons(options)),
    ]


def _misplaced_match_reasons(options: ListOptions) -> Iterator[str]:
    """Yields the reasons why resourceVersionMatch is not allowed here."""
    if options.is_watch and options.sends_initial_events is None:
        yield "is forbidden for watch unless sendInitialEvents is provided"
    if not options.is_watch and not options.resource_version:
        yield "is forbidden unless resourceVersion is provided"
    if options.continue_:
        yield "is forbidden when continue is provided"
    if not options.is_watch and (options.resource_version_match, options.resource_version) == ("Exact", "0"):
        yield '"exact" is forbidden for resourceVersion "0"'


def _initial_events_problems(options: ListOptions) -> list[FieldError]:
    if options.sends_initial_events is None:
        return []
    if not options.is_watch:
        return [field_errors.forbidden(FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list")]
    if options.resource_version_match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        return [field_errors.forbidden(_MATCH, why)]
    return []

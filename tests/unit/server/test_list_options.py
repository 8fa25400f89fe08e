"""Contradictory options of a list or watch: all field errors are reported."""

from __future__ import annotations

import pytest

from probate.core import errors
from probate.server import query

FORBIDDEN, UNKNOWN = "FieldValueForbidden", "FieldValueNotSupported"
MATCH, INITIAL = "resourceVersionMatch", "sendInitialEvents"
BEGUN = {"watch": "1", "sendInitialEvents": "true"}


@pytest.mark.parametrize(
    ("given", "causes"),
    [
        ({MATCH: "Foo"}, [(UNKNOWN, MATCH), (FORBIDDEN, MATCH)]),
        ({MATCH: "Exact", "resourceVersion": "0", "continue": "a"}, [(FORBIDDEN, MATCH), (FORBIDDEN, MATCH)]),
        ({MATCH: "Foo", INITIAL: "1"}, [(UNKNOWN, MATCH), (FORBIDDEN, MATCH), (FORBIDDEN, INITIAL)]),
        ({"watch": "1", MATCH: "NotOlderThan"}, [(FORBIDDEN, MATCH)]),
        ({"watch": "1", MATCH: "Exact"}, [(UNKNOWN, MATCH), (FORBIDDEN, MATCH)]),
        ({**BEGUN, MATCH: "Exact"}, [(UNKNOWN, MATCH), (FORBIDDEN, MATCH)]),
        ({**BEGUN, MATCH: "NotOlderThan", "continue": "a"}, [(FORBIDDEN, MATCH)]),
        (BEGUN, [(FORBIDDEN, MATCH)]),
        ({**BEGUN, MATCH: "NotOlderThan"}, []),
        ({MATCH: "Exact", "resourceVersion": "1"}, []),
    ],
)
def test_all_errors_in_the_options_are_reported(given: dict[str, str], causes: list[tuple[str, str]]) -> None:
    parameters = {name: [value] for name, value in given.items()}
    if not causes:
        assert query.list_options(parameters).resource_version_match == given[MATCH]
        return
    with pytest.raises(errors.Invalid) as refused:
        query.list_options(parameters)
    assert [(cause.reason, cause.field) for cause in refused.value.details.causes] == causes

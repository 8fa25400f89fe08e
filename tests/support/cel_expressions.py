"""Evaluates expressions in tests: `value("self.a + 1", {"a": 1})`."""

from __future__ import annotations

from typing import Any

from probate.api.cel.library import STANDARD
from probate.api.cel.library.authorizer import Authorizer
from probate.api.rbac.cel_authorizer import AllowAll, CelAuthorizer
from probate.lib.cel.cost_meter import PER_CALL, Meter
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, CompileError, OutOfBudget
from probate.lib.cel.programs import Program, compile_expression
from probate.lib.cel.types import DYN, Type
from probate.lib.cel.values import NONE, Optional

ENVIRONMENT = Environment({"self": DYN, "authorizer": Type("kubernetes.authorization.Authorizer")}, STANDARD)


def program(source: str) -> Program:
    return compile_expression(source, ENVIRONMENT)


def value(source: str, self: Any = None, *, limit: int = PER_CALL, decider: CelAuthorizer | None = None) -> Any:
    """Returns the value of the expression; for an optional, the value that it contains."""
    found = program(source).evaluate([self, Authorizer(decider or AllowAll())], Meter(limit))
    return (None if found is NONE else found.value) if isinstance(found, Optional) else found


def cost(source: str, self: Any = None) -> int:
    """Returns the cost of the evaluation."""
    meter = Meter(10 * PER_CALL)
    program(source).evaluate([self, None], meter)
    return 10 * PER_CALL - meter.remaining


def failure(source: str, self: Any = None) -> str:
    """Returns the error of the evaluation; empty if it succeeds."""
    try:
        value(source, self)
    except (CelError, OutOfBudget) as error:
        return str(error)
    return ""


def mistake(source: str, environment: Environment = ENVIRONMENT) -> str:
    """Returns the compile error without its position; empty if the source compiles."""
    try:
        compile_expression(source, environment)
    except CompileError as error:
        return "; ".join(issue.message for issue in error.issues)
    return ""

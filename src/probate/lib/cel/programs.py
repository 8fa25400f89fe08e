"""Compiled expressions.

program = compile_expression("self.a + 1", Environment({"self": DYN}, STANDARD))     raises CompileError
program.evaluate([{"a": 1}], Meter())                                                2; raises CelError, OutOfBudget
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from probate.lib.cel import checker, compiler
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, CompileError, Issue
from probate.lib.cel.evaluation import Run
from probate.lib.cel.syntax import parser, tree
from probate.lib.cel.types import Type


class Program:
    """A compiled expression. It stores no evaluation state, so it can be shared."""

    __slots__ = ("_code", "_cost", "_padding", "_source_names", "source", "tree")

    def __init__(self, source: str, node: tree.Node, environment: Environment, *, slots: int, names: set[str]) -> None:
        self.source = source
        self.tree = node
        self._code, self._cost = compiler.compile_node(node, environment)
        self._padding = [None] * (slots - len(environment.variables))
        self._source_names = names

    @property
    def type(self) -> Type:
        """The type of the result, as far as it is known."""
        return self.tree.type

    def uses(self, variable: str) -> bool:
        """Returns whether the expression refers to the variable."""
        return variable in self._source_names

    def evaluate(self, variables: Sequence[Any], meter: Meter) -> Any:
        """Evaluates the expression. `variables` are in the order of their declaration."""
        meter.charge(self._cost)
        try:
            return self._code(Run([*variables, *self._padding], meter))
        except RecursionError:  # policy variables that refer to each other hundreds of levels deep
            raise CelError("evaluation nests too deeply") from None


def compile_expression(source: str, environment: Environment) -> Program:
    """Parses, checks and compiles an expression. Raises `CompileError`."""
    try:
        node = parser.parse(source)
        names = tree.names(node)
        slots = checker.check(node, source, environment)
        return Program(source, node, environment, slots=slots, names=names)
    except RecursionError:
        raise CompileError(source[:1], [Issue(0, "expression recursion limit exceeded")]) from None


__all__ = ["CelError", "CompileError", "Program", "compile_expression"]

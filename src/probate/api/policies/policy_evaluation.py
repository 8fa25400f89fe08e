"""Evaluates a ValidatingAdmissionPolicy for one write, one binding and one parameter object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from probate.api.cel.library.authorizer import Authorizer
from probate.api.objects import Object
from probate.api.policies.compiled_policy import CompiledPolicy, Expression, Validation
from probate.lib.cel.cost_meter import PER_CALL, PER_OBJECT, Meter
from probate.lib.cel.errors import CelError, CompileError, OutOfBudget
from probate.lib.cel.evaluation import Run
from probate.lib.cel.field_access import ABSENT, Lazy

CONDITIONS_LIMIT = PER_OBJECT // 4
"""Cost limit of all match conditions of one webhook or policy, as in Kubernetes."""
MAX_MESSAGE = 5 * 1024
MAX_ANNOTATION = 10 * 1024
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
UNSUPPORTED = "resulted in unsupported return type. Return type must be either string or null."
HIDDEN_FOR_SECRETS = "which is not shown, since it can quote the content of the Secret"


class EvaluationError(Exception):
    """An expression has no value. The message says why."""


class Inputs(NamedTuple):
    """The values of an expression's variables."""

    object: Object | None
    old: Object | None
    request: Object
    namespace: Object | None
    params: Object | None
    authorizer: Authorizer


class Denial(NamedTuple):
    """A denial by a policy. `validation_index` is the index of the validation."""

    message: str
    reason: str = "Invalid"
    validation_index: int = 0


class PolicyResult(NamedTuple):
    """The result of a policy. `failures` are those of audit annotations, which deny the write whatever the binding's actions."""

    denials: tuple[Denial, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    failures: tuple[Denial, ...] = ()


class _Variables(Lazy):
    """The policy's variables, each evaluated once, on first use."""

    def __init__(self, expressions: Sequence[Expression], inputs: Inputs) -> None:
        self._expressions = {expression.name: expression for expression in expressions}
        self._inputs = inputs
        self._values: dict[str, Any] = {}

    def find(self, name: str, run: Run) -> Any:
        if name not in self._values:
            self._values[name] = self._evaluate(name, run)
        value = self._values[name]
        if isinstance(value, CelError):
            raise value
        return value

    def _evaluate(self, name: str, run: Run) -> Any:
        expression = self._expressions.get(name)
        if expression is None:
            return ABSENT
        if isinstance(expression.program, CompileError):
            return CelError(f'composited variable "{name}" fails to compile: {expression.program}')
        try:
            return expression.program.evaluate([*self._inputs, self], run.meter)
        except CelError as error:
            return CelError(f'composited variable "{name}" fails to evaluate: {error}')


class Evaluator:
    """Evaluates the expressions of one policy for one write, within one cost budget."""

    def __init__(self, variables: Sequence[Expression], inputs: Inputs, budget: int = PER_OBJECT) -> None:
        self._slots = [*inputs, _Variables(variables, inputs)]
        self._is_about_secret = _is_about_secret(inputs.request)
        self._budget = budget

    def evaluate(self, expression: Expression) -> Any:
        """Returns the value of an expression. Raises `EvaluationError`."""
        if isinstance(expression.program, CompileError):
            raise EvaluationError(f"compilation error: compilation failed: {expression.program}")
        limit = min(PER_CALL, self._budget)
        meter = Meter(limit)
        try:
            return expression.program.evaluate(self._slots, meter)
        except OutOfBudget as error:
            raise EvaluationError(
                OUT_OF_BUDGET if limit < PER_CALL else f"expression '{expression.source}' resulted in error: {error}"
            ) from None
        except CelError as error:
            message = HIDDEN_FOR_SECRETS if self._is_about_secret else str(error)
            raise EvaluationError(f"expression '{expression.source}' resulted in error: {message}") from None
        finally:
            self._budget -= limit - max(meter.remaining, 0)


def _is_about_secret(request: Object) -> bool:
    resource = request.get("resource") or {}
    return (resource.get("group") or "", resource.get("resource")) == ("", "secrets")


def conditions_match(conditions: Sequence[Expression], inputs: Inputs) -> bool:
    """Returns whether all conditions are true.

    A false one decides; otherwise `EvaluationError` names those that cannot be evaluated.
    """
    evaluator, messages = Evaluator((), inputs, CONDITIONS_LIMIT), []
    for condition in conditions:
        try:
            if evaluator.evaluate(condition) is not True:
                return False
        except EvaluationError as error:
            messages.append(str(error))
    if messages:
        raise EvaluationError(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
    return True


def evaluate_policy(policy: CompiledPolicy, inputs: Inputs) -> PolicyResult:
    """Evaluates the policy for the write."""
    try:
        if policy.conditions and not conditions_match(policy.conditions, inputs):
            return PolicyResult()
    except EvaluationError as error:
        return PolicyResult((Denial(str(error)),)) if policy.fails_closed else PolicyResult()
    evaluator = Evaluator(policy.variables, inputs)
    denials = [_decision(policy, index, validation, evaluator=evaluator) for index, validation in enumerate(policy.validations)]
    annotations, failures = _annotations(policy, Evaluator(policy.variables, inputs))
    return PolicyResult(tuple(denial for denial in denials if denial is not None), annotations, failures)


def _decision(policy: CompiledPolicy, index: int, validation: Validation, *, evaluator: Evaluator) -> Denial | None:
    try:
        if evaluator.evaluate(validation.expression) is True:
            return None
    except EvaluationError as error:
        return Denial(str(error), validation_index=index) if policy.fails_closed else None
    message = _message(validation, evaluator) or str(validation.spec.get("message") or "").strip()
    reason = str(validation.spec.get("reason") or "Invalid")
    return Denial(message or f"failed expression: {validation.expression.source.strip()}", reason, index)


def _message(validation: Validation, evaluator: Evaluator) -> str:
    """Returns the value of the message expression; empty if it has no valid message."""
    if validation.message is None:
        return ""
    try:
        value = evaluator.evaluate(validation.message)
    except EvaluationError:
        return ""
    message = value.strip() if isinstance(value, str) else ""
    return message if "\n" not in message and len(message.encode(errors="replace")) <= MAX_MESSAGE else ""


def _annotations(policy: CompiledPolicy, evaluator: Evaluator) -> tuple[tuple[tuple[str, str], ...], tuple[Denial, ...]]:
    annotations, failures = [], []
    for annotation in policy.annotations:
        try:
            value = evaluator.evaluate(annotation)
            if value is not None and not isinstance(value, str):
                raise EvaluationError(f"valueExpression '{annotation.source}' {UNSUPPORTED}")  # noqa: TRY301
            if value is not None and value.strip():
                annotations.append((annotation.name, value.strip()[:MAX_ANNOTATION]))
        except EvaluationError as error:
            failures += [Denial(str(error))] if policy.fails_closed else []
    return tuple(annotations), tuple(failures)

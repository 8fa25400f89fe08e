"""What a validating policy says of a write, for one binding and one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from probate.api.cel.library.authorizer import Authorizer
from probate.api.policies.compiled_policy import Expression, Policy, Validation
from probate.lib.cel.cost_meter import PER_CALL, PER_OBJECT, Meter
from probate.lib.cel.errors import CelError, CompileError, OutOfBudget
from probate.lib.cel.evaluation import Run
from probate.lib.cel.field_access import ABSENT, Lazy

CONDITIONS_LIMIT = PER_OBJECT // 4
"""All match conditions of one webhook or policy may cost this much, as in Kubernetes."""
MAX_MESSAGE = 5 * 1024
MAX_ANNOTATION = 10 * 1024
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
UNSUPPORTED = "resulted in unsupported return type. Return type must be either string or null."
UNTOLD = "which is not told, since it can quote what is in the Secret"

Object = dict[str, Any]


class Trouble(Exception):
    """An expression has no value, and this is told about it."""


class Inputs(NamedTuple):
    """What expressions are about."""

    object: Object | None
    old: Object | None
    request: Object
    namespace: Object | None
    params: Object | None
    authorizer: Authorizer


class Decision(NamedTuple):
    """Why a write is not as a policy wants it. `number` is that of the validation."""

    message: str
    reason: str = "Invalid"
    number: int = 0


class Outcome(NamedTuple):
    """All that a policy says. `failures` are those of audit annotations, which refuse whatever the binding's actions are."""

    denials: tuple[Decision, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    failures: tuple[Decision, ...] = ()


class _Variables(Lazy):
    """Those of the policy, each evaluated when it is first asked for, and once."""

    def __init__(self, expressions: Sequence[Expression], inputs: Inputs) -> None:
        self._expressions = {one.name: one for one in expressions}
        self._inputs = inputs
        self._known: dict[str, Any] = {}

    def find(self, name: str, run: Run) -> Any:
        if name not in self._known:
            self._known[name] = self._evaluated(name, run)
        found = self._known[name]
        if isinstance(found, CelError):
            raise found
        return found

    def _evaluated(self, name: str, run: Run) -> Any:
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
    """Evaluates the expressions of one policy for one write, within one budget."""

    def __init__(self, variables: Sequence[Expression], inputs: Inputs, budget: int = PER_OBJECT) -> None:
        self._slots = [*inputs, _Variables(variables, inputs)]
        self._is_about_secret = _is_about_secret(inputs.request)
        self._budget = budget

    def evaluate(self, expression: Expression) -> Any:
        """The value. Raises `Trouble`."""
        if isinstance(expression.program, CompileError):
            raise Trouble(f"compilation error: compilation failed: {expression.program}")
        limit = min(PER_CALL, self._budget)
        meter = Meter(limit)
        try:
            return expression.program.evaluate(self._slots, meter)
        except OutOfBudget as error:
            raise Trouble(
                OUT_OF_BUDGET if limit < PER_CALL else f"expression '{expression.source}' resulted in error: {error}"
            ) from None
        except CelError as error:
            told = UNTOLD if self._is_about_secret else str(error)
            raise Trouble(f"expression '{expression.source}' resulted in error: {told}") from None
        finally:
            self._budget -= limit - max(meter.remaining, 0)


def _is_about_secret(request: Object) -> bool:
    about = request.get("resource") or {}
    return (about.get("group") or "", about.get("resource")) == ("", "secrets")


def is_meant(conditions: Sequence[Expression], inputs: Inputs) -> bool:
    """Whether all conditions hold. One that is false decides; else `Trouble` says which cannot be evaluated."""
    evaluator, wrong = Evaluator((), inputs, CONDITIONS_LIMIT), []
    for one in conditions:
        try:
            if evaluator.evaluate(one) is not True:
                return False
        except Trouble as trouble:
            wrong.append(str(trouble))
    if wrong:
        raise Trouble(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    return True


def judged(policy: Policy, inputs: Inputs) -> Outcome:
    """What the policy says of the write."""
    try:
        if policy.conditions and not is_meant(policy.conditions, inputs):
            return Outcome()
    except Trouble as trouble:
        return Outcome((Decision(str(trouble)),)) if policy.fails_closed else Outcome()
    evaluator = Evaluator(policy.variables, inputs)
    found = [_decision(policy, index, one, evaluator) for index, one in enumerate(policy.validations)]
    annotations, failures = _annotations(policy, Evaluator(policy.variables, inputs))
    return Outcome(tuple(one for one in found if one is not None), annotations, failures)


def _decision(policy: Policy, index: int, validation: Validation, evaluator: Evaluator) -> Decision | None:
    try:
        if evaluator.evaluate(validation.expression) is True:
            return None
    except Trouble as trouble:
        return Decision(str(trouble), number=index) if policy.fails_closed else None
    told = _message(validation, evaluator) or str(validation.written.get("message") or "").strip()
    reason = str(validation.written.get("reason") or "Invalid")
    return Decision(told or f"failed expression: {validation.expression.source.strip()}", reason, index)


def _message(validation: Validation, evaluator: Evaluator) -> str:
    """What the message expression says; empty if it says nothing that can be told."""
    if validation.message is None:
        return ""
    try:
        found = evaluator.evaluate(validation.message)
    except Trouble:
        return ""
    told = found.strip() if isinstance(found, str) else ""
    return told if "\n" not in told and len(told.encode(errors="replace")) <= MAX_MESSAGE else ""


def _annotations(policy: Policy, evaluator: Evaluator) -> tuple[tuple[tuple[str, str], ...], tuple[Decision, ...]]:
    told, wrong = [], []
    for one in policy.annotations:
        try:
            value = evaluator.evaluate(one)
            if value is not None and not isinstance(value, str):
                raise Trouble(f"valueExpression '{one.source}' {UNSUPPORTED}")  # noqa: TRY301
            if value is not None and value.strip():
                told.append((one.name, value.strip()[:MAX_ANNOTATION]))
        except Trouble as trouble:
            wrong += [Decision(str(trouble))] if policy.fails_closed else []
    return tuple(told), tuple(wrong)

"""Validating admission policies. Their bindings say how a failed validation takes effect: denial, warning or audit annotation."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.api.policies import policy_evaluation
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.core.errors import Details
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.policies import cel_variables
from probate.server.admission.policies.policy_bindings import BoundPolicy, PolicyIndex
from probate.server.admission.policies.policy_inputs import PolicyInputs
from probate.server.admission.policies.policy_match_conditions import MEDIUM_BYTES
from probate.server.request import Target

FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_STATUS_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


class _Denial(NamedTuple):
    bound: BoundPolicy
    decision: policy_evaluation.Denial


class ValidatingPolicies:
    """Runs the validating policies that match a write."""

    def __init__(self, chain: AdmissionChain, policies: PolicyIndex, inputs: PolicyInputs, *, offloader: Offloader) -> None:
        self._chain = chain
        self._policies = policies
        self._inputs = inputs
        self._offloader = offloader

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the policies and their bindings."""
        self._policies.subscribe_to(configuration, self._on_change)

    def _on_change(self) -> None:
        if self._policies.has_bound_policy:
            self._chain.enable(PluginOrder.VALIDATING_POLICIES, self)
        else:
            self._chain.disable(PluginOrder.VALIDATING_POLICIES)

    def handles(self, operation: str, at: Target) -> bool:
        return bool(self._policies.candidates(operation, at))

    async def validate(self, write: Attributes) -> CommitRequirements:
        matching = await self._policies.matching(write)
        if not matching:
            return NO_REQUIREMENTS
        namespace = await self._policies.namespace(write)
        denials: list[_Denial] = []
        for bound in matching:
            denials += await self._evaluate(bound, write, namespace)
        if denials:
            raise denial(write, denials[0].decision, _message(denials[0]))
        return NO_REQUIREMENTS

    async def _evaluate(self, bound: BoundPolicy, write: Attributes, namespace: Object | None) -> list[_Denial]:
        """Returns the denials of one policy with one binding."""
        spec = bound.policy.spec
        try:
            params_list = await self._inputs.params(bound, write.namespace)
        except policy_evaluation.EvaluationError as error:
            is_closed = spec.get("failurePolicy") != "Ignore"
            return [_Denial(bound, policy_evaluation.Denial(f"failed to configure binding: {error}"))] if is_closed else []
        converted = await self._offloader.offload_if_large(
            max(MEDIUM_BYTES, write.size), lambda: cel_variables.convert_write(write, bound.resource)
        )
        denials: list[_Denial] = []
        for params in params_list:
            inputs = self._inputs.inputs(write, converted, namespace=namespace, params=params)
            denials += self._enforce(bound, write, await self._outcome(bound, inputs))
        return denials

    async def _outcome(self, bound: BoundPolicy, inputs: policy_evaluation.Inputs) -> policy_evaluation.PolicyResult:
        return await self._offloader.offload_if_large(
            MEDIUM_BYTES, lambda: policy_evaluation.evaluate_policy(bound.policy.compiled(), inputs)
        )

    def _enforce(self, bound: BoundPolicy, write: Attributes, outcome: policy_evaluation.PolicyResult) -> list[_Denial]:
        actions = bound.binding.spec.get("validationActions") or ["Deny"]
        for decision in outcome.denials:
            if "Warn" in actions:
                write.request.warn(
                    f"Validation failed for ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding.name}': "
                    f"{decision.message}"
                )
            if "Audit" in actions:
                write.request.annotations[FAILURE_ANNOTATION] = _failure_annotation(bound, decision, actions)
        for key, value in outcome.annotations:
            _add_annotation(write, f"{bound.policy.name}/{key}", value)
        refused = outcome.denials if "Deny" in actions else ()
        return [_Denial(bound, decision) for decision in (*refused, *outcome.failures)]


def _add_annotation(write: Attributes, key: str, value: str) -> None:
    """Adds an audit annotation. Different values from several bindings are joined with commas."""
    previous = write.request.annotations.get(key)
    if previous is None:
        write.request.annotations[key] = value
    elif value not in previous.split(", "):
        write.request.annotations[key] = f"{previous}, {value}"


def _failure_annotation(bound: BoundPolicy, decision: policy_evaluation.Denial, actions: list[str]) -> str:
    fields = {
        "message": decision.message,
        "policy": bound.policy.name,
        "binding": bound.binding.name,
        "expressionIndex": decision.validation_index,
        "validationActions": actions,
    }
    return orjson.dumps([fields]).decode()


def _message(denied: _Denial) -> str:
    bound, message = denied.bound, denied.decision.message
    return f"ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding.name}' denied request: {message}"


def denial(write: Attributes, decision: policy_evaluation.Denial, message: str) -> errors.ApiError:
    """Returns the error with Kubernetes' text."""
    resource, name = write.at.resource, write.name or _name(write.object or write.old)
    details = Details(name, resource.group, resource.plural, causes=(FieldError("", "", message),))
    text = f'{resource.group_resource} "{name}" is forbidden: {message}'
    return errors.Denied(text, details, code=_STATUS_CODES.get(decision.reason, 422), reason=decision.reason)


def _name(object_: Object | None) -> str:
    meta = (object_ or {}).get("metadata") or {}
    return str(meta.get("name") or meta.get("generateName") or "")

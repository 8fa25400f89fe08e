"""Validating policies: what they say about a write, told as their bindings want it: refused, warned about, noted."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from probate.api.field_errors import Problem
from probate.api.policies import validation
from probate.core import errors
from probate.core.errors import Details
from probate.server.admission.attributes import NO_TERMS, Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.admission.policies import cel_variables, policy_params
from probate.server.admission.policies.match_conditions import MEDIUM
from probate.server.admission.policies.policy_bindings import Bound, Policies
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


class _Denial(NamedTuple):
    bound: Bound
    decision: validation.Decision


class ValidatingPolicies:
    """May say no, or warn, or have something noted."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._policies = Policies(api, Place.VALIDATING_POLICIES, self, "validating")

    def wants(self, operation: str, at: Target) -> bool:
        return bool(self._policies.about(operation, at))

    async def validate(self, write: Attributes) -> Terms:
        meant = await self._policies.meant(write)
        if not meant:
            return NO_TERMS
        namespace = await self._policies.namespace(write)
        denials: list[_Denial] = []
        for one in meant:
            denials += await self._ask(one, write, namespace)
        if denials:
            raise denial(write, denials[0].decision, _told(denials[0]))
        return NO_TERMS

    async def _ask(self, bound: Bound, write: Attributes, namespace: Object | None) -> list[_Denial]:
        """What is to be refused."""
        spec = bound.policy.spec
        try:
            found = await policy_params.collected(
                self._api, spec.get("paramKind"), bound.binding.spec.get("paramRef"), write.namespace
            )
        except validation.Trouble as trouble:
            is_closed = spec.get("failurePolicy") != "Ignore"
            return [_Denial(bound, validation.Decision(f"failed to configure binding: {trouble}"))] if is_closed else []
        seen = await self._api.apart(max(MEDIUM, write.size), lambda: cel_variables.shown(write, bound.resource))
        denials: list[_Denial] = []
        for one in found:
            given = cel_variables.inputs(self._api, write, seen, namespace, one)
            denials += self._carried_out(bound, write, await self._judged(bound, given))
        return denials

    async def _judged(self, bound: Bound, given: validation.Inputs) -> validation.Outcome:
        return await self._api.apart(MEDIUM, lambda: validation.judged(bound.policy.compiled(), given))

    def _carried_out(self, bound: Bound, write: Attributes, said: validation.Outcome) -> list[_Denial]:
        actions = bound.binding.spec.get("validationActions") or ["Deny"]
        for decision in said.denials:
            if "Warn" in actions:
                write.act.warn(
                    f"Validation failed for ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding.name}': "
                    f"{decision.message}"
                )
            if "Audit" in actions:
                write.act.annotations[FAILURE] = _failure(bound, decision, actions)
        for key, value in said.annotations:
            _note(write, f"{bound.policy.name}/{key}", value)
        refused = said.denials if "Deny" in actions else ()
        return [_Denial(bound, one) for one in (*refused, *said.failures)]


def _note(write: Attributes, key: str, value: str) -> None:
    """Note the value; several different ones, of several bindings, one after the other."""
    noted = write.act.annotations.get(key)
    if noted is None:
        write.act.annotations[key] = value
    elif value not in noted.split(", "):
        write.act.annotations[key] = f"{noted}, {value}"


def _failure(bound: Bound, decision: validation.Decision, actions: list[str]) -> str:
    told = {
        "message": decision.message,
        "policy": bound.policy.name,
        "binding": bound.binding.name,
        "expressionIndex": decision.number,
        "validationActions": actions,
    }
    return orjson.dumps([told]).decode()


def _told(denied: _Denial) -> str:
    bound, message = denied.bound, denied.decision.message
    return f"ValidatingAdmissionPolicy '{bound.policy.name}' with binding '{bound.binding.name}' denied request: {message}"


def denial(write: Attributes, decision: validation.Decision, told: str) -> errors.ApiError:
    """The refusal, in Kubernetes' words."""
    resource, name = write.at.resource, write.name or _name(write.object or write.old)
    details = Details(name, resource.group, resource.plural, causes=(Problem("", "", told),))
    whole = f'{resource.group_resource} "{name}" is forbidden: {told}'
    return errors.Denied(whole, details, code=_CODES.get(decision.reason, 422), reason=decision.reason)


def _name(object_: Object | None) -> str:
    meta = (object_ or {}).get("metadata") or {}
    return str(meta.get("name") or meta.get("generateName") or "")

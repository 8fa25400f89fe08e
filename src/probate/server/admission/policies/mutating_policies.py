"""Mutating admission policies. They run one after the other, and again if later plugins have changed what they saw."""

from __future__ import annotations

from probate.api.apply.schema_shapes import DEDUCED, Shape
from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.api.policies import compiled_policy, policy_evaluation
from probate.api.policies import mutation as mutations
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.core.errors import Details
from probate.server.admission import phases
from probate.server.admission.admission_attributes import Attributes, Reinvocation
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.policies import cel_variables
from probate.server.admission.policies.policy_bindings import BoundPolicy, PolicyIndex
from probate.server.admission.policies.policy_inputs import PolicyInputs
from probate.server.admission.policies.policy_match_conditions import MEDIUM_BYTES
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target

STATE_KEY = "mutatingadmissionpolicies"


class MutatingPolicies:
    """Runs the mutating policies that match a write."""

    def __init__(
        self,
        chain: AdmissionChain,
        policies: PolicyIndex,
        inputs: PolicyInputs,
        *,
        kinds: KindRegistry,
        offloader: Offloader,
    ) -> None:
        self._chain = chain
        self._policies = policies
        self._inputs = inputs
        self._kinds = kinds
        self._offloader = offloader

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the policies and their bindings."""
        self._policies.subscribe_to(configuration, self._on_change)

    def _on_change(self) -> None:
        if self._policies.has_bound_policy:
            self._chain.enable(PluginOrder.MUTATING_POLICIES, self)
        else:
            self._chain.disable(PluginOrder.MUTATING_POLICIES)

    def handles(self, operation: str, at: Target) -> bool:
        return operation != "DELETE" and bool(self._policies.candidates(operation, at))

    async def mutate(self, write: Attributes) -> None:
        state = write.reinvocation_state.setdefault(STATE_KEY, Reinvocation())
        if write.is_reinvocation and write.object is not state.last_object:
            state.due |= state.reinvocable
        namespace: Object | None = None
        for bound in await self._policies.matching(write):
            namespace = namespace or await self._policies.namespace(write)
            for params in await self._params(bound, write):
                await self._invoke(bound, write, namespace=namespace, params=params, state=state)
        state.last_object = write.object

    async def _params(self, bound: BoundPolicy, write: Attributes) -> list[Object | None]:
        try:
            return await self._inputs.params(bound, write.namespace)
        except policy_evaluation.EvaluationError as error:
            _fail(bound, write, f"failed to configure binding: {error}")
            return []

    async def _invoke(
        self, bound: BoundPolicy, write: Attributes, *, namespace: Object | None, params: Object | None, state: Reinvocation
    ) -> None:
        key = (bound.policy.name, bound.binding.name, _identity(params))
        if write.object is None or (write.is_reinvocation and key not in state.due):
            return
        try:
            size = max(MEDIUM_BYTES, write.size)
            has_changed = await self._offloader.offload_if_large(
                size, lambda: self._change(bound, write, namespace=namespace, params=params)
            )
        except policy_evaluation.EvaluationError as error:
            _fail(bound, write, str(error))
            return
        if has_changed:
            state.due |= state.reinvocable
            write.needs_reinvocation = True
        if bound.policy.spec.get("reinvocationPolicy") == "IfNeeded":
            state.reinvocable.add(key)

    def _change(self, bound: BoundPolicy, write: Attributes, *, namespace: Object | None, params: Object | None) -> bool:
        """Returns whether the policy has changed the object.

        If this takes long it is restarted on a thread, so it changes nothing until its end.
        """
        policy, before = bound.policy.compiled(), write.object
        converted = cel_variables.convert_write(write, bound.resource)
        inputs = self._inputs.inputs(write, converted, namespace=namespace, params=params)
        if policy.conditions and not policy_evaluation.conditions_match(policy.conditions, inputs):
            return False
        changed = self._mutated(policy, inputs, converted)
        if changed == converted.object:
            return False
        if converted.resource is not write.at.resource and converted.kind == converted.resource.group_version_kind:
            changed = phases.convert_version(changed, converted.resource, write.at.resource)
        _replace_object(write, changed)
        return write.object != before

    def _mutated(
        self, policy: compiled_policy.CompiledPolicy, inputs: policy_evaluation.Inputs, converted: cel_variables.VersionedWrite
    ) -> Object:
        """Applies the mutations of a policy in order. Each sees the changes of those before it."""
        object_, shape = inputs.object or {}, self._shape(converted)
        for mutation in policy.mutations:
            evaluator = policy_evaluation.Evaluator(policy.variables, inputs._replace(object=object_))
            object_ = mutations.mutate(mutation, object_, evaluator, shape=shape)
        return object_

    def _shape(self, converted: cel_variables.VersionedWrite) -> Shape:
        if converted.kind != converted.resource.group_version_kind:
            return DEDUCED
        return self._kinds.rules(converted.resource).shape()


def _replace_object(write: Attributes, changed: Object) -> None:
    try:
        write.replace_object(changed)
    except (errors.BadRequest, errors.Invalid) as error:
        raise policy_evaluation.EvaluationError(f"the mutated object is not valid for its kind: {error}") from None


def _identity(params: Object | None) -> tuple[str, str]:
    meta = (params or {}).get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _fail(bound: BoundPolicy, write: Attributes, reason: str) -> None:
    """Refuses the write, unless the policy's failurePolicy is Ignore."""
    if bound.policy.spec.get("failurePolicy") == "Ignore":
        return
    message = f"policy '{bound.policy.name}' with binding '{bound.binding.name}' denied request: {reason}"
    resource = write.at.resource
    details = Details(write.name, resource.group, resource.plural, causes=(FieldError("", "", message),))
    raise errors.Denied(message, details, code=403, reason="Invalid")

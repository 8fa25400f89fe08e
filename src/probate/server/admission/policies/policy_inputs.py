"""Provides what the expressions of a policy are evaluated with: its parameters, and its variables."""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.policies import policy_evaluation
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.policies import cel_variables, policy_params
from probate.server.admission.policies.policy_bindings import BoundPolicy
from probate.server.authz.authorizer import Authorizer
from probate.server.kind_registry import KindRegistry
from probate.store.contract import Store


class PolicyInputs:
    """Reads parameters from the store, and asks the authorizer for the variable `authorizer`."""

    def __init__(self, store: Store, kinds: KindRegistry, authorizer: Authorizer) -> None:
        self._store = store
        self._kinds = kinds
        self._authorizer = authorizer

    async def params(self, bound: BoundPolicy, namespace: str) -> list[Object | None]:
        """Returns the parameters to evaluate the policy with, one after the other. Raises `EvaluationError`."""
        kind, ref = bound.policy.spec.get("paramKind"), bound.binding.spec.get("paramRef")
        return await policy_params.collect(kind, ref, namespace, store=self._store, catalog=self._kinds.catalog)

    def inputs(
        self, write: Attributes, converted: cel_variables.VersionedWrite, *, namespace: Object | None, params: Object | None
    ) -> policy_evaluation.Inputs:
        """Returns the variables of one evaluation."""
        rights = self._authorizer.cel_authorizer(write.request.user)
        return cel_variables.policy_inputs(write, converted, rights, namespace=namespace, params=params)

"""OtherChain: runs the policies and webhooks of another view on a write, restricted to those that match it.

All other plugins, such as quotas, count and fill in for all clients in the view in which the write is handled: they must not run
twice.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, MutatingPlugin, Plugin, ValidatingPlugin
from probate.server.request import Target
from probate.tenants.admission.other_view import OtherView
from probate.tenants.admission.viewed_write import ViewedWrite

_STATE_KEY = "other view"


class OtherChain(NamedTuple):
    """The chain of another view, and how that view shows a write."""

    chain: AdmissionChain
    view: OtherView
    offloader: Offloader

    def handles(self, operation: str, at: Target) -> bool:
        """Returns whether a policy or webhook of the other view may match writes like this one."""
        return bool(self._matching(operation, self.view.target(at)))

    def _matching(self, operation: str, other: Target | None) -> list[Plugin]:
        return [] if other is None else [plugin for plugin in self.chain.configured if plugin.handles(operation, other)]

    async def mutate(self, write: Attributes) -> None:
        """Runs the mutating plugins. What they change is changed in the write, as if by one plugin."""
        other = self.view.target(write.at)
        plugins = [plugin for plugin in self._matching(write.operation, other) if isinstance(plugin, MutatingPlugin)]
        if other is None or not plugins:
            return
        viewed = await self._viewed(write, other)
        with _reported(viewed):
            for plugin in plugins:
                await plugin.mutate(viewed.write)
        write.needs_reinvocation = write.needs_reinvocation or viewed.write.needs_reinvocation

    async def _viewed(self, write: Attributes, other: Target) -> ViewedWrite:
        known = write.reinvocation_state.get(_STATE_KEY)
        if isinstance(known, ViewedWrite):
            await self.offloader.offload_if_large(write.size, known.refresh)
            known.write.is_reinvocation = write.is_reinvocation
            return known
        viewed = await self.offloader.offload_if_large(write.size, lambda: ViewedWrite(write, self.view, other))
        viewed.write.is_reinvocation = write.is_reinvocation
        write.reinvocation_state[_STATE_KEY] = viewed
        return viewed

    async def validate(self, write: Attributes) -> CommitRequirements:
        """Runs the validating plugins, none of which requires anything of the transaction."""
        other = self.view.target(write.at)
        plugins = [plugin for plugin in self._matching(write.operation, other) if isinstance(plugin, ValidatingPlugin)]
        if other is None or not plugins:
            return NO_REQUIREMENTS
        viewed = await self.offloader.offload_if_large(write.size, lambda: ViewedWrite(write, self.view, other))
        with _reported(viewed):
            for plugin in plugins:
                (await plugin.validate(viewed.write)).release()
        return NO_REQUIREMENTS


@contextmanager
def _reported(viewed: ViewedWrite) -> Generator[None, None, None]:
    """Passes warnings and errors on to the client."""
    try:
        yield
    except errors.ApiError as error:
        raise viewed.denial(error) from None
    finally:
        viewed.pass_warnings()

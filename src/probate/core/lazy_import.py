"""Modules that are loaded when something of them is first used, not when they are first imported.

Most of what a process does until it serves is to load code, and much of that code is for what few requests ask for. So `begin` says
which modules come late: whoever imports one gets a module that is empty, and that is filled when somebody first looks into it.
Sources know nothing of it. Only `from late.module import Name` looks into it at once: of late modules one imports the module.

After it is loaded a late module is a module like any other, and costs no more. `load` loads what is still missing, on a thread,
beside a loop that should not wait for it in the middle of a request. Two threads may look into the same module: one loads it, the
other waits. They cannot wait for each other, since modules do not import each other in circles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader  # which takes long to load, of all things


def begin(names: Collection[str]) -> None:
    """From now on these modules come late, and all that is in these packages."""
    sys.meta_path.insert(0, _Finder(frozenset(names)))


def load(is_over: Callable[[], bool] = lambda: False) -> None:
    """Load all that were imported and are still empty, and what these import in turn, until there are none or it is over."""
    while found := [module for module in list(sys.modules.values()) if type(module) is _Late]:
        for module in found:
            if is_over():
                return
            _fill(module)


class _Finder:
    """Finds modules as Python does, and has the late ones loaded late."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not self._is_late(name):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # it has all that Python calls
        return spec

    def _is_late(self, name: str) -> bool:
        while name:
            if name in self._names:
                return True
            name = name.rpartition(".")[0]
        return False


class _Loader:
    """Puts off what another loader does."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None  # noqa: S101 it was made from this one
        spec.loader = module.__loader__ = self._loader
        spec.loader_state = _State(self._loader)
        module.__class__ = _Late


class _State:
    """How far a late module is."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.lock = RLock()
        self.is_loading = False  # by the thread that has the lock


_KNOWN = frozenset({"__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"})
"""What Python wants to know of any module while it imports others."""


class _Late(ModuleType):
    """A module that is empty until somebody looks into it."""

    def __getattribute__(self, name: str) -> object:
        if name not in _KNOWN:
            _fill(self)
        return ModuleType.__getattribute__(self, name)  # (it is no _Late by now)


def _fill(module: ModuleType) -> None:
    """Load it, unless that is done or under way on this thread."""
    spec = module.__spec__
    assert spec is not None  # noqa: S101
    state: _State = spec.loader_state
    with state.lock:
        if type(module) is not _Late or state.is_loading:
            return
        state.is_loading = True
        try:
            state.loader.exec_module(module)
            module.__class__ = ModuleType  # type: ignore[assignment]
        finally:
            state.is_loading = False

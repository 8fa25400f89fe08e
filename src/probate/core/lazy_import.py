"""Lazy imports: modules that are executed at the first access to one of their attributes.

Most of a process's start is loading code, much of which only few requests need. `install` says which modules are lazy: importing
one creates an empty module, and the first attribute access fills it. The source code does not change. But `from lazy.module import
Name` accesses an attribute at once: import the module instead.

A loaded module is a module like any other, at no further cost. `load_pending` loads the remaining ones on a thread, so that the
event loop does not load them in the middle of a request. If two threads access the same module, one loads it and the other waits.
They cannot deadlock, since modules do not import each other in circles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader  # slow to import itself


def install(names: Collection[str]) -> None:
    """Makes these modules, and all modules in these packages, lazy when they are imported from now on."""
    sys.meta_path.insert(0, _Finder(frozenset(names)))


def load_pending(is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Loads all lazy modules that are still empty, and those that they import, until none is left or `is_stopped` returns true."""
    while pending := [module for module in list(sys.modules.values()) if type(module) is _LazyModule]:
        for module in pending:
            if is_stopped():
                return
            _load(module)


class _Finder:
    """Finds modules as Python does, and replaces the loader of lazy ones."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not self._is_lazy(name):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # it has all methods that Python calls
        return spec

    def _is_lazy(self, name: str) -> bool:
        while name:
            if name in self._names:
                return True
            name = name.rpartition(".")[0]
        return False


class _Loader:
    """Defers the execution of another loader."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None  # noqa: S101 the module was created from it
        spec.loader = module.__loader__ = self._loader
        spec.loader_state = _LoadState(self._loader)
        module.__class__ = _LazyModule


class _LoadState:
    """The loading state of a lazy module."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.lock = RLock()
        self.is_loading = False  # on the thread that holds the lock


_IMPORT_ATTRIBUTES = frozenset({"__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"})
"""Attributes that Python reads of any module while it imports others."""


class _LazyModule(ModuleType):
    """A module that is empty until the first access to an attribute."""

    def __getattribute__(self, name: str) -> object:
        if name not in _IMPORT_ATTRIBUTES:
            _load(self)
        return ModuleType.__getattribute__(self, name)  # (its class is ModuleType by now)


def _load(module: ModuleType) -> None:
    """Executes the module, unless it is loaded already or this thread is loading it."""
    spec = module.__spec__
    assert spec is not None  # noqa: S101
    state: _LoadState = spec.loader_state
    with state.lock:
        if type(module) is not _LazyModule or state.is_loading:
            return
        state.is_loading = True
        try:
            state.loader.exec_module(module)
            module.__class__ = ModuleType  # type: ignore[assignment]
        finally:
            state.is_loading = False

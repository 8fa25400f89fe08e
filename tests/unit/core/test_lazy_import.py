"""Lazy modules: executed at the first access, once, by whichever thread."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import ModuleType

import pytest

from probate.core import lazy_import

EXECUTED: list[str] = []
"""The modules that were executed: each test module appends its name."""
STARTED, MAY_END = threading.Event(), threading.Event()


class Folder:
    """The folder for a test's modules, of which `lately` is lazy."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, name: str, text: str) -> None:
        file = self._path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"from sys import modules\nsteps = modules[{__name__!r}].EXECUTED\nsteps.append({name!r})\n{text}\n")

    def import_module(self, name: str) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before = {*sys.modules}
    lazy_import.install({"lately"})
    EXECUTED.clear()
    STARTED.clear()
    MAY_END.clear()
    yield Folder(tmp_path)
    for name in {*sys.modules} - before:
        del sys.modules[name]


def test_lazy_module_is_executed_once_at_the_first_access(folder: Folder) -> None:
    folder.write("lately", "A = 1")
    module = folder.import_module("lately")
    assert EXECUTED == []
    assert (module.A, module.A) == (1, 1)
    assert EXECUTED == ["lately"]
    assert type(module) is ModuleType


def test_missing_name_raises_attribute_error(folder: Folder) -> None:
    folder.write("lately", "A = 1")
    with pytest.raises(AttributeError, match="no attribute 'B'"):
        _ = folder.import_module("lately").B


def test_other_modules_are_executed_at_import(folder: Folder) -> None:
    folder.write("early", "import lately")
    folder.write("lately", "A = 1")
    folder.import_module("early")
    assert EXECUTED == ["early"]


@pytest.mark.parametrize("line", ["from lately import A", "from lately import *", "import lately; A = lately.A"])
def test_every_form_of_import_works(folder: Folder, line: str) -> None:
    folder.write("lately", "A = 1")
    folder.write("early", line)
    assert folder.import_module("early").A == 1


def test_modules_in_a_lazy_package_are_lazy_and_do_not_load_it(folder: Folder) -> None:
    folder.write("lately/__init__", "A = 1")
    folder.write("lately/inner", "B = 2")
    inner = folder.import_module("lately.inner")
    assert EXECUTED == []
    assert inner.B == 2
    assert EXECUTED == ["lately/inner"]
    assert sys.modules["lately"].A == 1


def test_module_that_fails_to_load_raises_at_every_access(folder: Folder) -> None:
    folder.write("lately", "A = 1 / 0")
    module = folder.import_module("lately")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ = module.A


def test_access_during_another_threads_load_waits_for_the_whole_module(folder: Folder) -> None:
    this = f"modules[{__name__!r}]"
    folder.write("lately", f"A = 1\n{this}.STARTED.set()\n{this}.MAY_END.wait(10)\nB = A + 1")
    module = folder.import_module("lately")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: module.B)
        assert STARTED.wait(10)
        second = pool.submit(lambda: module.B)
        wait([second], timeout=0.1)  # it would have ended by now if it did not wait
        MAY_END.set()
        assert (first.result(10), second.result(10)) == (2, 2)
    assert EXECUTED == ["lately"]


def test_load_pending_loads_all_lazy_modules_and_their_imports(folder: Folder) -> None:
    folder.write("lately/__init__", "")
    folder.write("lately/one", "from lately import two")
    folder.write("lately/two", "A = 1")
    folder.import_module("lately.one")
    lazy_import.load_pending()
    assert sorted(EXECUTED) == ["lately/__init__", "lately/one", "lately/two"]


def test_load_pending_stops_on_request(folder: Folder) -> None:
    folder.write("lately", "")
    folder.import_module("lately")
    lazy_import.load_pending(lambda: True)
    assert EXECUTED == []

"""Each contract of .importlinter is broken by an import that it forbids, and no contract is broken without one."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


class Planted(NamedTuple):
    """An import, and the contracts that forbid it."""

    importer: str
    imported: str
    contracts: frozenset[str]


def planted(importer: str, imported: str, *contracts: str) -> Planted:
    return Planted(f"probate.{importer}", imported, frozenset(contracts))


PLANTED = [
    planted("api.names", "probate.gc.decide", "layers"),
    planted("http.acceptor", "probate.client.transport", "layers"),
    planted("lib.cron", "probate.settings", "layers", "lib-and-core"),
    planted("core.clock", "probate.api.status", "layers", "lib-and-core"),
    planted("controllers.nodes.node_health", "probate.controllers.storage.claim_binder", "layers", "controllers-independent"),
    planted("gc.decide", "probate.store.contract", "collector-independent"),
    planted("gc.cycles", "probate.gc.backends.store.store_backend", "collector-independent"),
    planted("client.transport", "probate.store.contract", "store-behind-the-server"),
    planted("controllers.lifecycle.event_ttl", "probate.store.keys", "store-behind-the-server"),
    planted("api.uids", "time", "pure"),
    planted("kinds.tables", "pathlib", "pure"),
    planted("server.authz.escalation", "probate.server.context", "context-of-request-handlers"),
    planted("store.sqlite.schema", "probate.store.etcd.write_slots", "engines-independent"),
    planted("server.request", "probate.store.sqlite.schema", "server-knows-no-engine"),
    planted("app.stores", "apsw", "sql-in-one-place"),
    planted("app.stores", "grpc", "etcd-in-one-place"),
]
CYCLES = {  # what `server-acyclic` covers, and two siblings in it that import each other
    "probate.server": ("bootstrap", "discovery"),
    "probate.kinds": ("batch", "networking"),
    "probate.api": ("quantities", "timestamps"),
    "probate.controllers": ("access", "namespaces"),
    "probate.gc": ("cycles", "forbidden"),
    "probate.store": ("keys", "retention"),
    "probate.http": ("fair_limit", "memory_limits"),
    "probate.lib": ("cron", "jsonpath"),
    "probate.tenants.view": ("name_converter", "namespace_selectors"),
    "probate.core": ("clock", "errors"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on the copy of the sources, which PYTHONPATH puts before the installed ones."""
    command = [str(LINT_IMPORTS), "--no-logo", "--no-cache"]
    environment = {"PYTHONPATH": str(folder / "src"), "COLUMNS": "1000"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def copy_sources(folder: Path) -> Path:
    shutil.copytree(ROOT / "src" / "probate", folder / "src" / "probate", ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    shutil.copy(ROOT / ".importlinter", folder)
    return folder


def plant(folder: Path, importer: str, imported: str) -> None:
    path = folder.joinpath("src", *importer.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert path.exists(), f"there is no {importer} any more: plant the import elsewhere"
    with path.open("a") as file:
        file.write(f"\nimport {imported}\n")


def contracts() -> dict[str, str]:
    """Returns the contracts' ids by their names."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    return {config[section]["name"]: section.rpartition(":")[2] for section in config.sections() if section != "importlinter"}


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What import-linter says about each contract, with all imports planted."""
    folder = copy_sources(tmp_path_factory.mktemp("planted"))
    assert lint(folder).returncode == 0, "the contracts are broken without a planted import"
    for one in PLANTED:
        plant(folder, one.importer, one.imported)
    for package, (first, second) in CYCLES.items():
        plant(folder, f"{package}.{first}", f"{package}.{second}")
        plant(folder, f"{package}.{second}", f"{package}.{first}")
    completed = lint(folder)
    assert completed.returncode == 1
    parts = re.split(r"^(.+)\n-+\n", completed.stdout.partition("\nBroken contracts\n")[2], flags=re.MULTILINE)[1:]
    ids = contracts()
    return {ids[name]: text for name, text in zip(parts[::2], parts[1::2], strict=True) if name in ids}


def test_every_contract_is_broken(sections: dict[str, str]) -> None:
    assert set(sections) == set(contracts().values()), "each contract needs an import in PLANTED that breaks it"
    assert {name for one in PLANTED for name in one.contracts} | {"server-acyclic"} == set(sections)


@pytest.mark.parametrize("one", PLANTED, ids=lambda one: f"{one.importer} imports {one.imported}")
def test_import_breaks_its_contracts(sections: dict[str, str], one: Planted) -> None:
    message = re.compile(rf"\b{re.escape(one.importer)} -> {re.escape(one.imported)} \(l\.\d+\)")
    assert {name for name, text in sections.items() if message.search(text)} >= one.contracts


@pytest.mark.parametrize("package", CYCLES)
def test_cycle_between_sub_packages_is_found(sections: dict[str, str], package: str) -> None:
    first, second = CYCLES[package]
    reported = sections["server-acyclic"].partition(f"No cycles are allowed in {package}.\n")[2].partition("No cycles")[0]
    assert f"- .{first} -> .{second} " in reported or f"- .{second} -> .{first} " in reported


def test_all_packages_are_covered() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    assert set(config["importlinter:contract:server-acyclic"]["ancestors"].split()) == set(CYCLES)

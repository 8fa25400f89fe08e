"""The documentation matches the program: options, defaults, limits, links."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import click

from probate.api import field_errors
from probate.api.crds import version_schemas, versions
from probate.api.ownership import OwnerState, UpdateStatus
from probate.api.selectors import requirements
from probate.api.serialization import yaml_documents
from probate.cli.serve import GROUPS, serve_command
from probate.controllers import registry
from probate.core.aio import large_work
from probate.gc import action_log
from probate.http import acceptor, connection, memory_limits, protocol
from probate.kinds.core.pods import container_limit
from probate.kinds.rbac import validation
from probate.lib import cron
from probate.lib.regexp import syntax
from probate.server import app, request_limits, routing
from probate.server.audit import deletion_causes, log_writer, request_bodies
from probate.server.authn import failure_limit, oidc
from probate.server.codec import negotiation, warning_headers
from probate.server.objects import list_cache
from probate.server.ownership_api import graph, graph_endpoint
from probate.server.verbs import watch
from probate.server.webhooks import conversion_review, https_client
from probate.settings import DEFAULT_MAX_CONNECTIONS, Settings
from probate.store.etcd.messages import LIMITS as ETCD
from probate.store.sqlite.store import LIMITS as SQLITE
from probate.store.watch_hub import WatchBuffer
from support.doc_tables import read_table

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
INSPECTION = (ROOT / "docs" / "inspection.md").read_text()
README = (ROOT / "README.md").read_text()


def row(start: str) -> list[str]:
    """Returns the cells of the table row that begins like this."""
    line = next(line for line in SETTINGS.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def size(text: str) -> int:
    number, _, unit = text.partition(" ")
    return int(float(number.replace(",", "")) * {"": 1, "bytes": 1, "KiB": 1024, "MiB": 1024 * 1024}[unit])


def test_every_setting_and_option_is_documented_with_its_default() -> None:
    options = {option.name: option for option in serve_command.params if isinstance(option, click.Option)}
    assert set(options) == {field.name for field in fields(Settings)}
    for name, option in options.items():
        option_name = f"--{name.replace('_', '-')}"
        cells = row(f"`{option_name}`" if option.is_flag else f"`{option_name} ")
        default = option.show_default if isinstance(option.show_default, str) else option.default
        if option.is_flag:
            assert cells[1:3] == [f"`{name}`", "off"]
            continue
        assert cells[1:3] == [f"`{name}`", f"`{default}`"]


def test_every_option_is_documented_in_its_group_with_the_words_of_its_help() -> None:
    for group in GROUPS:
        section = SETTINGS.split(f"\n## {group.title}\n")[1].split("\n## ")[0]
        for option in group.options:
            [line] = [line for line in section.splitlines() if line.startswith(f"| `{option.opts[0]}")]
            meaning = line.replace("`", "").replace('"', "").split(" | ")[3]
            assert option.help is not None
            assert meaning.startswith(option.help.replace("`", "").replace('"', "").rstrip(".")), option.name


def test_every_option_has_a_group() -> None:
    grouped = [option for group in GROUPS for option in group.options]
    assert len(grouped) == len(set(grouped)) == len(serve_command.params)


def test_every_controller_is_documented() -> None:
    rows = [tuple(cell.strip("`") for cell in cells) for cells in read_table("settings.md", "controller")]
    in_every_server = {*registry.BULK_CONTROLLERS, *registry.EVERY_SERVER_CONTROLLERS}
    places = ["every server" if row.name in in_every_server else "the leader" for row in registry.CONTROLLERS]
    expected = [(row.name, place, row.alias) for row, place in zip(registry.CONTROLLERS, places, strict=True)]
    assert rows == expected, "docs/settings.md, Controller names: a row for each controller, in the order of the registry"


def test_every_limit_of_the_engines_is_documented() -> None:
    assert [size(cell) for cell in row("a key")[1:]] == [SQLITE.key_bytes, ETCD.key_bytes]
    assert [size(cell) for cell in row("an object's value")[1:]] == [SQLITE.value_bytes, ETCD.value_bytes]
    assert [size(cell) for cell in row("index entries")[1:]] == [SQLITE.entries, ETCD.entries]
    assert [size(cell) for cell in row("guards")[1:]] == [SQLITE.guards, ETCD.guards]
    assert [size(cell) for cell in row("records of one page")[1:]] == [SQLITE.page_size, ETCD.page_size]
    assert f"{WatchBuffer().events:,} changes or {WatchBuffer().value_bytes // 1024**2} MiB" in row("events that a watcher")[1]


def test_every_limit_on_requests_and_connections_is_documented() -> None:
    assert [size(cell) for cell in row("a request's body")[1:]] == [app.MAX_BODY_BYTES] * 2
    assert [size(cell) for cell in row("the request line")[1:]] == [connection.MAX_HEADERS_BYTES] * 2
    assert f"counts {connection.HEADER_OVERHEAD_BYTES} bytes more" in row("the request line")[0]
    assert [size(cell) for cell in row("a URL")[1:]] == [connection.MAX_URL_BYTES] * 2
    assert row("how long a connection")[1:] == [f"{connection.IDLE_SECONDS} s"] * 2
    assert [size(cell) for cell in row("concurrent requests, or")[1:]] == [request_limits.MAX_IN_FLIGHT] * 2
    assert [size(cell) for cell in row("open connections")[1:]] == [DEFAULT_MAX_CONNECTIONS] * 2
    reserve = request_limits.reserved_connections(DEFAULT_MAX_CONNECTIONS)
    shared = DEFAULT_MAX_CONNECTIONS - 2 * reserve
    assert [size(cell) for cell in row("additional requests of administrators")[1:]] == [
        request_limits.EXTRA_ADMINISTRATOR_REQUESTS
    ] * 2
    assert [size(cell) for cell in row("concurrent requests of one user")[1:]] == [request_limits.MAX_IN_FLIGHT * 2 // 3] * 2
    assert [size(cell) for cell in row("concurrent long-running requests")[1:]] == [shared] * 2
    assert [size(cell) for cell in row("long-running requests of one user")[1:]] == [shared * 2 // 3] * 2
    assert [size(cell) for cell in row("the first reserve")[1:]] == [reserve] * 2
    assert [size(cell) for cell in row("the second reserve")[1:]] == [reserve] * 2
    assert request_limits.FAIR_SHARE_FACTOR == 2
    assert [size(cell) for cell in row("requests that wait for the keys")[1:]] == [oidc.MAX_WAITING] * 2
    assert [size(cell) for cell in row("connections from one address")[1:]] == [DEFAULT_MAX_CONNECTIONS * 9 // 10] * 2
    assert acceptor.ADDRESS_FACTOR == 9
    assert row("failures of one wrong credential")[1:] == [f"{failure_limit.BURST}; {failure_limit.SECONDS_PER_FAILURE} s"] * 2
    assert row("the longest Retry-After")[1:] == [f"{failure_limit.MAX_RETRY_AFTER_SECONDS:g} s"] * 2
    assert f"{acceptor.RESERVED_DESCRIPTORS} are kept for everything else" in " ".join(row("`--max-connections"))
    assert [size(cell) for cell in row("connections whose handshake")[1:]] == [acceptor.MAX_HANDSHAKES] * 2
    assert row("the duration of a handshake")[1:] == [f"{acceptor.HANDSHAKE_SECONDS:g} s"] * 2
    assert [size(cell) for cell in row("pipelined requests")[1:]] == [protocol.MAX_PIPELINED] * 2
    assert f"over {memory_limits.UNCOUNTED_BYTES // 1024} KiB" in row("request bodies over")[0]
    assert [size(cell) for cell in row("request bodies over")[1:]] == [memory_limits.MAX_BODIES_MEMORY] * 2
    assert [size(cell) for cell in row("incomplete request headers over")[1:]] == [memory_limits.MAX_HEADERS_MEMORY] * 2
    assert (
        size(row("selectors of watches")[1].removesuffix(" characters"))
        == memory_limits.MAX_SELECTORS_MEMORY // watch.BYTES_PER_SELECTOR_CHARACTER // 100_000 * 100_000
    )
    assert [size(cell) for cell in row("responses that clients have not read")[1:]] == [memory_limits.MAX_UNREAD_MEMORY] * 2
    assert [size(cell) for cell in row("concurrent reads of lists over 2 MiB")[1:]] == [list_cache.MAX_LARGE] * 2
    assert list_cache.LARGE_BYTES == 2 * 1024**2
    assert [size(cell) for cell in row("concurrent requests to one webhook server")[1:]] == [https_client.MAX_AT_ONCE] * 2
    assert [size(cell) for cell in row("objects of one conversion")[1:]] == [conversion_review.MAX_OBJECTS] * 2
    assert [size(cell) for cell in row("the response of a webhook")[1:]] == [https_client.MAX_ANSWER_BYTES] * 2
    assert [size(cell) for cell in row("warnings of one response")[1:]] == [warning_headers.MAX_WARNINGS] * 2
    assert [size(cell) for cell in row("characters of all warnings")[1:]] == [warning_headers.MAX_TOTAL] * 2
    assert [size(cell) for cell in row("lists and objects in a body")[1:]] == [yaml_documents.MAX_PARTS] * 2
    assert row("the nesting depth of a body")[1:] == [f"{yaml_documents.MAX_DEPTH} levels"] * 2
    assert [size(cell) for cell in row("reported field errors of one object")[1:]] == [field_errors.MAX_FIELD_ERRORS] * 2
    assert [size(cell) for cell in row("requirements of a selector")[1:]] == [requirements.MAX_REQUIREMENTS] * 2
    assert [size(cell) for cell in row("versions of a CustomResourceDefinition")[1:]] == [
        versions.MAX_VERSIONS,
        versions.MAX_COLUMNS,
    ]
    assert [size(cell) for cell in row("a pattern in a schema")[1:]] == [syntax.MAX_SIZE] * 2
    assert [size(cell) for cell in row("work to validate one object")[1:]] == [large_work.MAX_STEPS] * 2


def test_every_limit_on_parsed_values_is_documented() -> None:
    assert [size(cell) for cell in row("schemas of a CustomResourceDefinition")[1:]] == [version_schemas.MAX_SCHEMAS] * 2
    assert [size(cell) for cell in row("selectors of an aggregated ClusterRole")[1:]] == [validation.MAX_SELECTORS] * 2
    assert [size(cell) for cell in row("containers of a pod")[1:]] == [container_limit.MAX_CONTAINERS] * 2
    assert row("the schedule of a CronJob")[1:] == [f"{cron.MAX_LENGTH:,} characters; {cron.MAX_ZONE_LENGTH}"] * 2
    assert [size(cell) for cell in row("an `Accept` header")[1:]] == [negotiation.MAX_BYTES] * 2


def test_every_limit_of_the_audit_log_is_documented() -> None:
    audit = (ROOT / "docs" / "audit.md").read_text()
    assert f"The last {deletion_causes.MAX_RECORDS:,} deletions" in audit
    assert f"the nearest {deletion_causes.MAX_NEAREST_STEPS} deletions" in audit
    assert row("unwritten events of the audit log")[1] == f"{log_writer.MAX_EVENTS:,}, or {log_writer.MAX_BYTES // 1024**2} MiB"
    assert [size(cell) for cell in row("a body in the audit log")[1:]] == [request_bodies.MAX_BYTES] * 2
    assert [size(cell) for cell in row("a body in YAML in the audit log")[1:]] == [request_bodies.MAX_YAML_BYTES] * 2


def test_every_limit_of_the_graph_is_documented() -> None:
    assert f"It shows {graph_endpoint.LIMIT} objects, or as many as `limit` says, up to {graph_endpoint.MAX_LIMIT:,}" in INSPECTION
    assert f"`uid` (up to {graph.MAX_UIDS} of them)" in INSPECTION
    assert f"among the first {graph.MAX_SCANNED:,} objects" in INSPECTION


def test_every_question_standing_and_message_is_documented() -> None:
    for path in routing.PROBATE_PATHS:
        assert path in INSPECTION
    for message in {*action_log.MESSAGES.values()} - {action_log.MESSAGES[UpdateStatus]}:
        assert f"| `{message}` |" in INSPECTION
    for standing in OwnerState:
        assert f"`{standing.value}`" in INSPECTION


def test_every_make_target_named_in_the_readme_exists() -> None:
    named = set(re.findall(r"(?:^|`|\$ )make ([a-z-]+)", README, re.MULTILINE))
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"run", "test", "check", "bench"} <= named <= made


def test_every_file_linked_from_the_documentation_exists() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document} links to {target}"


def test_every_dependency_is_explained_in_the_readme() -> None:
    block = (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
    parts = README.split("### Dependencies")[1]
    for name in re.findall(r'"([a-z]+)', block):
        assert name in parts

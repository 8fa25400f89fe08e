"""`probate tenant …` against a server with prepared answers: output, exit codes, and what counts as deleted."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from probate.cli import main
from probate.cli.context import CommandContext, StoreCheck
from probate.core import errors
from support.scripted_api_server import Answer, CommandTime, ScriptedApiServer, failure

ID, UID = "team-a", "0a2f"
PATH = f"/apis/tenant.kubezoo.io/v1alpha1/tenants/{ID}"
ABSENT = failure(404, "NotFound", f'tenants.tenant.kubezoo.io "{ID}" not found', name=ID, kind="tenants", group="tenant.kubezoo.io")
BROKEN = Answer(200, None)
Run = Callable[..., Result]


def tenant(*, deleting: bool = False, uid: str = UID, **status: Any) -> dict[str, Any]:
    meta = {"name": ID, "uid": uid, "resourceVersion": "7", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {})}
    return {"kind": "Tenant", "metadata": meta, "status": status}


def found(**status: Any) -> Answer:
    return Answer(200, tenant(**status))


def watched(*events: tuple[str, dict[str, Any]]) -> Answer:
    return Answer(200, [{"type": type_, "object": object_} for type_, object_ in events])


@pytest.fixture
def clock() -> CommandTime:
    return CommandTime()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ScriptedApiServer]]:
    """Starts a server with these answers, and writes the kubeconfig that `run` uses."""
    with ExitStack() as running:

        def start_one(*answers: Answer) -> ScriptedApiServer:
            server = running.enter_context(ScriptedApiServer(*answers).running())
            config = {
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": {"token": "secret"}}],
            }
            (tmp_path / "config").write_text(json.dumps(config))
            return server

        yield start_one


@pytest.fixture
def run(tmp_path: Path, clock: CommandTime) -> Run:
    def run_one(*arguments: str, stdin: str | None = None) -> Result:
        def check(_: str) -> StoreCheck:
            raise AssertionError("not a store command")

        context = CommandContext(lambda _: None, check, clock)
        command = ["tenant", *arguments, "--kubeconfig", str(tmp_path / "config")]
        return CliRunner().invoke(main.probate, command, obj=context, input=stdin)

    return run_one


class TestCreate:
    """`probate tenant create`."""

    def test_waits_until_the_tenant_is_active(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(Answer(201, tenant()), found(phase="Pending"), watched(("MODIFIED", tenant(phase="Active"))))
        result = run("create", ID)
        assert (result.exit_code, result.stdout) == (0, f"tenant {ID} created\n")
        created = server.requests[0]
        assert (created.method, created.path) == ("POST", "/apis/tenant.kubezoo.io/v1alpha1/tenants")
        assert created.body == {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "Tenant", "metadata": {"name": ID}}
        assert created.headers["Authorization"] == "Bearer secret"

    def test_errors_while_it_waits_are_not_the_end(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(Answer(201, tenant()), BROKEN, failure(503, "ServiceUnavailable", "not now"), found(phase="Active"))
        assert run("create", ID).exit_code == 0

    def test_tenant_that_is_not_active_in_time_is_a_failure_with_its_reason(
        self, start: Callable[..., ScriptedApiServer], run: Run
    ) -> None:
        ready = {"type": "Ready", "status": "False", "reason": "ProvisioningFailed", "message": "no space"}
        start(Answer(201, tenant()), found(phase="Pending", conditions=[ready]))
        result = run("create", ID, "--timeout", "20s")
        assert isinstance(result.exception, errors.CannotOpen)
        assert str(result.exception) == f"the tenant {ID} was created, but is not Active after 20 s: no space"

    def test_tenant_that_exists(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(failure(409, "AlreadyExists", "x"))
        assert str(run("create", ID).exception).startswith(f"the tenant {ID} exists already")

    def test_refused_id(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(failure(422, "Invalid", "its names are taken"))
        assert str(run("create", ID).exception) == "its names are taken"

    def test_kubeconfig_is_written_for_its_owner_only(
        self, start: Callable[..., ScriptedApiServer], run: Run, tmp_path: Path
    ) -> None:
        server = start(Answer(201, tenant()), found(phase="Active"), Answer(201, {"status": {"kubeconfig": "apiVersion: v1\n"}}))
        path = tmp_path / "team.kubeconfig"
        path.write_text("old")
        path.chmod(0o644)
        result = run("create", ID, "-o", str(path))
        assert result.exit_code == 0, result.output
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("apiVersion: v1\n", 0o600)
        assert (server.requests[-1].method, server.requests[-1].path) == ("POST", f"{PATH}/kubeconfig")

    @pytest.mark.parametrize("name", ["team", "Team-a", "-teama", "teama-", "team-a/../x"])
    def test_invalid_id_is_refused(self, run: Run, name: str) -> None:
        result = run("create", "--", name) if name.startswith("-") else run("create", name)
        assert result.exit_code == 2


class TestList:
    """`probate tenant list`."""

    def test_columns_are_the_servers(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        columns = [{"name": "Name", "priority": 0}, {"name": "Phase", "priority": 0}, {"name": "More", "priority": 1}]
        server = start(Answer(200, {"columnDefinitions": columns, "rows": [{"cells": [ID, "Active", "x"]}]}))
        assert run("list").stdout == "NAME    PHASE\nteam-a  Active\n"
        assert "as=Table" in server.requests[0].headers["Accept"]

    def test_no_tenants(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(Answer(200, {"columnDefinitions": [], "rows": []}))
        result = run("list")
        assert (result.exit_code, result.stdout) == (0, "")
        assert "there are no tenants" in result.stderr


class TestKubeconfig:
    """`probate tenant kubeconfig`."""

    def test_order_names_user_groups_and_duration(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(Answer(201, {"status": {"kubeconfig": "apiVersion: v1\n"}}))
        result = run("kubeconfig", ID, "--user", "ann", "--group", "a", "--group", "b", "--duration", "8h")
        assert result.stdout == "apiVersion: v1\n"
        assert server.requests[0].body["spec"] == {"user": "ann", "groups": ["a", "b"], "expirationSeconds": 28800}

    def test_file_that_cannot_be_written_is_an_error(
        self, start: Callable[..., ScriptedApiServer], run: Run, tmp_path: Path
    ) -> None:
        start(Answer(201, {"status": {"kubeconfig": "x"}}))
        result = run("kubeconfig", ID, "-o", str(tmp_path / "none" / "file"))
        assert isinstance(result.exception, errors.CannotOpen)
        assert "Give another file with -o" in str(result.exception)


class TestDelete:
    """`probate tenant delete`."""

    def test_needs_confirmation(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(found(phase="Active"))
        result = run("delete", ID)
        assert isinstance(result.exception, errors.CannotOpen)
        assert "Give --yes" in str(result.exception)
        assert [request.method for request in server.requests] == ["GET"]

    def test_deletes_this_tenant_and_no_other_of_its_name(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(found(phase="Active"), found(deleting=True))
        result = run("delete", ID, "--yes")
        assert (result.exit_code, result.stdout) == (0, f"tenant {ID} is being deleted\n")
        assert (server.requests[1].method, server.requests[1].body) == ("DELETE", {"preconditions": {"uid": UID}})

    def test_absent_tenant_is_an_error(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(ABSENT)
        assert str(run("delete", ID, "--yes", "--wait").exception).startswith(f"there is no tenant {ID}")

    @pytest.mark.parametrize(
        "end",
        [
            ABSENT,
            found(uid="another"),
            watched(("DELETED", tenant(deleting=True))),
        ],
    )
    def test_wait_ends_when_the_server_says_that_it_is_gone(
        self, start: Callable[..., ScriptedApiServer], run: Run, end: Answer
    ) -> None:
        answers = [found(phase="Active"), found(deleting=True)]
        start(*answers, *([found(deleting=True)] if isinstance(end.body, list) else []), end)
        result = run("delete", ID, "--yes", "--wait")
        assert (result.exit_code, result.stdout) == (0, f"tenant {ID} deleted\n")

    @pytest.mark.parametrize(
        "answer",
        [
            BROKEN,
            failure(401, "Unauthorized", "Unauthorized"),
            failure(403, "Forbidden", "no"),
            failure(404, "", "404 page not found"),
            failure(404, "NotFound", "the server could not find the requested resource"),
            failure(404, "NotFound", "another", name="team-b", kind="tenants", group="tenant.kubezoo.io"),
            failure(410, "Expired", "too old"),
            failure(500, "InternalError", "what"),
            Answer(404, "<html>not here</html>"),
            Answer(200, "not JSON"),
        ],
    )
    def test_every_other_answer_means_that_it_is_not_known(
        self, start: Callable[..., ScriptedApiServer], run: Run, clock: CommandTime, answer: Answer
    ) -> None:
        start(found(phase="Active"), found(deleting=True), answer)
        result = run("delete", ID, "--yes", "--wait", "--timeout", "1m")
        assert isinstance(result.exception, errors.CannotOpen)
        assert "is not gone after 60 s" in str(result.exception)
        assert sum(clock.sleeps) == 60
        assert "not known at the moment" in result.stderr

    def test_lost_answer_to_the_deletion_is_asked_for_again(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(found(), BROKEN, found(), failure(503, "ServiceUnavailable", ""), watched(), found(), found(), ABSENT)
        result = run("delete", ID, "--yes", "--wait")
        assert result.exit_code == 0, result.exception
        assert [request.method for request in server.requests].count("DELETE") == 3

    def test_refused_deletion_ends_the_command(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(found(), failure(403, "Forbidden", "spec.preventDeletion is true"))
        assert str(run("delete", ID, "--yes", "--wait").exception) == "spec.preventDeletion is true"

    def test_progress_says_what_is_removed_and_what_it_waits_for(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        states = [
            tenant(deleting=True, phase="Active"),
            tenant(deleting=True, phase="Terminating", objects=10, waitingFor="pods"),
            tenant(deleting=True, phase="Terminating", objects=4, waitingFor="2 pods"),
        ]
        answers = [answer for state in states for answer in (Answer(200, state), *[BROKEN] * 5)]
        start(found(phase="Active"), found(deleting=True), *answers, ABSENT)
        result = run("delete", ID, "--yes", "--wait")
        assert [line for line in result.stderr.splitlines() if "not known" not in line] == [
            f"tenant {ID}: counting its objects",
            f"tenant {ID}: 0 of 10 objects removed, waiting for pods",
            f"tenant {ID}: 6 of 10 objects removed, waiting for 2 pods",
        ]

    def test_progress_shows_at_once_that_the_deletion_waits(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        """No time passes between these states."""
        waiting: dict[str, Any] = {"deleting": True, "phase": "Terminating", "objects": 10}
        seen = [tenant(**waiting), *(tenant(**waiting, waitingFor=f"{number} pods") for number in (2, 1))]
        start(
            found(phase="Active"), found(deleting=True), found(deleting=True), watched(*(("MODIFIED", one) for one in seen)), ABSENT
        )
        result = run("delete", ID, "--yes", "--wait")
        assert result.stderr.splitlines() == [
            f"tenant {ID}: counting its objects",
            f"tenant {ID}: 0 of 10 objects removed, waiting for 2 pods",
        ]


class TestVerify:
    """`probate tenant verify`."""

    CLEAN: ClassVar = {"revision": 9, "tenant": ID, "rows": 3, "entries": 3, "findings": []}
    FINDINGS: ClassVar = [{"key": "objects/pods/team-a-web/p", "finding": "NoEntry", "message": "no index entry"}]

    def test_nothing_found(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        server = start(Answer(200, self.CLEAN))
        result = run("verify", ID)
        assert (result.exit_code, result.stdout) == (
            0,
            f"tenant {ID}: nothing found in 3 objects and 3 index entries at revision 9\n",
        )
        assert server.requests[0].path == f"/debug/tenants?tenant={ID}"

    def test_findings_are_a_table_and_exit_code_1(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(Answer(200, {**self.CLEAN, "findings": self.FINDINGS}))
        result = run("verify", "--all")
        assert result.exit_code == 1
        assert result.stdout.splitlines() == [
            "FINDING  KEY                        MESSAGE",
            "NoEntry  objects/pods/team-a-web/p  no index entry",
            "all tenants: 1 found in 3 objects and 3 index entries at revision 9",
        ]

    def test_report_as_json(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(Answer(200, self.CLEAN))
        assert json.loads(run("verify", ID, "-o", "json").stdout) == self.CLEAN

    @pytest.mark.parametrize("answer", [BROKEN, failure(403, "Forbidden", "no"), failure(404, "", "404 page not found")])
    def test_server_that_cannot_look_is_exit_code_2(
        self, start: Callable[..., ScriptedApiServer], run: Run, answer: Answer
    ) -> None:
        start(answer)
        result = run("verify", ID)
        assert (result.exit_code, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1

    @pytest.mark.parametrize(
        ("erased", "code", "state"), [(True, 0, "erased"), (False, 1, "not erased"), (None, 2, "not known whether erased")]
    )
    def test_history_decides_with_erased(
        self, start: Callable[..., ScriptedApiServer], run: Run, erased: bool | None, code: int, state: str
    ) -> None:
        history = {"begins": 5, "removed": 0, "erased": erased, "message": "that is why"}
        server = start(Answer(200, {**self.CLEAN, "history": history}))
        result = run("verify", ID, "--erased")
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (code, f"tenant {ID}: {state}: that is why")
        assert server.requests[0].path == f"/debug/tenants?tenant={ID}&history=true"

    def test_findings_are_more_than_an_erased_history(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        history = {"begins": 5, "removed": 0, "erased": None, "message": "x"}
        start(Answer(200, {**self.CLEAN, "findings": self.FINDINGS, "history": history}))
        assert run("verify", ID, "--erased").exit_code == 1

    def test_server_that_does_not_look_at_history_is_exit_code_2(self, start: Callable[..., ScriptedApiServer], run: Run) -> None:
        start(Answer(200, self.CLEAN))
        result = run("verify", ID, "--erased")
        assert (result.exit_code, result.stdout) == (2, "")

    @pytest.mark.parametrize("arguments", [(), (ID, "--all"), ("--all", "--erased")])
    def test_either_one_tenant_or_all(self, run: Run, arguments: tuple[str, ...]) -> None:
        assert run("verify", *arguments).exit_code == 2

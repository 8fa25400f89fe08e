"""Options and annotations take the same durations."""

from __future__ import annotations

import click
import pytest

from probate.cli.serve import serve_command
from probate.controllers.simulated_nodes import pod_behavior
from probate.settings import Settings

FORMS = {
    "200ms": 0.2,
    "90s": 90,
    "1.5h": 5400,
    "1h30m": 5400,
    "3d12h": 302_400,
    "7d": 604_800,
    "2h45m30.5s": 9930.5,
    "250us": 0.00025,
    "0s": 0,
    "0": 0,
    " 5s ": 5,
}
WRONG = ("", "s", "5x", "-5s", "1h 30m", "1h30", "٣s", "1e3s", "99999999d", "9" * 200 + "s", "forever", "5S", "nan", "inf")
FLAGS = ("history", "patience", "event_ttl", "node_monitor_grace_period", "pod_start_delay")


def by_flag(name: str, text: str) -> float:
    [option] = [one for one in serve_command.params if one.name == name]
    found: float = option.type.convert(text, option, click.Context(serve_command))
    return found


def by_annotation(name: str, text: str) -> float | None:
    pod = {"metadata": {"annotations": {f"probate.dev/{name}": text}}, "spec": {"containers": []}}
    found: float | None = getattr(
        pod_behavior.behavior_of(pod, Settings(pod_start_delay=77, pod_stop_delay=77)), name.removesuffix("-delay")
    )
    return found


@pytest.mark.parametrize("text", ["3", "24", "0.5", " 7 "])
def test_number_without_a_unit_is_in_seconds_in_an_annotation_and_refused_in_a_flag(text: str) -> None:
    assert by_annotation("start-delay", text) == float(text)
    with pytest.raises(click.BadParameter):
        by_flag("history", text)


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize(("text", "seconds"), FORMS.items())
def test_flag_takes_every_form_of_duration(flag: str, text: str, seconds: float) -> None:
    assert by_flag(flag, text) == pytest.approx(seconds)


@pytest.mark.parametrize("name", ["start-delay", "stop-delay", "duration"])
@pytest.mark.parametrize(("text", "seconds"), FORMS.items())
def test_annotation_takes_every_form_of_duration(name: str, text: str, seconds: float) -> None:
    assert by_annotation(name, text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", WRONG)
def test_flag_refuses_what_is_not_a_duration_and_says_what_is(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a duration\. Give numbers with units, such as 200ms, 90s, 1h30m, 3d12h"):
        by_flag("history", text)


@pytest.mark.parametrize("text", WRONG)
def test_annotation_that_is_not_a_duration_counts_as_not_given(text: str) -> None:
    assert by_annotation("start-delay", text) == 77

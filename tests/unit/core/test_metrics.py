"""Metrics: what is counted is rendered, and no metric grows without bound."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from probate.core import metrics
from probate.core.metrics import Registry
from probate.server.diagnostics import metrics_endpoint


def rendered(registry: Registry) -> dict[tuple[str, tuple[str, ...]], float]:
    families = text_string_to_metric_families(metrics_endpoint.render(registry.gather(), "").text.decode())
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_every_metric_type_is_rendered() -> None:
    registry, queue = Registry(), [1, 2, 3]
    deletions = registry.counter("t_deletions", "What was deleted.", ("resource",))
    deletions["pods",] += 1
    deletions["pods",] += 2
    deletions['od"d\n',] += 1
    waits = registry.histogram("t_wait_seconds", "Waits.", ("policy",), bounds=(0.1, 1))
    for seconds in (0.05, 0.1, 0.5, 7):
        waits.observe(("Foreground",), seconds)
    registry.gauge("t_queue", "Waiting.", lambda: len(queue))
    registry.gauges("t_oldest", "Oldest.", ("kind",), read=lambda: {("pods",): 1.5})
    samples = rendered(registry)
    assert samples["t_deletions_total", ("pods",)] == 3
    assert samples["t_deletions_total", ('od"d\n',)] == 1
    assert [samples["t_wait_seconds_bucket", (bound, "Foreground")] for bound in ("0.1", "1.0", "+Inf")] == [2, 3, 4]
    assert samples["t_wait_seconds_sum", ("Foreground",)] == pytest.approx(7.65)
    assert samples["t_queue", ()] == 3
    assert samples["t_oldest", ("pods",)] == 1.5
    queue.clear()
    assert rendered(registry)["t_queue", ()] == 0


def test_metric_with_too_many_label_values_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_SERIES", 10)
    registry = Registry()
    counter = registry.counter("t_many", "Many.", ("name",))
    histogram = registry.histogram("t_long", "Long.", ("name",), bounds=(1,))
    for number in range(1000):
        counter[number,] += 1
        histogram.observe((number,), 1)
    assert 0 < len(counter) <= 10
    assert 0 < len(histogram) <= 10


def test_gathered_metrics_are_a_copy() -> None:
    registry = Registry()
    counter = registry.counter("t_moment", "Moment.")
    counter[()] += 1
    gathered = registry.gather()
    counter[()] += 1
    assert gathered[0].values == {(): 1}


def test_sources_with_the_same_name_are_one_metric() -> None:
    registry = Registry()
    registry.gauges("t_length", "Length.", ("part",), read=lambda: {("here",): 4})
    registry.gauges("t_length", "Length.", ("part",), read=lambda: {("there",): 5})
    text = metrics_endpoint.render(registry.gather(), "").text.decode()
    assert text.count("# TYPE t_length gauge") == 1
    assert rendered(registry)["t_length", ("here",)] == 4
    assert rendered(registry)["t_length", ("there",)] == 5

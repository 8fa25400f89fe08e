"""Renders metrics in Prometheus' formats with the prometheus_client library, which handles formats and escaping.

The library is imported on the first request to `/metrics`: importing it takes a considerable part of the server's startup time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from probate.core.metrics import Family

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class Page(NamedTuple):
    """The body of a response, and its content type."""

    text: bytes
    content_type: str


def render(families: Sequence[Family], accept: str) -> Page:
    """Renders these metrics and those of the process, in the format that the client accepts. May run on any thread."""
    from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, exposition  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(_Collected(families))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    encode, content_type = exposition.choose_encoder(accept)
    return Page(encode(registry), content_type)


class _Collected:
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return map(_metric, self._families)


def _metric(family: Family) -> Metric:
    from prometheus_client import core  # noqa: PLC0415

    if family.kind == "histogram":
        histogram = core.HistogramMetricFamily(family.name, family.help, labels=family.labels)
        bounds = [*map(str, map(float, family.bounds)), "+Inf"]
        for labels, (total, under) in family.histograms.items():
            histogram.add_metric([*map(str, labels)], list(zip(bounds, under, strict=True)), total)
        return histogram
    family_type = core.CounterMetricFamily if family.kind == "counter" else core.GaugeMetricFamily
    rendered: Metric = family_type(family.name, family.help, labels=family.labels)
    for labels, value in family.values.items():
        rendered.add_metric([*map(str, labels)], value)  # type: ignore[attr-defined]
    return rendered

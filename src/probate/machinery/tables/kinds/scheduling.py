"""What decides which pods run and which must go: priority classes and disruption budgets."""

from __future__ import annotations

from typing import Any

from probate.machinery.tables import ages, fields
from probate.machinery.tables.columns import AGE, NAME, Object, Printer, boolean, integer, text

_NOT_ASKED = "N/A"


def _priority_class(class_: Object, now: float) -> list[Any]:
    return [
        fields.name(class_),
        fields.number(class_, "value"),
        fields.boolean(class_, "globalDefault"),
        ages.of(class_, now),
        fields.text(class_, "preemptionPolicy"),
    ]


def _pod_disruption_budget(budget: Object, now: float) -> list[Any]:
    return [
        fields.name(budget),
        fields.scalar(budget, "spec", "minAvailable", default=_NOT_ASKED),
        fields.scalar(budget, "spec", "maxUnavailable", default=_NOT_ASKED),
        fields.number(budget, "status", "disruptionsAllowed"),
        ages.of(budget, now),
    ]


PRINTERS = {
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        (
            NAME,
            integer("Value", "The priority: the higher, the sooner."),
            boolean("Global-Default", "Whether pods that name no class are of this one."),
            AGE,
            text("PreemptionPolicy", "Whether pods of this class may push others out."),
        ),
        _priority_class,
    ),
    ("policy", "poddisruptionbudgets"): Printer(
        (
            NAME,
            text("Min Available", "How many pods must stay available."),
            text("Max Unavailable", "How many pods may be unavailable."),
            integer("Allowed Disruptions", "How many pods may be evicted now."),
            AGE,
        ),
        _pod_disruption_budget,
    ),
}

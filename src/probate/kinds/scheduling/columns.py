"""Table columns of PriorityClasses and PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, boolean, integer, text

_NOT_ASKED = "N/A"


def _priority_class(class_: Object, now: float) -> list[Any]:
    return [
        object_fields.name(class_),
        object_fields.number(class_, "value"),
        object_fields.boolean(class_, "globalDefault"),
        ages.object_age(class_, now),
        object_fields.text(class_, "preemptionPolicy"),
    ]


def _pod_disruption_budget(budget: Object, now: float) -> list[Any]:
    return [
        object_fields.name(budget),
        object_fields.scalar(budget, "spec", "minAvailable", default=_NOT_ASKED),
        object_fields.scalar(budget, "spec", "maxUnavailable", default=_NOT_ASKED),
        object_fields.number(budget, "status", "disruptionsAllowed"),
        ages.object_age(budget, now),
    ]


PRINTERS = {
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        (
            NAME,
            integer("Value", "The priority: pods with higher values are scheduled first."),
            boolean("Global-Default", "Whether this is the default class of pods that name none."),
            AGE,
            text("PreemptionPolicy", "Whether pods of this class can preempt others."),
        ),
        _priority_class,
    ),
    ("policy", "poddisruptionbudgets"): Printer(
        (
            NAME,
            text("Min Available", "The number of pods that must stay available."),
            text("Max Unavailable", "The number of pods that may be unavailable."),
            integer("Allowed Disruptions", "The number of pods that may be evicted now."),
            AGE,
        ),
        _pod_disruption_budget,
    ),
}

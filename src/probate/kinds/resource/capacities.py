"""Validates how much of a shared device can be requested: one of several amounts, or an amount in a range, by steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, required, too_many
from probate.api.quantities import value_or_zero
from probate.kinds.shared.field_checks import Problems, Value, child, items

MAX_AMOUNTS = 10


def check_capacity(capacity: Value, path: FieldPath) -> Problems:
    """Validates a capacity of a device that several requests may share."""
    policy, here = child(capacity, "requestPolicy"), path / "requestPolicy"
    most, amounts = value_or_zero(capacity.get("value") or 0), items(policy, "validValues")
    if amounts and policy.get("validRange") is not None:
        yield forbidden(here, "validValues and validRange cannot be specified at the same time")
    elif (amounts or policy.get("validRange") is not None) and policy.get("default") is None:
        yield required(here / "default", "required when validValues or validRange is defined")
    elif amounts:
        yield from _check_amounts(amounts, policy["default"], most, path=here / "validValues")
    elif policy.get("validRange") is not None:
        yield from _check_range(child(policy, "validRange"), policy["default"], most, path=here / "validRange")


def check_whole(capacity: Value, path: FieldPath) -> Problems:
    """Validates a capacity of a device that one request has alone."""
    if capacity.get("requestPolicy") is not None:
        yield forbidden(path / "requestPolicy", "allowMultipleAllocations must be true")


def _check_amounts(written: list[Any], default: Any, most: Fraction, *, path: FieldPath) -> Problems:
    amounts = [value_or_zero(one or 0) for one in written]
    for index in range(1, len(amounts)):
        if amounts[index] < amounts[index - 1]:
            yield invalid(path / index, written[index], "values must be sorted in ascending order")
    if len(amounts) > MAX_AMOUNTS:
        yield too_many(path, len(amounts), MAX_AMOUNTS)
        return
    for index, amount in enumerate(amounts):
        if amount > most:
            yield invalid(path / index, written[index], "is larger than the capacity")
        if amount in amounts[:index]:
            yield duplicate(path / index, written[index])
    if value_or_zero(default) not in amounts:
        yield invalid(path, default, "the default is not among the values")


def _check_range(range_: Value, default: Any, most: Fraction, *, path: FieldPath) -> Problems:
    if range_.get("min") is None:
        yield required(path / "min", "required when validRange is defined")
        return
    wanted, low = value_or_zero(default), value_or_zero(range_["min"])
    high = value_or_zero(range_["max"]) if range_.get("max") is not None else None
    if low > most:
        yield invalid(path / "min", range_["min"], "is larger than the capacity")
    if wanted < low or (high is not None and wanted > high):
        yield invalid(path / "default", default, "is not between min and max")
    if high is not None and (low > high or high > most):
        yield invalid(path / "max", range_["max"], "is less than min, or larger than the capacity")
    if range_.get("step") is not None:
        yield from _check_step(range_, [wanted, *([] if high is None else [high])], low, most=most, path=path / "step")


def _check_step(range_: Value, reached: list[Fraction], low: Fraction, *, most: Fraction, path: FieldPath) -> Problems:
    step = value_or_zero(range_["step"])
    if step <= 0:
        yield invalid(path, range_["step"], "must be greater than zero")
        return
    if low + step > most:
        yield invalid(path, range_["step"], "one step is larger than the capacity")
    if any((one - low) % step for one in reached):
        yield invalid(path, range_["step"], "default and max must be min and a number of steps")

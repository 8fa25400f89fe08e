"""Expressions that are meant to cost: each ends with an error, having done no more than its limit allows."""

from __future__ import annotations

import pytest

from probate.core import work_limits
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import OutOfBudget
from support.cel_expressions import cost, mistake, program, value


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "[" * 5000 + "]" * 5000,
        "-" * 5000 + "1",
        "!" * 5000 + "true",
        "self" + ".a" * 5000,
        "self" + "[0]" * 5000,
        " + ".join(["1"] * 5000),
        "true ? 1 : " * 5000 + "1",
        "size(" * 5000 + ")" * 5000,
        "{1:" * 5000 + "1" + "}" * 5000,
        "a" * 200_000,
        "9" * 50_000,
    ],
    ids=lambda source: source[:12],
)
def test_source_that_is_too_much_is_refused(source: str) -> None:
    assert mistake(source)


def test_nesting_within_nesting_is_refused() -> None:
    source = "1"
    for _ in range(50):
        source = f"({source} + {' + '.join(['1'] * 100)})"
    assert "recursion limit" in mistake(source)


def test_long_chains_of_logic_are_fine() -> None:
    assert value(" && ".join(["true"] * 3000)) is True


BINDS = "".join(f"cel.bind(x{index}, x{index - 1} + x{index - 1}, " for index in range(1, 40))
NESTED = "".join(f"cel.bind(x{index}, [x{index - 1}, x{index - 1}], " for index in range(1, 40))


@pytest.mark.parametrize(
    "source",
    [
        "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))",
        "self.map(a, self.map(b, self.map(c, [a, b, c])))",
        "self.exists(a, self.exists(b, self.exists(c, a + b + c < 0)))",
        f"cel.bind(x0, 'aaaaaaaaaa', {BINDS}size(x39){')' * 40} > 0",
        f"cel.bind(x0, [1], {BINDS}size(x39){')' * 40} > 0",
        f"cel.bind(x0, [1], {NESTED}x39 == x39{')' * 40}",
        f"cel.bind(x0, [1], {NESTED}'%s'.format([x39]) == ''{')' * 40}",
        f"cel.bind(x0, [1], {NESTED}x39.flatten(100) == [1]{')' * 40}",
        "self.all(a, lists.range(100000).sum() > 0)",
        "self.all(a, self.distinct() == self.distinct())",
        "self.all(a, self.map(x, string(x)).join('aaaaaaaaaaaaaaaaaaaaaaaa').replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') != '')",
        "self.all(a, self.map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join().matches('(a*)*(a*)*(a|aa)+$'))",
        "self.all(a, self.map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join().findAll('(a|b)*?') != [])",
    ],
    ids=lambda source: source[:60],
)
def test_evaluation_that_is_too_much_is_cut_off(source: str) -> None:
    """By cost, or by the effort it is within; whatever it would be in the end, it is not waited for."""
    made = program(source)
    with pytest.raises((OutOfBudget, work_limits.TooMuchWork)), work_limits.WorkLimit(3_000_000):
        made.evaluate([list(range(1000)), None], Meter())


def test_cost_limit_is_not_absorbed() -> None:
    with pytest.raises(OutOfBudget):
        value("self.all(a, self.all(b, self.all(c, true))) || true", list(range(1000)))


def test_evaluation_leaves_the_loop_after_a_little() -> None:
    """What would be 8,000 steps on a thread is more than 20,000 where others wait."""
    made = program("self.all(a, self.all(b, a + b >= 0))")
    spent = cost("self.all(a, self.all(b, a + b >= 0))", list(range(60)))
    assert 20_000 < spent < 40_000
    with pytest.raises(work_limits.TooMuchWork), work_limits.WorkLimit(20_000, steps_per_cost=2.5):
        made.evaluate([list(range(60)), None], Meter())
    with work_limits.WorkLimit(20_000):
        assert made.evaluate([list(range(60)), None], Meter()) is True


def test_long_evaluation_lets_other_tasks_run() -> None:
    """Whoever runs it is asked to pause, again and again, as the cost goes up."""
    pauses: list[int] = []
    with work_limits.WorkLimit(3_000_000, pause=lambda: pauses.append(1)):
        program("self.all(a, self.all(b, a + b >= 0))").evaluate([list(range(300)), None], Meter())
    spent = cost("self.all(a, self.all(b, a + b >= 0))", list(range(300)))
    assert len(pauses) == pytest.approx(spent / work_limits.COST_BETWEEN_PAUSES, rel=0.1)

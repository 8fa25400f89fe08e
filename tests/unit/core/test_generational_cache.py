"""A memory for what came last."""

from __future__ import annotations

from probate.core.generational_cache import Recent


def test_newest_are_known_and_the_oldest_are_forgotten() -> None:
    memory: Recent[int] = Recent(10)
    for n in range(100):
        memory[f"n{n}"] = n
        assert [memory.get(f"n{m}") for m in range(max(0, n - 9), n + 1)] == list(range(max(0, n - 9), n + 1))
    assert "n99" in memory
    assert "n79" not in memory
    assert memory.get("n79") is None


def test_what_is_popped_is_forgotten_also_as_it_was_before() -> None:
    memory: Recent[str] = Recent(2)
    memory["a"] = "old"
    memory["b"] = "b"
    memory["a"] = "new"
    assert memory.get("a") == "new"
    assert memory.pop("a") == "new"
    assert "a" not in memory
    assert memory.pop("a") is None
    assert memory.pop("b") == "b"

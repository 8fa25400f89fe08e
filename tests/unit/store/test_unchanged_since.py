"""The tracker of unchanged ranges: it reports every change of a tracked range, of whole segments or partial."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probate.store import unchanged_since
from probate.store.contract import Revision
from probate.store.unchanged_since import UnchangedSinceTracker

BY_NAMESPACE, BY_NAME = "objects/k/111111-", "objects/k/-/111111-"
BESIDE = [
    *(
        "objects/k/1111110-x/p",
        "objects/k/111111/p",
        "objects/k/111111",
        "objects/k/11111-x/p",
        "objects/k/x/111111-p",
        "objects/k/-/x",
    ),
    *("objects/k/-/1111110-x", "objects/k/-/111111", "objects/k/-/11111-x", "objects/kk/111111-x/p", "objects/k/111112-x/p"),
]
PREFIXES = [BY_NAMESPACE, BY_NAME, "objects/k/222222-", "objects/", "objects/k/", "objects/k/-/", "objects/k/111111-a/"]
KEYS = [*BESIDE, f"{BY_NAMESPACE}a/p", f"{BY_NAMESPACE}b/p", f"{BY_NAMESPACE}b", f"{BY_NAME}v", f"{BY_NAME}v/x"]


def since(tracker: UnchangedSinceTracker, prefix: str, now: int) -> int:
    return tracker.get(prefix, recorded=Revision(now), now=Revision(now)).since


def test_partial_range_is_changed_by_its_own_keys_only() -> None:
    tracker = UnchangedSinceTracker()
    assert [since(tracker, prefix, 1) for prefix in (BY_NAMESPACE, BY_NAME)] == [1, 1]
    tracker.record_changes(iter(BESIDE), Revision(2))
    assert [since(tracker, prefix, 2) for prefix in (BY_NAMESPACE, BY_NAME)] == [1, 1]
    tracker.record_changes(iter([BESIDE[0], f"{BY_NAMESPACE}a/p"]), Revision(3))
    assert [since(tracker, prefix, 3) for prefix in (BY_NAMESPACE, BY_NAME)] == [3, 1]
    tracker.record_changes(iter([f"{BY_NAME}v"]), Revision(4))
    assert [since(tracker, prefix, 4) for prefix in (BY_NAMESPACE, BY_NAME)] == [3, 4]


def test_whole_ranges_are_tracked_beside_partial_ones() -> None:
    tracker = UnchangedSinceTracker()
    for prefix in ("objects/k/", BY_NAMESPACE, "objects/k/x/"):
        since(tracker, prefix, 1)
    tracker.record_changes((key for key in ("objects/k/y/p", f"{BY_NAMESPACE}a/p")), Revision(2))
    assert [since(tracker, prefix, 2) for prefix in ("objects/k/", BY_NAMESPACE, "objects/k/x/")] == [2, 2, 1]


def test_partial_range_counts_as_changed_just_now_after_too_many_ranges_were_tracked() -> None:
    tracker = UnchangedSinceTracker()
    since(tracker, BY_NAME, 1)
    for number in range(unchanged_since.MAX_RANGES):
        since(tracker, f"objects/k/{number}/", 1)
    tracker.record_changes([f"{BY_NAME}v"], Revision(5))
    assert since(tracker, BY_NAME, 6) == 6
    tracker.record_changes([f"{BY_NAME}v"], Revision(7))
    assert since(tracker, BY_NAME, 8) == 7


@given(st.lists(st.tuples(st.sampled_from(PREFIXES), st.lists(st.sampled_from(KEYS), max_size=4)), max_size=8))
def test_last_change_is_never_missed_and_never_reported_without_a_change(steps: list[tuple[str, list[str]]]) -> None:
    tracker = UnchangedSinceTracker()
    expected: dict[str, int] = {}
    for now, (prefix, changed) in enumerate(steps, 2):
        assert since(tracker, prefix, now) == expected.setdefault(prefix, now)
        tracker.record_changes(iter(changed), Revision(now + 1))
        for tracked in expected:
            if any(key.startswith(tracked) for key in changed):
                expected[tracked] = now + 1

"""RBAC by property: what is decided from indexes and memories is what the objects say, read one after the other.

`rbac_evaluator` says what that is. It knows nothing of Probate's, and Probate nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.rbac import escalation, policy_rules
from probate.api.rbac.grants import Grants
from probate.api.rbac.policy_rules import Ask, AskPath
from probate.api.rbac.user_rules import Rights
from probate.api.rbac.users import User
from support import reference_rbac
from support.rbac_samples import HISTORIES, PEOPLE, RULES, VISITS, WISHES
from support.reference_rbac import Visit, Who, Wish

Object = dict[str, Any]


def in_our_words(asked: Wish | Visit) -> Ask | AskPath:
    if isinstance(asked, Visit):
        return AskPath(*asked)
    resource, _, part = asked.resource.partition("/")
    return Ask(asked.verb, asked.group, resource, part, asked.namespace, asked.name)


@given(HISTORIES, PEOPLE, st.lists(WISHES | VISITS, min_size=1, max_size=8))
def test_what_is_remembered_is_what_the_objects_say(acts: list[tuple[Object, bool]], who: Who, asks: list[Wish | Visit]) -> None:
    grants, there = Grants(), dict[tuple[str, str, str], Object]()
    for object_, is_gone in acts:
        kind, meta = object_["kind"], object_["metadata"]
        place = (f"{kind.lower()}s", meta.get("namespace", ""), meta["name"])
        grants.put(*place, None if is_gone else object_)
        there.pop(place, None) if is_gone else there.update({place: object_})
        rights = Rights(grants, User(*who))
        for asked in asks * 2:
            ours = in_our_words(asked)
            decided = rights.allow(ours) if isinstance(ours, Ask) else rights.allow_path(ours)
            assert decided == reference_rbac.allows(there.values(), who, asked)


@settings(max_examples=1_000)
@given(RULES, RULES)
def test_what_one_has_is_what_one_may_hand_on(held: list[Object], wanted: list[Object]) -> None:
    ours, theirs = [policy_rules.of_object(one) for one in held], [policy_rules.of_object(one) for one in wanted]
    missing = escalation.uncovered(ours, theirs)
    assert (not missing) == reference_rbac.covers(held, wanted)
    assert not escalation.uncovered([*ours, *missing], theirs)
    assert not escalation.uncovered(theirs, missing)


def test_the_evaluator_is_nobodys_but_its_own() -> None:
    assert "probate" not in Path(reference_rbac.__file__).read_text().replace("Probate", "")

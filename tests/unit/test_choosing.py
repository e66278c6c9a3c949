"""The decision rule: every place has an answer that is available there."""

from itertools import product
from typing import get_args

import pytest

from engine.analysis.choosing import Where, advice
from engine.analysis.methods import METHODS

AVAILABLE = {
    "a model of one's own": {method.name for method in METHODS if method.own != "no"},
    "a provider that takes a schema": {method.name for method in METHODS if method.with_schema != "no"},
    "a provider that takes no more than a bias": {method.name for method in METHODS if method.with_bias != "no"},
}


@pytest.mark.parametrize("where", get_args(Where))
def test_what_is_advised_is_to_be_had_there(where: Where) -> None:
    for certain, thought, simple in product((False, True), repeat=3):
        assert advice(where, certain=certain, thought=thought, simple=simple).method in AVAILABLE[where]


def test_a_form_that_must_be_certain_is_enforced_where_it_can_be() -> None:
    enforced = {method.name for method in METHODS if method.enforced}
    for where in get_args(Where)[:2]:
        for thought in (False, True):
            assert advice(where, certain=True, thought=thought, simple=False).method in enforced

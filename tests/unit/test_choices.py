"""A list of choices."""

import pytest

from engine.errors import ConstraintError
from engine.grammar.choices import compile_choices


def test_exactly_the_choices() -> None:
    constraint = compile_choices(["yes", "no", "no way", "naïve 😀"])
    kinds = {
        text: constraint.check(text).kind for text in ("yes", "no", "no way", "naïve 😀", "no ", "ye", "maybe", "")
    }
    assert kinds == {
        "yes": "accepted",
        "no": "accepted",
        "no way": "accepted",
        "naïve 😀": "accepted",
        "no ": "incomplete",
        "ye": "incomplete",
        "maybe": "rejected",
        "": "incomplete",
    }


def test_five_thousand_choices_cost_little() -> None:
    constraint = compile_choices([f"item-{number:05}" for number in range(5_000)])
    assert constraint.check("item-04999").kind == "accepted"
    assert constraint.check("item-05000").kind == "rejected"
    assert len(constraint.automaton) < 30


def test_no_choices() -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_choices([])
    assert caught.value.unsatisfiable

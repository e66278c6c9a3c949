"""The experiments that lessons name: one module each.

A module has
    FIELDS: what it computes, name -> what it is in words (a lesson's text may use these and no others);
    facts() -> Fields: those that are known before anything is run: arithmetic, shipped traces. Fast.
    experiment(lesson, key) -> Fields: draws it; all fields that are known by now. Widget keys begin with `key`.
and may have
    opening(lesson, key) -> None: draws what may be seen before the prediction is made;
    check(fields, given) -> str: for an exercise of kind own: "" if it is solved, else what is not right yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from pages._lessons.fields import Fields
from pages._lessons.reader import Lesson


class Experiment(Protocol):
    """What a module of this package offers; `opening` and `check` are optional."""

    FIELDS: Mapping[str, str]

    def facts(self) -> Fields: ...

    def experiment(self, lesson: Lesson, key: str) -> Fields: ...


def experiment_named(name: str) -> Experiment | None:
    """The experiment's module, imported when it is first needed."""
    if not name.isidentifier() or find_spec(f"{__name__}.{name}") is None:
        return None
    return cast(Experiment, import_module(f"{__name__}.{name}"))


def fields_of(name: str) -> Mapping[str, str] | None:
    """The fields an experiment computes."""
    found = experiment_named(name)
    return None if found is None else found.FIELDS

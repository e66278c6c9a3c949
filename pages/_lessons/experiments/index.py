"""From schema to automaton to index; recursion, where a stack appears; how many states there can be."""

from __future__ import annotations

import json
from collections import deque
from functools import lru_cache
from typing import Any

import streamlit as st

from engine.analysis.explosion import FAMILIES, MOST_STATES, Family, Growth, growth, index_bytes
from engine.analysis.schema_regex import schema_regex
from engine.automaton.classic import MOST_STATES as MOST_DRAWN
from engine.automaton.classic import built, classic, difference
from engine.automaton.explore import DrawnGraph
from engine.automaton.terms import members_of
from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import BudgetError, ConstraintError
from engine.grammar.json_schema.compile import compile_json_schema
from engine.masking.ladder import Index, WorkCancelled, frames
from engine.vocabulary import Vocabulary
from engine.vocabulary.small import small_vocabulary
from pages._constraints import compiled
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from visualizations.automaton import automaton_panel, automaton_view
from visualizations.charts import curve
from visualizations.lesson_automata import duration, memory, tokens
from visualizations.notice import notice
from visualizations.tokens import visible

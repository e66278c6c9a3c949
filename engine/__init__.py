"""Constrained decoding, exact and watchable: constraints, masks, models and runs.

    source text -> Constraint -> Masker -> Decoder -> Trace

Names that need more than a grammar are imported when first used, so that compiling and checking start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.budget import Budget
from engine.constraint import Constraint, Report, Verdict
from engine.errors import BudgetError, ConstraintError, Origin
from engine.grammar.choices import compile_choices
from engine.grammar.ebnf.gbnf import compile_gbnf
from engine.grammar.ebnf.lark import compile_lark
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.grammar.requests.compile import compile_request
from engine.grammar.sources import compile_source

if TYPE_CHECKING:
    from engine.analysis.compare import compare as compare
    from engine.analysis.conditional import conditional as conditional
    from engine.analysis.lint import lint as lint
    from engine.analysis.token_paths import token_paths as token_paths
    from engine.analysis.two_calls import generate_then_convert as generate_then_convert
    from engine.decoding.beam import beam_search as beam_search
    from engine.decoding.decoder import Decoder as Decoder
    from engine.decoding.records import RunSpec as RunSpec
    from engine.masking.masker import Masker as Masker
    from engine.model.load import load_model as load_model
    from engine.vocabulary.vocabulary import Vocabulary as Vocabulary

_LATER = {
    "Decoder": "engine.decoding.decoder",
    "Masker": "engine.masking.masker",
    "RunSpec": "engine.decoding.records",
    "Vocabulary": "engine.vocabulary.vocabulary",
    "beam_search": "engine.decoding.beam",
    "compare": "engine.analysis.compare",
    "conditional": "engine.analysis.conditional",
    "generate_then_convert": "engine.analysis.two_calls",
    "lint": "engine.analysis.lint",
    "load_model": "engine.model.load",
    "token_paths": "engine.analysis.token_paths",
}

__all__ = [
    "Budget",
    "BudgetError",
    "Constraint",
    "ConstraintError",
    "Origin",
    "Report",
    "Verdict",
    "compile_choices",
    "compile_gbnf",
    "compile_json_schema",
    "compile_lark",
    "compile_regex",
    "compile_request",
    "compile_source",
    *_LATER,
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value

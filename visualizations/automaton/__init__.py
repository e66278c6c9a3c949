"""The automaton view. `automaton_panel` is all of it; `automaton_view` is the picture alone."""

from visualizations.automaton.classic import classic_view
from visualizations.automaton.dot import dot
from visualizations.automaton.layout import layout
from visualizations.automaton.panel import automaton_panel, selected_origin
from visualizations.automaton.picture import automaton_view
from visualizations.automaton.words import in_words

__all__ = ["automaton_panel", "automaton_view", "classic_view", "dot", "in_words", "layout", "selected_origin"]

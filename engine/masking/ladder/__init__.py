"""The cost ladder: the same mask by dearer and cheaper means, each with the work it took."""

from engine.masking.ladder.context import ContextIndependence, Fate, Fates
from engine.masking.ladder.frames import frames
from engine.masking.ladder.index import Index
from engine.masking.ladder.lazy import Lazy
from engine.masking.ladder.naive import Naive, Validator
from engine.masking.ladder.trie import TrieWalk
from engine.masking.ladder.work import Answer, Method, Work, WorkCancelled

__all__ = [
    "Answer",
    "ContextIndependence",
    "Fate",
    "Fates",
    "Index",
    "Lazy",
    "Method",
    "Naive",
    "TrieWalk",
    "Validator",
    "Work",
    "WorkCancelled",
    "frames",
]

from engine.vocabulary.canonical import Canonical
from engine.vocabulary.spelling import VocabularyError
from engine.vocabulary.trie import Trie, build_trie
from engine.vocabulary.vocabulary import Vocabulary

__all__ = ["Canonical", "Trie", "Vocabulary", "VocabularyError", "build_trie"]

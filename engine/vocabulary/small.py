"""A small vocabulary made by hand, for when no model is there yet: every byte, and some tokens as models have them.

It has what makes masks interesting: JSON punctuation that straddles the boundaries of a grammar, words with and without
a space before them, pieces of words, runs of white space. It comes from no model and no corpus, and pages that use it
say so.
"""

from __future__ import annotations

from functools import lru_cache

from engine.vocabulary.vocabulary import Vocabulary

JSON = '{" ," {"" "} "}} ": ":" ":{ ":[ "," ", ", " ], ]} }} }, }} [[ ]] [" "] [{ }] {} [] "" :" :{ null true false'
SPACED = [b' "', b'{ "', b' {"', b'": ', b'": "', b'", "', b'", ', b", ", b": ", b" {", b" }", b"  ", b"    ", b"\n  "]
STEMS = (
    "a ad age al am an and ar are as at be born by child city co con day de di e ed en er es fact family for from he "
    "her his home id in ing ion is it item job key la lan le list lived ly ma me mo n na name no ns o of on one or "
    "out par per ph re s se she st string t tal te th that the their then there this ti title to two type un us value "
    "was were what who wi with wo word work y year yes you Ada Alan Ana Anna B Ber Carl Cu Curie Grace Ham Love Ma "
    "Marie Paris Tur ace rie lin lace ris ring per"
)
PIECES = "aa ab ba bb abc bca bc abab (( )) ()( ** == != <= >= -> // -1 .5 0. SELECT FROM WHERE AND OR"


@lru_cache(maxsize=1)
def small_vocabulary() -> Vocabulary:
    """The vocabulary, the same object each time; its one end token comes last."""
    words = STEMS.split()
    merged = [
        *JSON.encode().split(),
        *SPACED,
        *(word.encode() for word in words if len(word) > 1),
        *(b" " + word.encode() for word in words),
        *PIECES.encode().split(),
        "é".encode(),
        "ü".encode(),
        "…".encode(),
    ]
    tokens = list(dict.fromkeys((*(bytes([byte]) for byte in range(256)), *merged)))
    return Vocabulary.from_tokens([*tokens, b"<end>"], end_ids=[len(tokens)])

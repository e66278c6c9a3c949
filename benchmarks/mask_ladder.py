"""The cost ladder: what the same mask takes by trying every token, by index, by walking the trie, and remembered.

    python -m benchmarks.mask_ladder [EXAMPLE ...] [--sample N]

For some places of the examples, on the bundled model's vocabulary: tokens checked, bytes read, memory kept and seconds
of each method, and the share of tokens that is decided without the stack. Every method has a constraint of its own, so
none finds an automaton that another one has made. Their masks must be equal, else the benchmark fails. Only `lazy` is
compiled code; compare the seconds of the others with each other. `--sample N`: naive tries every Nth token. (Behind
the name of an undeclared member its seconds go into states: the exact automaton has one for each name that is tried.)
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from engine import compile_regex
from engine.errors import BudgetError
from engine.examples import Example, example
from engine.grammar.sources import compile_source
from engine.masking.ladder import ContextIndependence, Fate, Index, Lazy, Method, Naive, TrieWalk, Work
from engine.model import load_model
from engine.vocabulary import Vocabulary

PLACES: dict[str, tuple[bytes, ...]] = {
    "Against the model's wish": (b"", b'{"sentiment": "', b'{"sentiment": "ne'),
    "Person record": (b"", b'{"name": "Marie Cu', b'{"name": "Marie Curie", "age": 6'),
    "Family tree": (b'{"name": "Anna", "child": {"name": "B',),
    "Nested list": (b"[1, [2, ", b"[1, [2, [3", b"[1, [2, [3]"),
    "Undeclared keys": (b'{"title": "Dracula", "author": {"fam',),
    "ISO date (regex)": (b"", b"1969-0"),
    "Emoji (regex)": (b"", b"\xf0\x9f\x98"),
    "SQL (grammar)": (b"SELECT na", b"SELECT name FROM customers WHERE (city = 'Par"),
    "Arithmetic (grammar)": (b"(a + f(b",),
    "Log line (grammar)": (b"level=warn disk=",),
}


def compare(entry: Example, vocabulary: Vocabulary, every: int) -> bool:
    """Print the table of one example. Whether all masks are equal."""
    assert entry.constraint is not None
    source = entry.constraint
    tried = range(0, vocabulary.size, every)
    methods: list[Method] = [Naive(compile_source(source), vocabulary, tried)]
    print(f"\n{entry.name}")
    try:
        index = Index(compile_source(source), vocabulary)
        methods.append(index)
        report(f"index of {index.states} states", index.preparation)
    except BudgetError as error:
        print(f"  index: {str(error).partition('. ')[0]}.")
    methods.append(TrieWalk(compile_source(source), vocabulary))
    lazy = Lazy(compile_source(source), vocabulary)
    context = ContextIndependence(compile_source(source), vocabulary)
    equal = True
    for text in PLACES[entry.name]:
        first = lazy.mask(text)
        print(f"  after {text.decode(errors='backslashreplace')!r}: {first.allowed.sum():,} tokens allowed")
        for method in methods:
            answer = method.mask(text)
            report(method.name, answer.work)
            compared = tried if method.name == "naive" else range(vocabulary.size)
            equal &= bool((answer.allowed[compared] == first.allowed[compared]).all())
        report("lazy, first time", first.work)
        report("lazy, remembered", lazy.mask(text).work)
        fates = context.after(text)
        counts = ", ".join(f"{fate.name.lower().replace('_', ' ')} {fates.count(fate):,}" for fate in Fate)
        print(f"    without the stack {fates.share:8.2%} of the tokens (frames {len(fates.frames)}; {counts})")
    return equal


def report(name: str, work: Work) -> None:
    print(
        f"    {name:20} {work.checks:11,} checks {work.bytes_read:12,} bytes read "
        f"{work.memory_bytes / 1024:9,.1f} KB {1000 * work.seconds:11,.3f} ms"
    )


def main(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="python -m benchmarks.mask_ladder", description="The cost ladder of token masks.")
    parser.add_argument("names", nargs="*", metavar="EXAMPLE", help=f"of: {', '.join(PLACES)} (default: all)")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="naive tries every Nth token")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in PLACES]:
        parser.error(f"there is no place in an example {unknown[0]!r}")
    vocabulary = load_model().vocabulary
    Lazy(compile_regex("a"), vocabulary).mask(b"")  # load the compiled walk
    print(f"{vocabulary.size:,} tokens")
    different = [name for name in options.names or PLACES if not compare(example(name), vocabulary, options.sample)]
    print(f"\nDifferent masks: {', '.join(different)}" if different else "\nAll masks are equal.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

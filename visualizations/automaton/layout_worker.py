"""Lays graphs out with Graphviz, in a process of its own: a JSON string with DOT on a line, its `json0` on a line.

Graphviz is C code that holds Python's lock while it works; here it holds up nobody, and can be stopped. The process is
started by the path of this file, so that it imports nothing of the app, and ends when its input does.
"""

import json
import sys

import pygraphviz


def main() -> None:
    for line in sys.stdin:
        drawn = pygraphviz.AGraph(string=json.loads(line)).draw(format="json0", prog="dot")
        print(json.dumps(json.loads(drawn)), flush=True)


if __name__ == "__main__":
    main()

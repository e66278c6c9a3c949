"""Lays graphs out with Graphviz, in a process of its own: a JSON string with DOT on a line, its `json0` on a line.

Graphviz is C code that holds Python's lock while it works; here it holds up nobody, and can be stopped. The process is
started by the path of this file, so that it imports nothing of the app, and ends when its input does. Nothing but a
signal ends C code that is at work: its argument is how many seconds it may take where nobody is left to stop it.
"""

import json
import signal
import sys

import pygraphviz


def main(seconds: float) -> None:
    limit = getattr(signal, "setitimer", None)  # Windows has none
    for line in sys.stdin:
        if limit:
            limit(signal.ITIMER_REAL, seconds)
        drawn = pygraphviz.AGraph(string=json.loads(line)).draw(format="json0", prog="dot")
        print(json.dumps(json.loads(drawn)), flush=True)
        if limit:
            limit(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]))

"""A lesson on paper: question, room for the prediction, rule, exercise, as one HTML page that needs nothing else."""

from __future__ import annotations

import html

from markdown_it import MarkdownIt

from pages._lessons.fields import Fields, linked, with_blanks
from pages._lessons.judge import options_of
from pages._lessons.reader import Asked, Lesson

_STYLE = """
body { font: 12pt/1.45 Georgia, serif; color: #111; max-width: 42em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 20pt; margin: 0 0 .2em; } h2 { font-size: 13pt; margin: 1.4em 0 .3em; break-after: avoid; }
code { font-family: Menlo, Consolas, monospace; font-size: .9em; background: #f1f1f1; padding: 0 .2em; }
pre { background: #f1f1f1; padding: .6em; overflow-wrap: anywhere; white-space: pre-wrap; }
.head { color: #555; font-size: 10pt; } .line { border-bottom: 1px solid #888; height: 2em; }
ul.boxes { list-style: "☐ "; }
table { border-collapse: collapse; } td, th { border: 1px solid #999; padding: .2em .5em; }
@media print { body { margin: 0; max-width: none; } }
"""
_PARTS = (("Question", "Question"), ("Prediction", "Your prediction"), ("Rule", "The rule"), ("Exercise", "Exercise"))
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")


def handout(lesson: Lesson, fields: Fields, address: str) -> str:
    """The page. What the experiment has to compute first is a blank to fill in, and lines are left to write on."""
    head = f"Lesson {lesson.number} · about {lesson.minutes} minutes" + (f" · {address}" if address else "")
    parts = [f'<p class="head">{html.escape(head)}</p>', f"<h1>{html.escape(lesson.title)}</h1>"]
    for section, heading in _PARTS:
        text = with_blanks(lesson.text(section), fields)
        parts.append(f"<h2>{heading}</h2>\n{_rendered(text)}")
        if section in ("Prediction", "Exercise"):
            parts.append(_room(lesson.prediction if section == "Prediction" else lesson.exercise, fields))
    body = "\n".join(parts)
    title = html.escape(lesson.title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _rendered(text: str) -> str:
    made: str = _markdown.render(linked(text, lambda term, words: f"*{words}*"))
    return made


def _room(asked: Asked, fields: Fields) -> str:
    if asked.kind in ("choice", "token"):
        items = "".join(f"<li>{_markdown.renderInline(option)}</li>" for option in options_of(asked, fields))
        return f'<ul class="boxes">{items}</ul>'
    return '<div class="line"></div>' + ('<div class="line"></div>' if asked.kind != "number" else "")

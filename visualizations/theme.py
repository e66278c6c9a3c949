"""Colours, and what all pages and browser components look like.

The palette is Okabe and Ito's (safe for the common colour vision deficiencies). Colour is never the only carrier: each
use has a shape, a line style or a word beside it. Components live in a shadow root where Streamlit provides `--st-*`
variables, so one style sheet serves light and dark: ink is mixed into the palette, darker on light, lighter on dark.
"""

from __future__ import annotations

from pathlib import Path

PALETTE = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}

ROLES = {"path": "blue", "allowed": "green", "masked": "vermillion", "chosen": "purple", "forced": "orange"}
"""What a colour stands for, the same on every page."""

_BROWSER = Path(__file__).with_name("browser")
ICON = str(
    _BROWSER / "icon.svg"
)  # a file of our own: Streamlit fetches the named icons and emoji of a tab from outside
LOGO = str(_BROWSER / "logo.svg")

PAGE_STYLE = """<style>
html { font-size: 14px; }
[data-testid="stMainBlockContainer"] { padding: 3.4rem 1.75rem 3rem; }
[data-testid="stSidebarHeader"] { height: auto; margin-bottom: 0.25rem; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: inherit; }
[data-testid="stCaptionContainer"] { opacity: 0.8; }
kbd[aria-label^="Shortcut"] { color: inherit; opacity: 0.85; }
[role="radio"][data-selected="true"] p { color: color-mix(in oklab, currentColor 70%, CanvasText); }
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding: 3.4rem 0.9rem 3rem; } }
</style>
"""
"""A tool for looking closely needs the room that Streamlit leaves empty, and its configuration cannot give it back.
Captions and chosen segments are made dark enough to be read (WCAG's 4.5 to 1)."""


def css_variables() -> str:
    """`--path`, `--allowed`, ... readable on light and dark; `--<role>-soft` is a background of the same hue."""
    lines = []
    for role, colour in ROLES.items():
        ground = PALETTE[colour]
        lines.append(f"--{role}: color-mix(in oklab, {ground} 72%, var(--st-text-color));")
        lines.append(f"--{role}-soft: color-mix(in oklab, {ground} 20%, var(--st-background-color));")
    return ":host {\n" + "\n".join(lines) + "\n}\n"

"""Our components in the browser: their scripts and styles are fetched once, what they draw is sent with each redraw.

A redraw has twenty components. With their scripts in its messages it would be 180 kB, to each of a room, each second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import streamlit as st
from platformdirs import user_cache_path
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.runtime import Runtime

from visualizations.theme import css_variables

Callback = Callable[[], None]
Renderer = Callable[..., Any]
"""Draws a component from its `data`, `key` and `on_..._change` callbacks; gives what it reports."""

_BROWSER = Path(__file__).with_name("browser")
_PACKAGE = "maskscope"
_SERVED = user_cache_path("maskscope", appauthor=False) / "components"
"""What browsers fetch. Not among the temporary files, which are swept from under a server that runs for weeks."""

_STYLED = """
const style = new CSSStyleSheet()
style.replaceSync({css})
export default component => {
  component.parentElement.getRootNode().adoptedStyleSheets = [style]
  return drawn(component)
}
"""
"""A style that is there before anything is drawn: one that is linked comes later."""


def register(name: str, *parts: str) -> Renderer:
    """The component whose script and style are `browser/<name>.js` and `.css`. Call once, when a module is imported.

    `parts`: scripts it is made of besides, in their order before it.
    """
    css = css_variables() + _read("common.css") + _read(f"{name}.css")
    own = "".join(_read(f"{part}.js") for part in ("common", *parts, name))
    script = own.replace("export default ", "const drawn = ") + _STYLED.replace("{css}", json.dumps(css))
    js = _published(name, script)
    mount: Renderer = st.components.v2.component(f"{_PACKAGE}.{name}", html='<div class="root"></div>\n', js=js)
    return mount


def _published(name: str, script: str) -> str:
    """The script of a component, or the name of the file that browsers fetch it from; another script, another name."""
    if not Runtime.exists() or type(Runtime.instance()) is not Runtime:  # AppTest serves nothing
        return script
    folder = _SERVED / name
    file = folder / f"{name}.{hashlib.blake2b(script.encode(), digest_size=8).hexdigest()}.js"
    try:
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as written:
                written.write(script)
            Path(written.name).replace(file)
    except OSError:  # a cache that cannot be written: with every message, then
        return script
    manifest = ComponentManifest(_PACKAGE, version="", components=[ComponentConfig(name, asset_dir=name)])
    get_bidi_component_manager().register_from_manifest(manifest, _SERVED)
    return file.name


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8") + "\n"

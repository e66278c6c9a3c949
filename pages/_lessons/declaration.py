"""The declaration at the top of a lesson, read key by key: every mistake is an error with file and line."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import yaml


class LessonError(ValueError):
    """A lesson that can't be read; the message begins with file and line."""

    def __init__(self, path: Path, line: int, said: str) -> None:
        super().__init__(f"{path.name}, line {line}: {said}")
        self.line = line


class Part:
    """A mapping of the declaration, read key by key, each with its line."""

    def __init__(self, path: Path, node: yaml.MappingNode, name: str) -> None:
        self._path, self._node, self.name = path, node, name
        self._left: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise LessonError(path, _line(key), f"a field of {name} begins with a word and a colon.")
            if key.value in self._left:
                raise LessonError(path, _line(key), f"{name} has {key.value!r} twice.")
            self._left[str(key.value)] = value
        self._lines = {str(key.value): _line(key) for key, _ in node.value}

    def error(self, said: str, key: str = "") -> LessonError:
        return LessonError(self._path, self.line_of(key), said)

    def line_of(self, key: str) -> int:
        return self._lines.get(key, _line(self._node))

    def has(self, key: str) -> bool:
        return key in self._left

    def _take(self, key: str, default: Any) -> Any:
        node = self._left.pop(key, None)
        if node is not None:
            try:
                return yaml.SafeLoader("").construct_object(node, deep=True)
            except (yaml.YAMLError, ValueError):
                return node  # no value that a field can have: whoever asked says what it wants
        if default is None:
            raise self.error(f"{self.name} lacks `{key}`.")
        return default

    def text(self, key: str, default: str | None = None) -> str:
        node = self._left.pop(key, None)
        if node is None:
            if default is None:
                raise self.error(f"{self.name} lacks `{key}`.")
            return default
        return self._scalar(node, key)

    def _scalar(self, node: yaml.Node, key: str) -> str:
        """The text as it is written: `yes` and `1.0` are texts here."""
        if not isinstance(node, yaml.ScalarNode):
            said = f"`{key}` needs quotes around a text that has a colon in it or begins with a brace or a bracket."
            raise LessonError(self._path, _line(node), said)
        return str(node.value)

    def whole(self, key: str, low: int, high: int) -> int:
        value = self._take(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"`{key}` must be a whole number from {low} to {high}.", key)
        return value

    def number(self, key: str, default: float) -> float:
        value = self._take(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < inf:
            raise self.error(f"`{key}` must be a number that is not negative.", key)
        return float(value)

    def one_of(self, key: str, known: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in known:
            raise self.error(f"`{key}` must be one of {', '.join(known)}, not {value!r:.40}.", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        node = self._left.pop(key, None)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(f"`{key}` must be a list: a line for each, which begins with a dash.", key)
        return tuple(self._scalar(one, key) for one in node.value)

    def mapping(self, key: str) -> dict[str, str]:
        node = self._left.pop(key, None)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"`{key}` must be lines of the form `text: reason`.", key)
        return {self._scalar(text, key): self._scalar(reason, key) for text, reason in node.value}

    def part(self, key: str) -> Part:
        node = self._left.pop(key, None)
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"{self.name} lacks `{key}`, with its own lines below it.", key)
        return Part(self._path, node, key)

    def parts(self, key: str) -> list[Part]:
        node = self._left.pop(key, None)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not all(isinstance(n, yaml.MappingNode) for n in node.value):
            raise self.error(f"`{key}` must be a list of parts, each beginning with a dash.", key)
        return [Part(self._path, one, key) for one in node.value]

    def nothing_else(self) -> None:
        if self._left:
            key = next(iter(self._left))
            raise self.error(f"{self.name} has no field {key!r}.", key)


def _line(node: yaml.Node) -> int:
    """The node's line in the file: the declaration begins in its second."""
    return int(node.start_mark.line) + 2

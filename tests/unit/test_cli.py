"""The command line: exit statuses, places of errors, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from engine import cli
from engine.decoding.trace import load_trace
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel

SCHEMA = (
    '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}'
)
TOKENS = [b"<end>", b"<special>", *(bytes([byte]) for byte in range(32, 127)), b'{"', b'":', b'"a']


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    vocabulary = Vocabulary.from_tokens(TOKENS, end_ids=[0], special_ids=[1])
    monkeypatch.setattr(cli, "_model", lambda: FakeModel(vocabulary))
    return lambda *arguments: CliRunner().invoke(cli.app, list(arguments))


@pytest.mark.parametrize(("text", "kind", "status"), [('{"a":1}', "accepted", 0), ('{"a"', "incomplete", 1)])
def test_check(run: Callable[..., Result], text: str, kind: str, status: int) -> None:
    result = run("check", "--schema", SCHEMA, "--text", text)
    assert result.exit_code == status
    assert result.stdout.startswith(kind)


def test_check_as_json_says_where(run: Callable[..., Result]) -> None:
    result = run("check", "--schema", SCHEMA, "--text", '{"a":"x"}', "--json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert (said["kind"], said["offset"]) == ("rejected", 5)
    assert (said["line"], said["column"]) == (1, 6)
    assert said["origins"][0]["pointer"] == "/properties/a"
    assert said["repair"] == {"removed": '"x"', "inserted": "0"}


def test_check_a_request(run: Callable[..., Result], tmp_path: Path) -> None:
    body = {"model": "m", "messages": [], "guided_regex": "[0-9]+"}
    (tmp_path / "body.json").write_text(json.dumps(body))
    assert run("check", "--request", str(tmp_path / "body.json"), "--text", "12").exit_code == 0
    assert run("check", "--request", str(tmp_path / "body.json"), "--text", "x").exit_code == 1


def test_check_reads_files(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(SCHEMA)
    (tmp_path / "text.json").write_text('{"a":7}')
    result = run("check", "--schema", str(tmp_path / "schema.json"), "--text", f"@{tmp_path / 'text.json'}")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--schema", '{"type": "strin"}'), "/type"),
        (("--schema", "{"), "line 1"),
        (("--schema", "no-such-file"), "no-such-file"),
        (("--regex", "(a"), "unterminated"),
        ((), "give one of"),
        (("--regex", "a", "--schema", "{}"), "give one of"),
        (("--regex", "a", "--option", "x"), "name=value"),
    ],
)
def test_errors_have_status_two(run: Callable[..., Result], arguments: tuple[str, ...], said: str) -> None:
    result = run("check", *arguments, "--text", "a")
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_mask(run: Callable[..., Result]) -> None:
    result = run("mask", "--regex", "a[bc]", "--text", "a", "--json")
    said = json.loads(result.stdout)
    assert (said["allowed"], said["of"], said["tokens"]) == (2, len(TOKENS), ["b", "c"])
    assert run("mask", "--regex", "ab", "--text", "b").exit_code == 1


def test_a_trace_is_saved_and_shown(run: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "run.json.gz"
    result = run("trace", "--out", str(file), "--prompt", "say it", "--regex", "ab|cd", "--temperature", "1")
    assert result.exit_code == 0, result.output
    trace = load_trace(file.read_bytes())
    assert trace.finish == "complete"
    shown = run("show", str(file))
    assert shown.exit_code == 0
    assert trace.text.decode() in shown.stdout
    assert trace.run_id in shown.stdout
    file.write_bytes(b"x")
    assert run("show", str(file)).exit_code == 2


def test_an_empty_prompt_is_an_error(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("trace", "--out", str(tmp_path / "x"), "--regex", "a")
    assert result.exit_code == 2
    assert "prompt is empty" in result.output


def test_doctor(run: Callable[..., Result]) -> None:
    result = run("doctor")
    assert "numba" in result.stdout

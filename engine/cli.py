"""The engine from a terminal: check a text, lint a schema, look at a mask, run and show traces, see what is installed.

Exit status: 0 accepted or done, 1 not accepted (lint: an error found), 2 error (a broken constraint, no such file, no
model).
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.analysis.lint import lint as lint_schema
from engine.automaton.repair import Repair
from engine.constraint import Verdict
from engine.decoding.errors import DecodingError, SpecError, TraceError
from engine.decoding.records import (
    ConstraintSource,
    Healed,
    Healing,
    JumpForward,
    Policy,
    RunSpec,
    Sampler,
    SourceKind,
    Step,
    Trace,
)
from engine.decoding.trace import load_trace, save_trace
from engine.errors import ConstraintError
from engine.examples import EXAMPLES
from engine.grammar.sources import compile_source
from engine.masking import Masker
from engine.model import ModelError, load_model

if TYPE_CHECKING:
    from engine.model.model import Model

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, rich_markup_mode=None)

Schema = Annotated[str, typer.Option(help="a JSON Schema: a file, or the schema itself")]
Regex = Annotated[str, typer.Option(help="a regular expression in Python's dialect")]
Gbnf = Annotated[str, typer.Option(help="a file with a GBNF grammar")]
Lark = Annotated[str, typer.Option(help="a file with a Lark grammar")]
Request = Annotated[str, typer.Option(help="a file with the body of a provider's request")]
Option = Annotated[list[str] | None, typer.Option(help="an option of the compilation, e.g. key_order=any")]
Text = Annotated[str, typer.Option(help="the text, or @FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]

SHOWN_TOKENS = 20
PACKAGES = ("numpy", "numba", "torch", "transformers", "streamlit")


@app.command()
def check(
    text: Text,
    schema: Schema = "",
    regex: Regex = "",
    gbnf: Gbnf = "",
    lark: Lark = "",
    request: Request = "",
    option: Option = None,
    as_json: AsJson = False,
) -> None:
    """Whether a constraint accepts a text: accepted, incomplete or rejected, and where."""
    with _errors():
        constraint = compile_source(_source(_given(schema, regex, gbnf, lark, request), option))
        written = _read_text(text)
        verdict = constraint.check(written)
        repair = constraint.repair(written) if verdict.kind == "rejected" else None
    if as_json:
        print(json.dumps(_verdict(verdict, repair), ensure_ascii=False))
    else:
        print(_printable(str(verdict)))
        if verdict.kind != "accepted":
            print(f"shortest end from there: {_quoted(verdict.completion, '')}")
        if repair is not None:
            print(f"repair: put {_quoted(repair.inserted, '')} in place of {_quoted(repair.removed, '')}")
    raise typer.Exit(0 if verdict.kind == "accepted" else 1)


def _verdict(verdict: Verdict, repair: Repair | None) -> dict[str, object]:
    said: dict[str, object] = {
        "kind": verdict.kind,
        "offset": verdict.offset,
        "line": verdict.line,
        "column": verdict.column,
        "expected": list(verdict.expected),
        "origins": [{"pointer": origin.pointer, "keyword": origin.keyword} for origin in verdict.origins],
        "completion": verdict.completion.decode(errors="backslashreplace"),
    }
    if repair is not None:
        removed, inserted = (data.decode(errors="backslashreplace") for data in (repair.removed, repair.inserted))
        said["repair"] = {"removed": removed, "inserted": inserted}
    return said


@app.command()
def mask(
    text: Text = "",
    schema: Schema = "",
    regex: Regex = "",
    gbnf: Gbnf = "",
    lark: Lark = "",
    request: Request = "",
    option: Option = None,
    as_json: AsJson = False,
) -> None:
    """How many tokens of the model's vocabulary may follow a text, and some of them."""
    with _errors():
        constraint = compile_source(_source(_given(schema, regex, gbnf, lark, request), option))
        state = constraint.advance(constraint.start, _read_text(text).encode())
        if state is None:
            print("The constraint refuses this text; `check` says where.", file=sys.stderr)
            raise typer.Exit(1)
        vocabulary = _model().vocabulary
        allowed = Masker(constraint, vocabulary).mask(state)
    names = [vocabulary.name(token_id) for token_id in allowed.ids()[:SHOWN_TOKENS].tolist()]
    remains = constraint.describe(state)
    if as_json:
        said = {"allowed": allowed.count, "of": allowed.size, "remains": remains, "tokens": names}
        print(json.dumps(said, ensure_ascii=False))
    else:
        print(f"{allowed.count:,} of {allowed.size:,} tokens; what remains: {remains}")
        print(" ".join(map(repr, names)) + (" ..." if allowed.count > len(names) else ""))


@app.command()
def lint(
    schema: Schema,
    provider: Annotated[list[str] | None, typer.Option(help="say also what it does not enforce, e.g. openai")] = None,
    option: Option = None,
    as_json: AsJson = False,
) -> None:
    """What is risky in a schema although it compiles. Exit status 1 if something will fail."""
    with _errors():
        source = _source({"json_schema": _schema(schema)}, option)
        try:
            options: dict[str, Any] = dict(source.options)
            findings = lint_schema(source.text, providers=provider or (), **options)
        except TypeError as error:
            raise ConstraintError(f"An --option does not fit: {error}.") from None
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        said = "".join(f"{finding}\n    {finding.why}\n" for finding in findings)
        print(_printable(said or "There is nothing to say.\n"), end="")
    raise typer.Exit(1 if any(finding.severity == "error" for finding in findings) else 0)


@app.command()
def trace(
    out: Annotated[Path, typer.Option(help="the file to write")],
    prompt: Annotated[str, typer.Option(help="the prompt")] = "",
    schema: Schema = "",
    regex: Regex = "",
    gbnf: Gbnf = "",
    lark: Lark = "",
    request: Request = "",
    option: Option = None,
    example: Annotated[str, typer.Option(help="run an example of the menu instead")] = "",
    temperature: Annotated[float, typer.Option(min=0, max=100)] = 0.0,
    top_k: Annotated[int, typer.Option(min=0)] = 0,
    top_p: Annotated[float, typer.Option(min=1e-9, max=1)] = 1.0,
    min_p: Annotated[float, typer.Option(min=0, max=1)] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=2**53 - 1)] = 0,
    max_tokens: Annotated[int, typer.Option(min=1, max=100_000)] = 128,
    chat_template: Annotated[bool, typer.Option()] = True,
    policy: Annotated[Policy, typer.Option(help="which of the completable tokens may be taken")] = "bridging",
    healing: Annotated[str, typer.Option(help="tokens of the prompt to decode again, or auto")] = "0",
    jump_forward: Annotated[JumpForward, typer.Option(help="write forced bytes without asking the model")] = "off",
    close_in_time: Annotated[bool, typer.Option(help="only tokens after which the text can end in time")] = False,
    after: Annotated[str, typer.Option(help="free text up to this delimiter, then the constraint")] = "",
    free_after: Annotated[bool, typer.Option(help="free text again after the constraint")] = False,
) -> None:
    """Run the model and save the trace. With --example, what the example sets is kept and the features are added."""
    from engine.decoding.decoder import Decoder

    with _errors():
        sampler = Sampler(temperature, top_k, top_p, seed, min_p)
        given = _given(schema, regex, gbnf, lark, request)
        source = replace(_source(given, option), after=after, free_after=free_after) if given else None
        spec = _example(example) if example else RunSpec(prompt, source, chat_template, sampler, max_tokens)
        spec = replace(
            spec,
            policy=policy,
            healing=_healing(healing),
            jump_forward=jump_forward,
            close_in_time=close_in_time,
        )
        run = Decoder(_model(), spec)
        for step in run.run():
            print(_printable(step.token), end="", flush=True, file=sys.stderr)
        print(file=sys.stderr)
        out.write_bytes(save_trace(run.trace))
    print(f"{out}: {_ending(run.trace)}")


@app.command()
def show(file: Annotated[Path, typer.Argument(help="a saved trace")]) -> None:
    """Show a saved trace as a table, one row per step."""
    with _errors():
        saved = load_trace(file.read_bytes())
    console = Console()
    console.print(_table(saved))
    console.print(_printable(saved.text), markup=False, highlight=False)
    if saved.healed is not None:
        console.print(_printable(_healed(saved.healed)), markup=False, highlight=False)
    ending = f"{_ending(saved)} -ln Z {saved.cost:.3f} in all; run {saved.run_id} of {saved.model}."
    console.print(_printable(ending), markup=False, highlight=False)


@app.command()
def doctor() -> None:
    """What is installed, which device there is, and whether the model is."""
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in PACKAGES:
        print(f"{package} {_version(package)}")
    with _errors():
        model = _model()
    print(f"model {model.name}, {model.vocabulary.size:,} tokens, context {model.context:,}, on {model.device}")


@contextmanager
def _errors() -> Iterator[None]:
    """What can go wrong, as one line and exit status 2."""
    try:
        yield
    except ConstraintError as error:
        _fail(f"{error.pointer}: {error}" if error.pointer and error.pointer not in str(error) else str(error))
    except (DecodingError, SpecError, TraceError, ModelError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    except UnicodeDecodeError as error:
        _fail(f"The file is not UTF-8 text: {error.reason} at byte {error.start}.")


def _fail(message: str) -> None:
    print(message, file=sys.stderr)
    raise typer.Exit(2)


def _given(schema: str, regex: str, gbnf: str, lark: str, request: str) -> dict[SourceKind, str]:
    """The sources that were given, read from their files."""
    given: dict[SourceKind, str] = {"json_schema": _schema(schema)} if schema else {}
    if regex:
        given["regex"] = regex
    files: tuple[tuple[SourceKind, str], ...] = (("gbnf", gbnf), ("lark", lark), ("request", request))
    given.update((kind, Path(name).read_text(encoding="utf-8")) for kind, name in files if name)
    return given


def _source(given: dict[SourceKind, str], options: list[str] | None) -> ConstraintSource:
    if len(given) != 1:
        raise typer.BadParameter("give one of --schema, --regex, --gbnf, --lark and --request")
    pairs = [tuple(option.split("=", 1)) for option in options or []]
    if any(len(pair) != 2 for pair in pairs):
        raise typer.BadParameter("an --option is written name=value")
    ((kind, text),) = given.items()
    return ConstraintSource(kind, text, tuple((name, value) for name, value in pairs))


def _schema(schema: str) -> str:
    """A schema begins like JSON; anything else is the name of a file."""
    begins_like_json = schema.lstrip()[:1] in ("{", '"', "[") or schema.strip() in ("true", "false")
    return schema if begins_like_json else Path(schema).read_text(encoding="utf-8")


def _read_text(text: str) -> str:
    return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text


def _example(name: str) -> RunSpec:
    found = [entry for entry in EXAMPLES if entry.name == name]
    if not found:
        raise typer.BadParameter(f"no such example; there are: {', '.join(entry.name for entry in EXAMPLES)}")
    return found[0].spec()


def _model() -> Model:
    def report(what: str, part: float) -> None:
        print(f"\r{what} ({part:.0%})\033[K", end="" if part < 1 else "\n", file=sys.stderr, flush=True)

    return load_model(progress=report if sys.stderr.isatty() else None)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _healing(given: str) -> Healing:
    if given == "auto" or given.isdecimal():
        return "auto" if given == "auto" else int(given)
    raise typer.BadParameter("healing is a number of tokens, or auto")


def _healed(healed: Healed) -> str:
    removed = ", ".join(_quoted(token, "") for _, token in healed.removed)
    return f"healed: {removed} at the end of the prompt was decoded again"


def _ending(saved: Trace) -> str:
    """How a run ended, and what jumping spared it."""
    said = f"{len(saved.steps)} steps in {saved.passes} passes, {saved.finish or 'unfinished'}"
    if saved.seconds_saved > 0:
        said += f", about {saved.seconds_saved:.2f} s saved by jumping"
    return f"{said}. {saved.missing}".rstrip()


def _table(saved: Trace) -> Table:
    table = Table(title=escape(_printable(saved.spec.prompt)), title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    for name in ("step", "kind", "rank", "raw", "renorm.", "allowed", "-ln Z"):
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    table.add_column("token", no_wrap=True)
    table.add_column("masked favourite")
    for step in saved.steps:
        table.add_row(*_row(step))
    return table


def _row(step: Step) -> list[str]:
    names = {candidate.token_id: candidate.name for candidate in step.candidates}
    blamed = ", ".join(map(str, step.argmax_origins))
    favourite = f"{_quoted(step.argmax, names.get(step.argmax_id, ''))} {blamed}" if step.argmax_masked else ""
    return [
        str(step.index),
        step.kind,
        str(step.rank),
        f"{step.raw:.4f}",
        f"{step.renormalised:.4f}",
        f"{step.allowed_count:,}",
        f"{step.cost:.3f}",
        escape(_quoted(step.token, names.get(step.token_id, ""))),
        escape(_printable(favourite)),
    ]


def _quoted(token: bytes, name: str) -> str:
    """A token as one line: by its name if it has one, else between quotes, so that white space shows."""
    return _printable(name or f"'{token.decode(errors='backslashreplace')}'").replace("\n", "\\n")


def _printable(text: str | bytes) -> str:
    """Text without control characters: what comes from a file must not steer the terminal."""
    text = text.decode(errors="backslashreplace") if isinstance(text, bytes) else text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)

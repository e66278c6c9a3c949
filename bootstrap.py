"""One command to run Maskscope, one to test it, with nothing installed but Python:

    python3 bootstrap.py run      set up, get the model ready, serve on localhost
    python3 bootstrap.py test     set up, run all tests (or pytest with the arguments given)

Everything is installed into `.venv` beside this file. A stamp in there says what was installed; while it is right, a
start installs nothing. This file uses the standard library only, and no syntax that an old Python could not read far
enough to be told that it is too old.
"""

import argparse
import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
RUN, TEST = "requirements.txt", "requirements-dev.txt"
SIDE_BY_SIDE = ["-n", "logical", "--maxprocesses", "4", "--dist", "worksteal", "-m", "not browser"]
PARTS = [SIDE_BY_SIDE, ["-m", "browser"]]
"""All tests: what needs no browser on several cores, then the browser's, whose server and Chromium want them all."""
UNFINISHED = ".maskscope-installing"


class SetupError(Exception):
    """The setup cannot go on; the message says why and what to do."""


def main(arguments: list) -> int:
    try:
        check_python(sys.version_info)  # before argparse, which an old Python has an old one of
        options, rest = parse(arguments)
        if options.command == "run":
            return serve(options.port)
        return test(rest)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The next start takes up from here.", file=sys.stderr)
        return 130


def parse(arguments: list) -> tuple:
    """The options, and what is left over for pytest."""
    parser = argparse.ArgumentParser(description="Run or test Maskscope.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="{run,test}", required=True)
    run = commands.add_parser("run", help="set up and start the app", allow_abbrev=False)
    run.add_argument("--port", type=port_number, default=8501, help="where to serve on localhost (default: 8501)")
    commands.add_parser("test", help="set up and run all tests, or pytest with the arguments given", allow_abbrev=False)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command == "run":
        parser.error("run does not know " + " ".join(rest))
    return options, rest


def port_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; ports are whole numbers from 1 to 65535")
    return int(text)


def serve(port: int) -> int:
    check_port(port)
    python = install(ROOT / ".venv", RUN)
    if not get_model(python):
        print("Starting without a model: pages that need none work, the others say what is missing.", flush=True)
    print(f"Starting Maskscope at http://localhost:{port} (Ctrl+C stops it)", flush=True)
    return become([str(python), "serve.py", "--server.port", str(port)])


def test(arguments: list) -> int:
    python = install(ROOT / ".venv", TEST)
    get_model(python)
    pytest = [str(python), "-m", "pytest"]
    given = [argument for argument in arguments if argument != "--"]
    if given:
        return become([*pytest, *given])
    go_home()
    statuses = [subprocess.call([*pytest, *part]) for part in PARTS]
    return next((status for status in statuses if status), 0)


def check_python(version: tuple) -> None:
    if tuple(version[:2]) < OLDEST:
        raise SetupError(
            "This is Python {}.{}; Maskscope needs {}.{} or later. Start bootstrap.py with a newer one.".format(
                *version[:2], *OLDEST
            )
        )


def check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("localhost", port)) == 0:
            raise SetupError(
                f"Port {port} is taken; perhaps Maskscope runs already at http://localhost:{port}. "
                f"Stop it, or name another port: python3 bootstrap.py run --port {port + 1 if port < 65535 else 8502}"
            )


def install(venv: Path, requirements: str) -> Path:
    """Make the environment hold what `requirements` asks for, if it does not yet; its Python."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (venv / UNFINISHED).exists() or version_of(python) is None:
        make_venv(venv)  # also after an interrupted installation: pip may take a half-copied package for a whole one
    stamp = venv / f".maskscope-{requirements}"
    wanted = fingerprint(ROOT / requirements, version_of(python) or "")
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"Installing {requirements} into .venv (the first time this takes a few minutes)", flush=True)
    (venv / UNFINISHED).touch()
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    if subprocess.call([*pip, "-r", requirements], cwd=ROOT) != 0:
        raise SetupError(
            f"pip could not install {requirements}; its own messages are above. "
            "Check the connection and the space on the disk, and start again."
        )
    for included in requirement_files(ROOT / requirements):
        stamp_of_included = venv / f".maskscope-{included.name}"
        stamp_of_included.write_text(fingerprint(included, version_of(python) or ""))
    (venv / UNFINISHED).unlink()
    return python


def make_venv(venv: Path) -> None:
    print("Making the environment .venv", flush=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode != 0:
        raise SetupError(
            f"Python could not make a virtual environment in {venv}:\n{made.stdout.strip()}\n"
            "On Debian and Ubuntu its module venv is a package of its own: apt install python3-venv"
        )


def version_of(python: Path) -> "str | None":
    """The version of the environment's Python, None if there is none that runs and has pip."""
    try:
        found = subprocess.run(
            [str(python), "-c", "import sys, pip._internal.cli.main; print(sys.version)"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def requirement_files(path: Path) -> list:
    """A requirements file and those it includes with -r."""
    files = [path]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            files += requirement_files(path.parent / line[3:].strip())
    return files


def fingerprint(requirements: Path, python_version: str) -> str:
    content = hashlib.sha256(python_version.encode())
    for path in requirement_files(requirements):
        content.update(path.read_text(encoding="utf-8").encode())
    return content.hexdigest()


def get_model(python: Path) -> bool:
    """Fetch and convert the bundled model unless that is done or another is named; progress goes to the terminal."""
    status = subprocess.call([str(python), "-m", "engine.model"], cwd=ROOT)
    if status == 130:
        raise KeyboardInterrupt
    return status == 0


def go_home() -> None:
    """Into the project's folder; a model named by a path stays the one meant from where the command was given."""
    named = os.environ.get("MASKSCOPE_MODEL", "")
    if named and Path(named).exists():
        os.environ["MASKSCOPE_MODEL"] = str(Path(named).resolve())
    os.chdir(ROOT)


def become(command: list) -> int:
    """Go on as `command`, in the project's folder, so that signals reach it and nothing else."""
    go_home()
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The warpmark program: where it is, and how it is run."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from typing import List, NoReturn, Sequence, TextIO

_PREFIX = pathlib.Path(__file__).resolve().parent / "_program"


class WarpmarkError(RuntimeError):
    """warpmark gave no result. The text names the cause and the fix."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text.strip())
        self.exit_code = exit_code


def executable() -> str:
    """Of this package, or what WARPMARK names."""
    return os.environ.get("WARPMARK") or str(_PREFIX / "bin" / "warpmark")


def library(name: str) -> str:
    return str(pathlib.Path(executable()).resolve().parent.parent / "lib" / "warpmark" / name)


def version() -> str:
    return call(["--version"]).stdout.split()[1]


def call(words: Sequence[str], inherit: bool = False) -> "subprocess.CompletedProcess[str]":
    """Errors and progress go to our stderr where they are to be seen while it runs (`inherit`); else the last line of them is
    shown while it runs, if stderr is a terminal."""
    try:
        process = subprocess.Popen([executable(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=None if inherit else subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise WarpmarkError(f"{executable()} cannot be started: {error}", 5) from error
    said: List[str] = []
    with process:
        reader = threading.Thread(target=_follow, args=(process.stderr, said, sys.stderr), daemon=True)
        try:
            if process.stderr is not None:
                reader.start()
            out = process.stdout.read() if process.stdout is not None else ""
            code = process.wait()
        except BaseException:  # Ctrl-C: what it started ends with it
            process.terminate()
            raise
        if process.stderr is not None:
            reader.join()
    return subprocess.CompletedProcess(list(words), code, out, "".join(said))


def _follow(stream: TextIO, said: List[str], shown: TextIO) -> None:
    terminal, begun = shown is not None and shown.isatty(), time.monotonic()
    for line in stream:
        said.append(line)
        if terminal and line.strip():
            width = shutil.get_terminal_size().columns - 1
            shown.write("\r\x1b[K" + f"{time.monotonic() - begun:.0f} s  {line.strip()}"[:width])
            shown.flush()
    if terminal and said:
        shown.write("\r\x1b[K")
        shown.flush()


def main() -> NoReturn:
    """The command `warpmark`."""
    try:
        os.execv(executable(), ["warpmark", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{executable()} cannot be started: {error}")

"""The warpmark program: where it is, and how it is run."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import NoReturn, Sequence

_PREFIX = pathlib.Path(__file__).resolve().parent / "_program"


class WarpmarkError(RuntimeError):
    """warpmark gave no result. The text names the cause and the cure."""

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
    """Errors and progress go to our stderr where they are to be seen while it runs (`inherit`)."""
    try:
        return subprocess.run([executable(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=None if inherit else subprocess.PIPE, text=True, errors="replace", check=False)
    except OSError as error:
        raise WarpmarkError(f"{executable()} cannot be started: {error}", 5) from error


def main() -> NoReturn:
    """The command `warpmark`."""
    try:
        os.execv(executable(), ["warpmark", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{executable()} cannot be started: {error}")

"""The verbs of warpmark as functions. Paths may be strings or pathlib paths; commands are lists of words, never shell texts."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._program import WarpmarkError, call
from ._results import Analysis, Comparison, Journey, Report, Run

Path = Union[str, "os.PathLike[str]"]
Command = Sequence[str]
Kind = TypeVar("Kind", bound=Report)


def analyze(*paths: Path, top: int = 5) -> Analysis:
    """What `warpmark analyze` says of profiles; several are the ranks of one program. Needs no GPU."""
    if not paths:
        raise TypeError("analyze() needs a profile at least")
    with tempfile.TemporaryDirectory(prefix="warpmark-") as folder:
        page = pathlib.Path(folder) / "report.html"
        return _answer(Analysis, folder, ["analyze", *map(_path, paths), f"--top={top}", f"--html={page}"], page, [])


def query(sql: str, *paths: Path) -> List[Dict[str, Any]]:
    """One SELECT over the tables of profiles (docs/profile-sql.md); a row is a dict."""
    done = call(["analyze", *map(_path, paths), f"--query={sql}", "--format=json"])
    if done.returncode != 0:
        raise WarpmarkError(done.stderr, done.returncode)
    rows: List[Dict[str, Any]] = json.loads(done.stdout)
    return rows


def compare(a: Command, b: Command, *, effect: Optional[float] = None, rounds: Optional[int] = None,
            budget: Optional[str] = None, store: bool = True, options: Sequence[str] = ()) -> Comparison:
    """Runs two commands in random order until the verdict on B is certain. `effect` is the smallest ratio that matters
    (0.01), `options` are further ones of `warpmark compare`."""
    given = [*_given(effect=effect, rounds=rounds, budget=budget), *([] if store else ["--no-store"]), *options]
    return _with_folder(Comparison, "compare", given, ["--", *_words(a), "--", *_words(b)])


def run(*workloads: str, command: Optional[Command] = None, suite: Optional[str] = None, device: Optional[str] = None,
        set: Optional[Mapping[str, Any]] = None, rounds: Optional[int] = None, budget: Optional[str] = None,
        store: bool = True, options: Sequence[str] = ()) -> Run:
    """Measures benchmarks of this machine (all of the quick suite without any), or a command."""
    given = [*_given(suite=suite, device=device, rounds=rounds, budget=budget), *([] if store else ["--no-store"])]
    given += [f"--set={name}={value}" for name, value in (set or {}).items()]
    for workload in workloads:
        if workload.startswith("-"):
            raise ValueError(f"{workload!r} is no workload; options are keywords or `options`")
    return _with_folder(Run, "run", [*given, *options, *workloads], ["--", *_words(command)] if command else [])


def optimize(command: Command, *, only: Sequence[str] = (), skip: Sequence[str] = (), effect: Optional[float] = None,
             rounds: Optional[int] = None, budget: Optional[str] = None, options: Sequence[str] = ()) -> Journey:
    """Finds and proves what makes a training or inference program faster; takes many runs of it."""
    given = [*_given(effect=effect, rounds=rounds, budget=budget), *(f"--only={knob}" for knob in only),
             *(f"--skip={knob}" for knob in skip), *options]
    return _with_folder(Journey, "optimize", given, ["--", *_words(command)])


def _path(path: Path) -> str:
    """A path that begins with - is no option."""
    text = os.fspath(path)
    return "./" + text if text.startswith("-") else text


def _words(command: Command) -> List[str]:
    if isinstance(command, (str, bytes)):
        raise TypeError("a command is a list of words, such as ['python', 'train.py']")
    words = [os.fspath(word) for word in command]
    if not words:
        raise ValueError("the command has no words")
    return words


def _given(**options: Any) -> List[str]:
    return [f"--{name}={value}" for name, value in options.items() if value is not None]


def _with_folder(kind: Type[Kind], verb: str, options: Sequence[str], rest: Sequence[str]) -> Kind:
    with tempfile.TemporaryDirectory(prefix="warpmark-") as folder:
        out = pathlib.Path(folder) / "out"
        return _answer(kind, folder, [verb, *options, f"--out={out}"], out / "report.html", rest)


def _answer(kind: Type[Kind], folder: str, words: Sequence[str], page: pathlib.Path, rest: Sequence[str]) -> Kind:
    result = pathlib.Path(folder) / "result.json"
    done = call([*words, f"--json={result}", *rest])
    try:
        data = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise WarpmarkError(done.stderr or done.stdout, done.returncode) from None
    if done.stderr and done.returncode not in (0, 1):
        print(done.stderr, end="", file=sys.stderr)
    return kind(data, done.stdout, page.read_text(encoding="utf-8") if page.exists() else "", done.returncode)

"""The verbs of warpmark as functions. Paths may be strings or pathlib paths; commands are lists of words, never shell texts."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._program import WarpmarkError, call
from ._results import Analysis, Answer, Comparison, Optimization, Report, Run

Path = Union[str, "os.PathLike[str]"]
Command = Sequence[str]
Kind = TypeVar("Kind", bound=Report)


def analyze(*paths: Path, top: int = 5) -> Analysis:
    """What `warpmark analyze` says of profiles; several are the ranks of one program. Needs no GPU.

        >>> warpmark.analyze("trace.json.gz").findings[0].gain.low
    """
    if not paths:
        raise TypeError("analyze() needs a profile at least")
    with tempfile.TemporaryDirectory(prefix="warpmark-") as folder:
        page = pathlib.Path(folder) / "report.html"
        return _answer(Analysis, folder, ["analyze", *map(_path, paths), f"--top={top}", f"--html={page}"], page, [])


def query(sql: str, *paths: Path) -> List[Dict[str, Any]]:
    """One SELECT over the tables of profiles (docs/profile-sql.md); a row is a dict.

        >>> warpmark.query("SELECT name, count(*) AS n FROM kernels GROUP BY name", "trace.json.gz")
    """
    done = call(["analyze", *map(_path, paths), f"--query={sql}", "--format=json"])
    if done.returncode != 0:
        raise WarpmarkError(done.stderr, done.returncode)
    answer = json.loads(done.stdout)
    if answer["rows_left_out"]:
        raise WarpmarkError(f"{answer['rows_left_out']} rows were left out: add a LIMIT to the query", done.returncode)
    rows: List[Dict[str, Any]] = answer["rows"]
    return rows


def compare(a: Command, b: Command, *, effect: Optional[float] = None, rounds: Optional[int] = None,
            budget: Optional[str] = None, store: bool = True, options: Sequence[str] = ()) -> Comparison:
    """Runs two commands in random order until the verdict on B is certain. `effect` is the smallest ratio that matters
    (0.01), `options` are further ones of `warpmark compare`.

        >>> warpmark.compare(["python", "a.py"], ["python", "b.py"], effect=0.02).verdict
    """
    given = [*_given(effect=effect, rounds=rounds, budget=budget), *([] if store else ["--no-store"]), *options]
    return _with_folder(Comparison, "compare", given, ["--", *_words(a), "--", *_words(b)])


def run(*workloads: str, command: Optional[Command] = None, suite: Optional[str] = None, device: Optional[str] = None,
        set: Optional[Mapping[str, Any]] = None, rounds: Optional[int] = None, budget: Optional[str] = None,
        store: bool = True, options: Sequence[str] = ()) -> Run:
    """Measures benchmarks of this machine (all of the quick suite without any), or a command.

        >>> warpmark.run("gemm", set={"dtype": "bf16"}).results[0].metrics[0].median
    """
    given = [*_given(suite=suite, device=device, rounds=rounds, budget=budget), *([] if store else ["--no-store"])]
    given += [f"--set={name}={value}" for name, value in (set or {}).items()]
    for workload in workloads:
        if workload.startswith("-"):
            raise ValueError(f"{workload!r} is no workload; options are keywords or `options`")
    return _with_folder(Run, "run", [*given, *options, *workloads], ["--", *_words(command)] if command else [])


def optimize(command: Command, *, only: Sequence[str] = (), skip: Sequence[str] = (), effect: Optional[float] = None,
             rounds: Optional[int] = None, budget: Optional[str] = None, options: Sequence[str] = ()) -> Optimization:
    """Finds and proves what makes a training or inference program faster; takes many runs of it.

        >>> warpmark.optimize(["python", "train.py"], budget="30m").steps
    """
    given = [*_given(effect=effect, rounds=rounds, budget=budget), *(f"--only={knob}" for knob in only),
             *(f"--skip={knob}" for knob in skip), *options]
    return _with_folder(Optimization, "optimize", given, ["--", *_words(command)])


def compare_runs(a: str, b: str, *, effect: Optional[float] = None, options: Sequence[str] = ()) -> Comparison:
    """Compares two stored sessions, by id, or two files of results.

        >>> warpmark.compare_runs("20261127-101500-1a2b", "last", effect=0.02).verdict
        'better'
    """
    return _with_folder(Comparison, "compare", [*_given(effect=effect), *options, _path(a), _path(b)], [])


def check(command: Optional[Command] = None, *, baseline: Optional[str] = None, threshold: Optional[float] = None,
          run: Optional[str] = None, options: Sequence[str] = ()) -> Answer:
    """Whether the newest results, or those of a command, are worse than the history of a branch. Exit code 1: they are.

        >>> warpmark.check(baseline="main").exit_code
        0
    """
    given = [*_given(baseline=baseline, threshold=threshold, run=run), *options]
    return _with_folder(Answer, "check", given, ["--", *_words(command)] if command else [])


def trend(pattern: str = "*", *, options: Sequence[str] = ()) -> Answer:
    """How metrics went over the commits, and where their level changed (warpmark.trend/1).

        >>> warpmark.trend("gemm*").data["series"]
    """
    return _printed(["trend", "--format=json", *options, _path(pattern)])


def history(*words: str, options: Sequence[str] = ()) -> Answer:
    """Stored sessions (warpmark.sessions/1), or one of them: history("show", "last").

        >>> [session["id"] for session in warpmark.history().data["sessions"]]
    """
    if words[:1] == ("show",):
        return _printed(["report", "--format=json", *options, *map(_path, words[1:])])
    return _printed(["history", *(words or ("list",)), "--json", *options])


def doctor() -> Answer:
    """What this machine is, and what disturbs measurements on it (warpmark.doctor/1).

        >>> [check["id"] for check in warpmark.doctor().data["checks"] if check["state"] == "bad"]
    """
    return _printed(["doctor", "--json"])


def load(*words: str) -> Answer:
    """Load on an inference server; words are those of `warpmark load run`.

        >>> warpmark.load("--api-base=http://127.0.0.1:8000", "--model=llama").data
    """
    return _written(["load", "run", *words])


def eval(*words: str) -> Answer:  # noqa: A001  the verb's name
    """Scores of answers; words are those of `warpmark eval`.

        >>> warpmark.eval("score", "exact_match", "--ref=references.jsonl", "answers.jsonl").data
    """
    return _written(["eval", *words])


def collective(*operations: str, options: Sequence[str] = ()) -> Answer:
    """Collective operations over MPI or NCCL.

        >>> warpmark.collective("all_reduce", options=["--ranks=2"]).data["rows"]
    """
    return _written(["collective", *options, *operations])


def scale(command: Command, *, options: Sequence[str] = ()) -> Answer:
    """How a command scales, and what limits it.

        >>> warpmark.scale(["python", "train.py"], options=["--ranks=1,2,4"])
    """
    return _written(["scale", *options], ["--", *_words(command)])


def matrix(*words: str) -> Answer:
    """Many variants against each other; words are those of `warpmark matrix`.

        >>> warpmark.matrix("matrix.yaml").data["schema"]
    """
    return _written(["matrix", *words])


def validate(*words: str) -> Answer:
    """Whether claims hold; words are those of `warpmark validate`.

        >>> warpmark.validate("claims.yaml").exit_code
    """
    return _written(["validate", *words])


def profile(command: Command, out: Path, *, duration: Optional[str] = None, options: Sequence[str] = ()) -> Analysis:
    """Records what a command does on the GPU, and analyzes the recording.

        >>> warpmark.profile(["python", "train.py"], "train.wmrec").findings[0].title
    """
    done = call(["profile", f"--out={os.fspath(out)}", *_given(duration=duration), *options, "--", *_words(command)])
    if not os.path.exists(out):
        raise WarpmarkError(done.stderr, done.returncode)
    return analyze(out)


def _printed(words: Sequence[str]) -> Answer:
    done = call(words)
    try:
        return Answer(json.loads(done.stdout), done.stdout, "", done.returncode)
    except ValueError:
        raise WarpmarkError(done.stderr or done.stdout, done.returncode) from None


def _written(words: Sequence[str], rest: Sequence[str] = ()) -> Answer:
    with tempfile.TemporaryDirectory(prefix="warpmark-") as folder:
        return _answer(Answer, folder, words, pathlib.Path(folder) / "none", rest)


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
    words = [*words, *rest]
    options = words.index("--") if "--" in words else len(words)  # what is behind it belongs to a command
    done = call([*words[:options], f"--json={result}", *words[options:]])
    try:
        data = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise WarpmarkError(done.stderr or done.stdout, done.returncode) from None
    if done.stderr and done.returncode not in (0, 1):
        print(done.stderr, end="", file=sys.stderr)
    return kind(data, done.stdout, page.read_text(encoding="utf-8") if page.exists() else "", done.returncode)

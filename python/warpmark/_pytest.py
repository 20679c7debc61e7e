"""The fixture `warpmark` of pytest:

    def test_it_is_faster(warpmark):
        result, baseline = warpmark(new_function, data), warpmark(old_function, data)
        assert result.better_than(baseline, 0.05)

It takes the options of pytest-benchmark. --benchmark-disable calls a function once, --benchmark-skip skips tests with the
fixture, --benchmark-only runs no others; --benchmark-max-time, -min-rounds, -warmup and -disable-gc are heeded, and
--benchmark-json writes what `warpmark history import` reads. Options for its own storage and tables are accepted, and a warning
says that they do nothing here.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import json
import os
import platform
import statistics
import warnings
from dataclasses import replace
from typing import Any, Callable, List

import pytest

from ._timing import Timing, measure

_ITS_NAME = "benchmark"  # of pytest-benchmark among pytest's plug-ins

_OPTIONS = {
    "--benchmark-disable": {"action": "store_true", "help": "call what is timed once, and time it no further"},
    "--benchmark-enable": {"action": "store_true", "help": "time also where --benchmark-disable is given"},
    "--benchmark-skip": {"action": "store_true", "help": "skip tests that time something"},
    "--benchmark-only": {"action": "store_true", "help": "run only tests that time something"},
    "--benchmark-max-time": {"type": float, "default": 1.0, "help": "seconds for one function (1)"},
    "--benchmark-min-rounds": {"type": int, "default": 5, "help": "samples at least (5)"},
    "--benchmark-warmup": {"default": "auto", "nargs": "?", "const": "on", "help": "off: without warming up"},
    "--benchmark-disable-gc": {"action": "store_true", "help": "no garbage collection while timing"},
    "--benchmark-json": {"metavar": "PATH", "help": "write the timings, as pytest-benchmark does"},
}
_OF_ITS_OWN = {"nargs": "?", "const": True, "help": "of pytest-benchmark: has no effect on the fixture warpmark"}
_OPTIONS.update({"--benchmark-" + name: _OF_ITS_OWN for name in (
    "autosave", "calibration-precision", "columns", "compare", "compare-fail", "cprofile", "group-by", "histogram", "min-time",
    "name", "quiet", "save", "save-data", "sort", "storage", "time-unit", "timer", "verbose", "warmup-iterations")})


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    if importlib.util.find_spec("pytest_benchmark") and not pluginmanager.is_blocked(_ITS_NAME):
        return  # it has them, or will when it is loaded after us
    group = parser.getgroup("warpmark")
    for name, how in _OPTIONS.items():
        group.addoption(name, **how)


def _is_beside_it(config: Any) -> bool:
    return bool(config.pluginmanager.hasplugin(_ITS_NAME))


def _option(config: Any, name: str) -> Any:
    return config.getoption(name, _OPTIONS[name].get("default"))


def pytest_collection_modifyitems(config: Any, items: List[Any]) -> None:
    if _is_beside_it(config):  # it heeds its options itself, for its own fixture
        return
    for item in items:
        timed = "warpmark" in getattr(item, "fixturenames", ())
        if timed and _option(config, "--benchmark-skip"):
            item.add_marker(pytest.mark.skip(reason="--benchmark-skip"))
        if not timed and _option(config, "--benchmark-only"):
            item.add_marker(pytest.mark.skip(reason="--benchmark-only"))


def pytest_configure(config: Any) -> None:
    config._warpmark_timings = []
    if _is_beside_it(config):
        return
    for name, how in _OPTIONS.items():
        if how is _OF_ITS_OWN and _option(config, name) is not None:
            warnings.warn(f"{name} is an option of pytest-benchmark and has no effect on the fixture warpmark")
    path = _option(config, "--benchmark-json")
    if path:
        try:
            open(path, "a", encoding="utf-8").close()  # now, and not after all tests have run
        except OSError as error:
            raise pytest.UsageError(f"cannot write --benchmark-json: {error}") from None


def pytest_sessionfinish(session: Any) -> None:
    path = _option(session.config, "--benchmark-json")
    if not path or _is_beside_it(session.config):
        return
    timed = [_as_pytest_benchmark(*one) for one in session.config._warpmark_timings]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine_info": _machine(), "benchmarks": timed}, file, indent=1)


def _machine() -> dict:
    return {"node": platform.node(), "system": platform.system(), "release": platform.release(),
            "python_implementation": platform.python_implementation(), "python_version": platform.python_version(),
            "cpu": {"count": os.cpu_count()}}


def _as_pytest_benchmark(label: str, timing: Timing) -> dict:
    samples = timing.samples
    stats = {"min": min(samples), "max": max(samples), "mean": statistics.fmean(samples), "median": timing.median,
             "stddev": statistics.stdev(samples) if len(samples) > 1 else 0.0, "rounds": len(samples),
             "iterations": timing.calls_per_sample, "data": samples}
    return {"name": label.rsplit("::", 1)[-1], "fullname": label, "stats": stats}


@pytest.fixture(name="warpmark")
def _warpmark(request: Any) -> Callable[..., Timing]:
    option = functools.partial(_option, request.config)

    def timed(function: Callable[..., Any], *arguments: Any, **named: Any) -> Timing:
        name = getattr(function, "__name__", type(function).__name__)
        call = functools.partial(function, *arguments, **named)
        if option("--benchmark-disable") and not option("--benchmark-enable"):
            return replace(measure(call, name=name, most_samples=1, fewest_samples=1, warmup_s=0), disabled=True)
        collects = gc.isenabled() and option("--benchmark-disable-gc")
        if collects:
            gc.disable()
        try:
            timing = measure(call, name=name, budget_s=float(option("--benchmark-max-time")),
                             warmup_s=0.0 if option("--benchmark-warmup") == "off" else 0.1,
                             fewest_samples=int(option("--benchmark-min-rounds")))
        finally:
            if collects:
                gc.enable()
        timings, label = request.config._warpmark_timings, f"{request.node.nodeid}[{timing.name}]"
        before = sum(known.split("#")[0] == label for known, _ in timings)  # one function may be timed with other arguments
        timings.append((label + f"#{before + 1}" if before else label, timing))
        return timing

    return timed

"""The fixture `warpmark` of pytest:

    def test_it_is_faster(warpmark):
        result, baseline = warpmark(new_function, data), warpmark(old_function, data)
        assert result.better_than(baseline, 0.05)

It takes the options of pytest-benchmark: --benchmark-disable calls a function once, --benchmark-skip skips tests with the
fixture, --benchmark-only runs no others; --benchmark-max-time, --benchmark-min-rounds and --benchmark-warmup are heeded.
"""

from __future__ import annotations

from typing import Any, Callable, List

import pytest

from ._timing import Timing, measure

_OPTIONS = {
    "--benchmark-disable": {"action": "store_true", "help": "call what is timed once, and time it no further"},
    "--benchmark-skip": {"action": "store_true", "help": "skip tests that time something"},
    "--benchmark-only": {"action": "store_true", "help": "run only tests that time something"},
    "--benchmark-max-time": {"type": float, "default": 1.0, "help": "seconds for one function (1)"},
    "--benchmark-min-rounds": {"type": int, "default": 5, "help": "samples at least (5)"},
    "--benchmark-warmup": {"default": "auto", "help": "off: without warming up"},
}


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("warpmark")
    for name, how in _OPTIONS.items():
        try:
            group.addoption(name, **how)
        except ValueError:  # pytest-benchmark is installed and has it already
            continue


def pytest_collection_modifyitems(config: Any, items: List[Any]) -> None:
    if hasattr(config, "_benchmarksession"):  # pytest-benchmark heeds its options itself, for its own fixture
        return
    for item in items:
        timed = "warpmark" in getattr(item, "fixturenames", ())
        if timed and config.getoption("--benchmark-skip"):
            item.add_marker(pytest.mark.skip(reason="--benchmark-skip"))
        if not timed and config.getoption("--benchmark-only"):
            item.add_marker(pytest.mark.skip(reason="--benchmark-only"))


@pytest.fixture(name="warpmark")
def _warpmark(request: Any) -> Callable[..., Timing]:
    option = request.config.getoption

    def timed(function: Callable[..., Any], *arguments: Any) -> Timing:
        if option("--benchmark-disable"):
            return measure(function, *arguments, most_samples=1, fewest_samples=1, warmup_s=0)
        warmup_s = 0.0 if option("--benchmark-warmup") == "off" else 0.1
        return measure(function, *arguments, budget_s=float(option("--benchmark-max-time")), warmup_s=warmup_s,
                       fewest_samples=int(option("--benchmark-min-rounds")))

    return timed

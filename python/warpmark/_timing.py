"""Timing a callable in this process, and comparing two timings."""

from __future__ import annotations

import json
import math
import pathlib
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional

from ._program import WarpmarkError, call
from ._results import Interval, MetricVerdict

_LEAST_SAMPLE_S = 1e-4  # far above what reading the clock takes
_FEWEST = 5


@dataclass(frozen=True)
class Speedup:
    """Speedup over the baseline, with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g}x [{self.low:.3g}x, {self.high:.3g}x]"


@dataclass(frozen=True)
class Timing:
    """Seconds of one call. `samples` are in the order in which they were taken; each is the mean of `calls_per_sample` calls."""

    name: str
    samples: List[float] = field(repr=False)
    calls_per_sample: int = 1
    value: Any = field(repr=False, default=None)
    """What the last call returned."""
    disabled: bool = field(repr=False, default=False)
    """Called once and not timed, as pytest's --benchmark-disable asks: it is better than anything, so that tests pass."""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def interval(self) -> Optional[Interval]:
        """Of the median, 95 %, by order statistics; None for fewer than 6 samples, which have none."""
        ordered, n = sorted(self.samples), len(self.samples)
        below, outside = -1, 0.0
        for k in range(n // 2):
            outside += 2 * math.comb(n, k) / 2**n
            if outside > 0.05:
                break
            below = k
        return None if below < 0 else Interval(ordered[below], ordered[n - 1 - below], 0.95)

    def speedup_over(self, baseline: "Timing") -> Speedup:
        """As `warpmark compare` judges the two sets of samples. Raises ValueError where they are too few."""
        with tempfile.TemporaryDirectory(prefix="warpmark-") as folder:
            files = [pathlib.Path(folder) / name for name in ("baseline.json", "new.json")]
            for file, timing in zip(files, (baseline, self)):  # in the form of hyperfine
                file.write_text(json.dumps({"results": [{"command": "call", "times": timing.samples}]}), encoding="utf-8")
            answer = pathlib.Path(folder) / "compare.json"
            done = call(["compare", *map(str, files), f"--json={answer}"])
            if not answer.exists():
                raise WarpmarkError(done.stderr, done.returncode)
            judged = MetricVerdict.of(json.loads(answer.read_text(encoding="utf-8"))["metrics"][0])
        if judged.ratio is None or judged.interval is None:
            raise ValueError(f"{len(self.samples)} and {len(baseline.samples)} samples are too few to compare")
        return Speedup(1 / judged.ratio, 1 / judged.interval.high, 1 / judged.interval.low)

    def better_than(self, baseline: "Timing", effect: float = 0.01) -> bool:
        """Whether it is faster by the ratio `effect` at least, with 95 % confidence.

        Samples of one process share one memory layout: for a proof, compare two programs with `warpmark.compare`.

            >>> new, old = warpmark.measure(new_function), warpmark.measure(old_function)
            >>> assert new.better_than(old, 0.05)
        """
        return self.disabled or baseline.disabled or self.speedup_over(baseline).low >= 1 / (1 - effect)

    def worse_than(self, baseline: "Timing", effect: float = 0.01) -> bool:
        """Whether it is slower by the ratio `effect` at least, with 95 % confidence."""
        return not (self.disabled or baseline.disabled) and self.speedup_over(baseline).high <= 1 / (1 + effect)

    def __str__(self) -> str:
        known = self.interval
        spread = f" [{_seconds(known.low)}, {_seconds(known.high)}]" if known else ""
        return f"{self.name}: {_seconds(self.median)}{spread}, {len(self.samples)} samples of {self.calls_per_sample} calls"


def measure(function: Callable[..., Any], *arguments: Any, name: str = "", budget_s: float = 1.0, most_samples: int = 1000,
            fewest_samples: int = _FEWEST, warmup_s: float = 0.1) -> Timing:
    """Times calls of a function on this thread: warms up, batches calls until the clock can resolve them, and samples until the
    budget is used up.

        >>> print(warpmark.measure(sorted, numbers))
        sorted: 1.2 ms [1.19 ms, 1.21 ms], 800 samples of 1 calls
    """
    if not budget_s > 0 or most_samples < 1 or fewest_samples < 1:
        raise ValueError("budget_s, most_samples and fewest_samples must be above 0")
    begun, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - begun < warmup_s:
        value = function(*arguments)
        calls += 1
    each_s = max((time.perf_counter() - begun) / calls, 1e-9)
    batch = max(1, math.ceil(_LEAST_SAMPLE_S / each_s))
    samples: List[float] = []
    begun = time.perf_counter()
    while len(samples) < most_samples and (len(samples) < fewest_samples or time.perf_counter() - begun < budget_s):
        start = time.perf_counter_ns()
        for _ in range(batch):
            value = function(*arguments)
        samples.append((time.perf_counter_ns() - start) * 1e-9 / batch)
    return Timing(name or getattr(function, "__name__", type(function).__name__), samples, batch, value)


def _seconds(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"

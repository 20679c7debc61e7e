"""Measure, diagnose and compare GPU programs with warpmark, from Python.

    import warpmark
    warpmark.analyze("trace.json.gz")                      # in a notebook: the report
    warpmark.compare(["python", "a.py"], ["python", "b.py"]).verdict
    with warpmark.record() as recording:                    # a part of this program, on the GPU
        train_one_epoch()
    recording.analysis.findings[0].gain

Everything is done by the `warpmark` program that this package brings; results are its JSON as dataclasses, with the whole of it
in `.data`.
"""

from ._program import WarpmarkError, executable, version
from ._recording import Recording, record
from ._results import (Analysis, Answer, BreakdownPart, Comparison, Finding, Gain, Interval, Optimization, Measurement, Metric,
                       MetricVerdict, Recommendation, Run, Step)
from ._timing import Speedup, Timing, measure
from ._verbs import (analyze, check, collective, compare, compare_runs, doctor, eval, history, load, matrix, optimize, profile,
                     query, run, scale, trend, validate)

__all__ = [  # without eval, which would hide Python's own where all names are imported
    "Analysis", "Answer", "BreakdownPart", "Comparison", "Finding", "Gain", "Interval", "Optimization", "Measurement", "Metric",
    "MetricVerdict", "Recommendation", "Recording", "Run", "Speedup", "Step", "Timing", "WarpmarkError", "analyze", "check",
    "collective", "compare", "compare_runs", "doctor", "executable", "history", "load", "matrix", "measure", "optimize",
    "profile", "query", "record", "run", "scale", "trend", "validate", "version",
]

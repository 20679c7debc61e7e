"""Records some steady steps with PyTorch's own profiler, which every torch has, as a trace that the analysis reads.

A run that is recorded is not timed. The profiler is started where the warm-up ends; one step of it goes before those
that are recorded, as the first is slow.
"""

import math
import os
import sys
import time

import _warpmark_versions as versions

FEWEST, MOST = 3, 64  # steps where a time was asked for: the profiler keeps all records in memory


def of(torch, plan, report):
    """Nothing where no recording is asked for."""
    wanted = plan.get("profile")
    return Profile(torch, wanted, report) if wanted else None


def stacks_work(torch):
    """PyTorch 1.13 with Python 3.11 and 2.6 with Python 3.13 crash where the profiler follows Python's calls."""
    version = versions.numbers(str(torch.__version__))
    return version >= (2, 1) and (version >= (2, 7) or sys.version_info < (3, 13))


class Profile:
    def __init__(self, torch, wanted, report):
        self.torch = torch
        self.steps = int(wanted.get("steps", 0))
        self.seconds = float(wanted.get("seconds", 0))  # instead of steps
        self.before = None  # when the step before ended
        self.stacks = bool(wanted.get("stacks")) and stacks_work(torch)
        self.folder = wanted["folder"]
        self.report = report
        self.profiler = None
        self.over = False
        self.files = []
        self.rows = []  # of the recorded steps: seconds, and those of the phases

    def step(self, after_warmup, row=None):
        """Once a step, with the seconds of its phases where they are known; true where the recording is whole."""
        before, self.before = self.before, time.perf_counter()
        if after_warmup < 0 or self.over or (self.steps == 0 and before is None):
            return False
        try:
            if self.profiler is None:
                if self.steps == 0:
                    step_s = max(self.before - before, 1e-9)
                    self.steps = max(FEWEST, min(MOST, math.ceil(self.seconds / step_s)))
                self.last = after_warmup + self.steps
                self.begin()
                return False
            self.profiler.step()
            if row is not None and after_warmup > self.last - self.steps:  # the first is the profiler's own warm-up
                self.rows.append((self.before - before,) + row)
            if after_warmup > self.last:
                self.finish()
                return True
        except Exception as problem:
            self.over = True
            self.report.fault("profiler", problem)
        return False

    def begin(self):
        from torch import profiler

        kinds = [profiler.ProfilerActivity.CPU]
        if self.torch.cuda.is_available():
            kinds.append(profiler.ProfilerActivity.CUDA)
        self.profiler = profiler.profile(
            activities=kinds,
            schedule=profiler.schedule(wait=0, warmup=1, active=self.steps),
            record_shapes=True,
            with_stack=self.stacks,
            on_trace_ready=self.write,  # when the steps are recorded: a later stop() has lost them
        )
        self.profiler.start()

    def finish(self):
        """Also where the program ends before all steps were recorded."""
        if self.profiler is None or self.over:
            return
        self.over = True
        self.profiler.stop()

    def write(self, profiler):
        path = os.path.join(self.folder, "rank%s-%d.json" % (os.environ.get("RANK", "0"), os.getpid()))
        if not os.path.exists(path):
            profiler.export_chrome_trace(path)
            self.files.append(path)
        self.write_phases(path[: -len("json")] + "phases")

    def write_phases(self, path):
        """Sums over the recorded steps."""
        import json

        if not self.rows:
            return
        sums = dict(zip(("seconds", "data", "forward", "backward", "optimizer"), map(sum, zip(*self.rows))))
        with open(path, "w", encoding="ascii") as file:
            json.dump(dict(sums, steps=len(self.rows)), file)

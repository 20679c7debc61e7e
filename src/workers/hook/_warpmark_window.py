"""The measured steps after the warm-up."""

import time

clock = time.perf_counter


class Window:
    def __init__(self, plan):
        self.most = int(plan.get("window_steps", 0))  # 0: until the program ends
        self.most_s = float(plan.get("window_seconds", 0))  # or so long, whichever is first; 0: without limit
        self.begin_s = None
        self.steps = self.samples = 0
        self.left_out = 0  # further steps, with an evaluation ...
        self.left_out_s = 0.0  # ... and their seconds

    def begin(self):
        self.begin_s = clock()
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)  # of the tool's own monotonic_ns()

    def step(self, samples, evaluated_s):
        if self.begin_s is None:
            return
        if evaluated_s is None:
            self.steps += 1
            self.samples += samples
        else:
            self.left_out += 1
            self.left_out_s += evaluated_s

    def is_over(self, now, world):
        """All ranks end after the same step, also where one of them evaluates."""
        if self.begin_s is None:
            return False
        inside = self.steps + (self.left_out if world > 1 else 0)
        return (self.most and inside >= self.most) or (
            self.most_s and inside > 0 and now - self.begin_s >= self.most_s
        )

    def notify(self, report, end_s, program_s):
        """`program_s`: where the program began, without its wait for others."""
        if self.steps == 0:
            return
        report.add(
            "window",
            steps=self.steps,
            seconds=end_s - self.begin_s - self.left_out_s,
            samples=self.samples,
            before=self.begin_s - program_s,
            began=self.began,
            left_out=self.left_out,
        )

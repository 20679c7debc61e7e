"""A recording that sleeps until somebody asks for it: `warpmark profile --dormant`, then `warpmark profile --pid`.

FOLDER/PID.wake holds lines NAME=VALUE (profile/module/recorder.h): where to record, and how much. A new file is looked for
at most 20 times a second, after a step, on the thread that trains: PyTorch's profiler records the thread that starts it.
"""

import os
import time

import _warpmark_profile as profile

LOOK_S = 0.05
clock = time.monotonic


def of(torch, plan):
    return Dormant(torch, plan["dormant"]) if plan.get("dormant") else None


class Dormant:
    def __init__(self, torch, folder):
        self.torch = torch
        self.path = os.path.join(folder, "%d.wake" % os.getpid())
        self.next_poll = 0.0
        self.seen = 0  # a request may come before torch is loaded; leftovers are removed by --dormant
        self.profile = None
        self.problem = ""

    def written_ns(self):
        try:
            return os.stat(self.path).st_mtime_ns
        except OSError:
            return 0

    def step(self, row):
        if self.profile is not None:
            self.profile.step(self.count, row)
            self.count += 1
            if self.profile.over:
                self.end()
            return
        now = clock()
        if now < self.next_poll:
            return
        self.next_poll = now + LOOK_S
        written = self.written_ns()
        if written not in (0, self.seen):
            self.seen = written
            self.begin()

    def begin(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                wanted = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        except FileNotFoundError:  # whoever asked has gone
            return
        steps, seconds = (wanted.get("WARPMARK_RECORD_" + name, "0") for name in ("STEPS", "DURATION"))
        self.folder = wanted["WARPMARK_RECORD_FOLDER"]
        self.problem = ""
        self.count = 0
        self.profile = profile.Profile(
            self.torch, {"steps": steps, "seconds": seconds, "folder": self.folder}, self
        )
        self.mark("begun", "")

    def fault(self, where, problem):
        """As a report."""
        self.problem = "%s: %s" % (where, problem)

    def finish(self):
        """The program ends."""
        if self.profile is not None:
            self.profile.finish()
            self.end()

    def end(self):
        self.profile = None
        self.mark("done", self.problem)

    def mark(self, kind, text):
        try:
            with open(os.path.join(self.folder, ".%d.%s" % (os.getpid(), kind)), "w", encoding="utf-8") as file:
                file.write(text)
        except FileNotFoundError:  # whoever asked has gone, and the folder with them
            pass

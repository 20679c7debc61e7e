"""Where the program reads values of tensors inside of its steps: each such line waits for the GPU.

Watched in the first look alone, never in a run that is timed. Where the program works on a GPU, reads of tensors on the
host count for nothing, as nothing is waited for; nor do those of torch's optimizers, which keep their counts of steps
there.
"""

import functools
import os
import sys

NAMES = ("item", "tolist", "cpu", "numpy")
OPTIMIZERS = os.sep + os.path.join("torch", "optim") + os.sep


class Reads:
    def __init__(self, torch, hook, recorder):
        self.found = {}  # (where, call) -> [count, seconds]
        self.hook = hook
        self.recorder = recorder
        self.inside = False
        for name in NAMES:
            self.watch(torch.Tensor, name)

    def watch(self, owner, name):
        import time

        old = getattr(owner, name)
        reads = self

        @functools.wraps(old)
        def read(tensor, *args, **kwargs):
            if reads.inside or reads.recorder.finished or reads.recorder.steps_seen == 0:
                return old(tensor, *args, **kwargs)
            if reads.is_free(tensor, sys._getframe(1)):
                return old(tensor, *args, **kwargs)
            reads.inside = True
            begin = time.perf_counter()
            try:
                return old(tensor, *args, **kwargs)
            finally:
                reads.note(name, time.perf_counter() - begin)
                reads.inside = False

        setattr(owner, name, read)

    def is_free(self, tensor, caller):
        if OPTIMIZERS in caller.f_code.co_filename:
            return True
        return bool(self.recorder.device.on_cuda()) and not tensor.is_cuda

    def note(self, name, seconds):
        where = self.hook.guarded("reads", self.hook.caller, "")
        if len(self.found) >= 200 and (where, name) not in self.found:
            return
        entry = self.found.setdefault((where, name), [0, 0.0])
        entry[0] += 1
        entry[1] += seconds

    def notify(self, report):
        for (where, name), (count, seconds) in sorted(self.found.items(), key=lambda item: -item[1][0])[:20]:
            report.add("read", where=where, call=name, count=count, seconds=round(seconds, 7))

"""The start barrier of runs that were started together (plan: "gate").

The folder takes `ready`, with the CPU seconds so far, once nothing of the run's is in flight; the run goes on when `go`
is there, or the folder is not.
"""

import importlib
import os
import time

import _warpmark_libraries as libraries

LOOK_S = 0.01  # a dozen that wait must not be seen by the one that steps


class Gate:
    def __init__(self, torch, plan, report, device):
        self.torch, self.report, self.device = torch, report, device
        self.folder, self.pid = plan.get("gate"), os.getpid()  # no folder: there is none, or it is passed
        self.side_by_side = int(plan.get("warmup_steps", 3)) // 2  # steps
        knobs = plan.get("knobs", {})
        self.compiles = bool(knobs.get("compile"))
        # Every mode does: what wins stays in a cache on disk, and is there already where such a run was alone before.
        self.autotunes = self.compiles and not plan.get("tuned", False)
        self.shall_benchmark = "cudnn.benchmark" in knobs

    def wait(self, steps_seen, reads_ahead, compiling):
        """Before a first forward or step, and after each step: seconds waited.

        Runs that started together take the first half of their warm-up side by side, in which libraries and kernels are
        loaded, and a compiler loads what its cache has. Not where that would tell for or against a run: the workers of
        a loader read ahead while it waits, and what they have ready by then outlasts any warm-up where they are hardly
        slower than the steps; and kernels that are chosen by their time, as compiled ones and convolutions are, are
        chosen with the GPU alone."""
        if self.device.graphs.capturing():
            return 0.0
        chooses_by_time = self.autotunes or self.benchmarks()
        if not reads_ahead and not chooses_by_time and (compiling or steps_seen < self.side_by_side):
            return 0.0
        folder, self.folder = self.folder, None
        if reads_ahead or self.compiles:
            self.load_before()
        if steps_seen == 0:
            self.load_libraries()
        self.device.synchronize()
        return self.wait_for_go(folder)

    def wait_for_go(self, folder):
        """Seconds waited; none in a child made by fork, as a loader's worker."""
        if os.getpid() != self.pid:
            return 0.0
        begin = time.perf_counter()
        with open(os.path.join(folder, "ready.part"), "w", encoding="ascii") as file:
            file.write("%.3f\n" % time.process_time())
        os.rename(os.path.join(folder, "ready.part"), os.path.join(folder, "ready"))
        go = os.path.join(folder, "go")
        while not os.path.exists(go) and os.path.isdir(folder):
            time.sleep(LOOK_S)
        return time.perf_counter() - begin

    def load_before(self):
        """Seconds of imports: for a compiler, and at the first optimizer since PyTorch 2.0, where a program makes its
        loader's iterator before its optimizer."""
        if not hasattr(self.torch, "compile"):
            return
        compiler = ("torch._inductor.compile_fx", "torch._inductor.codegen.triton")
        for name in compiler if self.compiles else ("torch._dynamo",):
            try:
                importlib.import_module(name)
            except Exception as problem:
                self.report.fault("imports", problem)  # the program may never need it

    def load_libraries(self):
        if not self.device.on_cuda():
            return
        torch = self.torch
        try:
            half = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
            libraries.load(torch, "cuda", (torch.float32, half), self.benchmarks())
        except Exception as problem:
            self.report.fault("libraries", problem)  # the program loads its own

    def benchmarks(self):
        """Whether cuDNN chooses its convolutions by time, or will from the first forward on."""
        return self.shall_benchmark or self.torch.backends.cudnn.benchmark

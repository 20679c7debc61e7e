"""Settings of the process: threads, processors, variables, the collector of Python."""

import gc
import os

import _warpmark_machine as machine
from _warpmark_setting import Setting


class Threads(Setting):
    name = "process.threads"
    switchable = True

    def apply(self):
        self.found = self.torch.get_num_threads()
        self.torch.set_num_threads(int(self.value))
        self.did()

    def undo(self):
        self.torch.set_num_threads(self.found)

    def lost(self):
        now = self.torch.get_num_threads()
        return None if now == int(self.value) else "the program set %d threads" % now


class GcFreeze(Setting):
    name = "python.gc_freeze"
    switchable = True

    def install(self):
        if self.value is not None:
            self.hook.recorder.at_window = self.apply

    def apply(self):
        gc.collect()
        gc.freeze()
        self.did()

    def undo(self):
        gc.unfreeze()


class Affinity(Setting):
    name = "process.affinity"

    def problem(self):
        why = machine.affinity_problem(self.value)
        self.changed = int(not why)
        return why


class Variable(Setting):
    """"env.NAME": what the process was started with."""

    ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"

    def environment(self):
        """Programs set the allocator's above the import of torch. Of settings of one name, the last counts."""
        theirs = os.environ.get(self.ALLOCATOR, "")
        if self.name == "env." + self.ALLOCATOR and not theirs.endswith(self.value):
            os.environ[self.ALLOCATOR] = ",".join(part for part in (theirs.strip(" ,"), self.value) if part)

    def problem(self):
        why = self.hook.guarded("variable", self.variable_problem, None, self.name[4:])
        self.changed = int(not why)
        return why

    def variable_problem(self, name):
        if name == self.ALLOCATOR:
            return self.allocator_problem()
        if os.environ.get(name) != self.value:
            return "the program changed the variable"
        if name == "LD_PRELOAD":
            return machine.preload_problem(self.value)
        if name == "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE" and self.value == "1":
            # PyTorch begins with it: a later version's programs may set the flag back, 1.13's cannot.
            return None if self.torch.backends.cuda.matmul.allow_tf32 else "the program switches TF32 off"
        return None

    def allocator_problem(self):
        if not os.environ.get(self.ALLOCATOR, "").endswith(self.value):
            return "the program changed the variable"
        if "expandable_segments:True" not in self.value or not self.hook.recorder.device.on_cuda():
            return None
        used = self.torch.cuda.memory._snapshot().get("allocator_settings", {})
        return "the allocator did not take it" if used.get("expandable_segments") is False else None


class Nothing(Setting):
    """Changes nothing, and says that it holds: the tool's own trial of itself."""

    name = "probe.nothing"

    def install(self):
        if self.value is not None:
            self.did()


SETTINGS = (Threads, GcFreeze, Affinity, Nothing)

"""Notes of steps: when each ended, how long it waited for data, and its forward, backward and optimizer; its loss.

A step ends where the first optimizer that steps has stepped. In a training without an optimizer of PyTorch it ends
where the forward after a backward begins. In a program without backward it ends where the first module that is called
from outside returns. Losses are the roots of backward: kept as tensors and read where the window ends,
so that no step waits for the GPU. A window of steps is timed between two synchronizations. After it, as the plan says,
the process becomes a lab, or ends by os._exit (a program may catch SystemExit), or goes on.
"""

import importlib
import os
import signal
import sys
import time
import weakref

import _warpmark_dormant as dormant
import _warpmark_gate as gate
import _warpmark_graphs as graphs
import _warpmark_libraries as libraries
import _warpmark_profile as profile
import _warpmark_tensors as tensors

clock = time.perf_counter


PHASE_OVER = 16  # steps of another optimizer than usual, after which the program has gone on to another phase
EAGER = 8  # steps of an optimizer with no replay between them, after which graphs are not the steps any more


class Recorder:
    def __init__(self, torch, plan, report):
        self.torch = torch
        self.report = report
        self.warmup = int(plan.get("warmup_steps", 3))
        self.window = int(plan.get("window_steps", 0))  # 0: until the program ends
        self.window_s = float(plan.get("window_seconds", 0))  # or so long, whichever is first; 0: without limit
        self.stop = bool(plan.get("stop", False))
        self.sync_phases = bool(plan.get("sync_phases", False))
        self.profile = profile.of(torch, plan, report)
        self.dormant = dormant.of(torch, plan)
        self.gate = gate.of(plan)
        knobs = plan.get("knobs", {})
        self.compiles = bool(knobs.get("compile"))
        # Every mode does: what wins stays in a cache on disk, and is there already where such a run was alone before.
        self.autotunes = self.compiles and not plan.get("tuned", False)
        self.shall_benchmark = "cudnn.benchmark" in knobs
        self.graphs = graphs.Graphs(torch)
        self.graphs_alone = bool(plan.get("graphs_alone", False))  # what runs before their capture is no step
        self.begin_s = clock()
        self.at_finish = []
        self.iterators = weakref.WeakSet()  # of loaders, with their workers
        self.at_window = None
        self.at_restart = None
        self.lab = None
        self.at_step = None  # called after each step
        self.reset()
        self.in_forward = False
        self.measures = plan.get("measure", True)  # else steps are counted, for the knobs that go by them
        self.finished = False  # the report is
        self.noting = True  # steps are noted: until the report is finished, and in a lab
        self.has_optimizer = False
        self.cuda = None
        self.bound = False
        self.world = 1
        self.forwards_seen = 0
        self.backwards_seen = 0
        self.emptied = 0

    def reset(self):
        self.marker = None
        self.between = self.most_between = 0  # steps of other optimizers since the marker's last one; most of them
        self.eager = 0  # steps of optimizers since a replay that was one
        self.steps_seen = 0
        self.rows = []
        self.written = 0
        self.losses = []
        self.losses_written = 0
        self.outputs = []
        self.half_outputs = False
        self.wait = self.forward = self.backward = 0.0
        self.samples = self.fed = 0  # of the arguments of the first forward; of the batches of loaders
        self.backwards = 0
        self.backward_depth = 0
        self.last_flush = clock()
        self.window_begin = None
        self.window_samples = 0
        self.evaluation_begin = None  # of the step so far
        self.had_evaluation = False  # the step before
        self.evaluated_s = None  # of the last step: seconds that are no part of the training
        self.left_out = 0  # steps of the window with an evaluation ...
        self.left_out_s = 0.0  # ... and their seconds

    def restart(self):
        """The steps so far do not count: they were forwards before a training, or steps before a graph's replays."""
        if self.finished:
            self.marker = None
            return self.lab.restart()
        self.reset()
        try:
            if self.at_restart is not None:
                self.at_restart()
            self.notify_world()
        except Exception as problem:
            self.report.fault("restart", problem)
        self.report.add("restart")

    def forked(self):
        """A worker of a loader never steps; a child that trains begins its own count."""
        self.reset()
        self.has_optimizer = False
        self.cuda = None
        self.bound = False
        if self.finished:  # the report and the lab are the parent's
            self.noting = False

    def on_cuda(self):
        if not self.cuda:
            self.cuda = (
                "torch.cuda" in sys.modules and self.torch.cuda.is_available() and self.torch.cuda.is_initialized()
            )
        return self.cuda

    def synchronize(self):
        if self.on_cuda() and not self.graphs.capturing():
            self.torch.cuda.synchronize()

    def with_its_wait(self, seconds):
        """Of a phase that the host has launched: where phases are told apart, what the GPU takes for it, too."""
        if not self.sync_phases:
            return seconds
        begin = clock()
        self.synchronize()
        return seconds + clock() - begin

    # Called from the points

    def await_turn(self, reads_ahead=False):
        """Before the first forward or step, and after each step. Waiting is no part of the start.

        Runs that started together take the first half of their warm-up side by side, in which libraries and kernels are
        loaded. Not where that would tell for or against a run: the workers of a loader read ahead while it waits, and
        what they have ready by then outlasts any warm-up where they are hardly slower than the steps; and kernels that
        are chosen by their time, as compiled ones and convolutions are, are chosen with the GPU alone."""
        try:
            if self.gate is None or self.in_loader() or self.graphs.capturing():
                return
            if self.warms_up_with_others(reads_ahead):
                return
            gate_here, self.gate = self.gate, None
            if reads_ahead or self.compiles:
                self.load_before_the_turn()
            if self.steps_seen == 0:
                self.load_libraries()
            self.synchronize()
            self.begin_s += gate_here.wait()
        except Exception as problem:
            self.report.fault("gate", problem)

    def in_loader(self):
        """Whether this is a worker of a loader: what its dataset computes is no step, and nobody waits for it."""
        return self.torch.utils.data.get_worker_info() is not None

    def load_before_the_turn(self):
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
        if not self.on_cuda():
            return
        torch = self.torch
        try:
            half = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
            libraries.load(torch, "cuda", (torch.float32, half), self.benchmarks())
        except Exception as problem:
            self.report.fault("libraries", problem)  # the program loads its own

    def warms_up_with_others(self, reads_ahead):
        chooses_by_time = self.autotunes or self.benchmarks()
        return not reads_ahead and not chooses_by_time and self.steps_seen < self.warmup // 2

    def benchmarks(self):
        """Whether cuDNN chooses its convolutions by time, or will from the first forward on."""
        return self.shall_benchmark or self.torch.backends.cudnn.benchmark

    def waited(self, seconds, batch):
        self.wait += seconds
        if not self.noting or not self.measures:
            return
        try:
            self.fed += tensors.samples_of(self.torch, batch, 0)
        except Exception as problem:
            self.report.fault("batch", problem)

    def enter_backward(self, loss):
        self.backward_depth += 1
        if self.backward_depth > 1 or self.finished or self.graphs.capturing():
            return
        try:
            most = 100000 if self.measures else 0
            if isinstance(loss, self.torch.Tensor) and loss.numel() == 1 and len(self.losses) < most:
                self.losses.append(loss.detach().clone())
        except Exception as problem:
            self.report.fault("loss", problem)

    def leave_backward(self, seconds):
        self.backward_depth -= 1
        if self.backward_depth == 0:
            self.backward += seconds if self.finished else self.with_its_wait(seconds)
            self.backwards += 1
            self.backwards_seen += 1

    def elsewhere(self):
        """Of this step so far, what is no time of the optimizer."""
        return self.wait + self.forward + self.backward

    def optimizer_made(self):
        self.has_optimizer = True

    def stepped(self, seconds, optimizer):
        if not self.noting or self.in_loader():
            return
        if self.graphs.capturing():
            return self.graphs.note("optimizer")
        self.eager += 1
        if self.graphs_alone or (self.on_graphs() and self.eager < EAGER):
            return
        if self.marker is not None and self.marker[0] != "optimizer":
            self.restart()
        if self.ends_step("optimizer", optimizer):
            try:
                self.end_of_step(seconds)
            except Exception as problem:
                self.report.fault("step", problem)
                self.finished, self.noting = True, False

    def begins_forward(self):
        """Of a module that is called from outside, before it runs."""
        if self.backwards == 0 or self.has_optimizer or not self.noting or self.graphs_alone or self.on_graphs():
            return
        if self.in_loader() or self.graphs.capturing():
            return
        try:
            if self.marker is None or self.marker[0] != "backward":
                kept = self.losses, self.backward, self.backwards
                if self.marker is not None:
                    self.restart()
                self.losses, self.backward, self.backwards = kept
                self.marker = ("backward", None)
            self.end_of_step(0.0)
        except Exception as problem:
            self.report.fault("backward", problem)
            self.finished, self.noting = True, False

    def may_evaluate(self):
        """Before a forward from outside. The first one without gradients in a step of a training begins an evaluation,
        unless the step before had one, too, as with a teacher or a target network."""
        if self.evaluation_begin is not None or self.torch.is_grad_enabled() or not self.measures:
            return
        trains = self.has_optimizer or self.backwards_seen > 0
        if not trains or not self.noting or self.graphs.capturing() or self.in_loader():
            return
        self.synchronize()
        self.evaluation_begin = clock()

    def end_evaluation(self):
        """At the end of a step: the seconds from the evaluation on, which belong to no step; None without one."""
        begin, self.evaluation_begin = self.evaluation_begin, None
        usual, self.had_evaluation = self.had_evaluation, begin is not None
        if begin is None or usual:
            return None
        self.synchronize()
        return clock() - begin

    def forwarded(self, seconds, module, args, out):
        self.forwards_seen += 1
        if not self.noting or self.in_loader():
            return
        if self.graphs.capturing():
            return self.graphs.note("forward")
        try:
            self.forward += self.with_its_wait(seconds)
            if self.samples == 0 and self.fed == 0 and self.measures:
                self.samples = tensors.samples_of(self.torch, args, 0)
            if self.has_optimizer or self.graphs_alone or (self.marker is not None and self.marker[0] == "backward"):
                return
            if self.ends_step("forward", module):
                if self.measures and not self.finished and len(self.outputs) < 6:
                    sample = tensors.output_sample(self.torch, out)
                    if sample is not None:
                        self.half_outputs |= sample[1]
                        self.outputs.append(sample[0])
                self.end_of_step(0.0)
        except Exception as problem:
            self.report.fault("forward", problem)
            self.finished, self.noting = True, False

    def ends_step(self, kind, one):
        """The first of its kind does, and the next where that is gone or steps no more, as in an earlier fold or phase."""
        if self.marker is None or (self.marker[0] == kind and self.marker[1]() is None):
            self.marker = (kind, weakref.ref(one))
        if self.marker[0] != kind:
            return False
        if self.marker[1]() is one:
            self.most_between, self.between = max(self.most_between, self.between), 0
            return True
        self.between += 1
        if kind != "optimizer" or self.between <= PHASE_OVER + 2 * self.most_between:
            return False
        self.marker, self.between, self.most_between = (kind, weakref.ref(one)), 0, 0
        if self.finished:
            self.lab.restart()
        return True

    def on_graphs(self):
        return self.marker is not None and self.marker[0] == "graph"

    def replayed(self, seconds, holds):
        """Of a graph that the program made. One that holds the forward alone is a part of a training's step."""
        part = holds is None or (holds == "forward" and self.has_optimizer)
        if part or not self.noting or self.in_forward or self.backward_depth > 0 or self.in_loader():
            return
        try:
            seconds = self.with_its_wait(seconds)
            self.eager = 0
            if not self.on_graphs():
                if self.marker is not None:
                    self.restart()
                self.marker = ("graph", None)
            self.forward += seconds
            self.end_of_step(0.0)
        except Exception as problem:
            self.report.fault("replay", problem)
            self.finished, self.noting = True, False

    # The window

    def end_of_step(self, optimizer_s):
        now, samples = clock(), self.fed or self.samples
        row = (self.wait, self.forward, self.backward, optimizer_s)
        if not self.measures:
            return self.counted_step(row)
        if self.at_step is not None:
            self.at_step()
        self.evaluated_s = self.end_evaluation()
        if self.finished:
            row = (self.wait, self.forward, self.backward, optimizer_s, samples)
            self.begin_step()
            return self.lab.step(row)
        self.rows.append(
            (now - self.begin_s, self.wait, self.forward, self.backward, optimizer_s, samples, self.backwards)
        )
        if self.window_begin is not None and self.evaluated_s is not None:
            self.left_out_s += self.evaluated_s
            self.left_out += 1
        elif self.window_begin is not None:
            self.window_samples += samples
        self.begin_step()
        if not self.bound:
            self.bind()
        self.await_turn()
        if self.profile is not None and self.profile.step(self.steps_seen - self.warmup, row):
            return self.window_over()
        if self.steps_seen == self.warmup:
            self.synchronize()
            if self.on_cuda():
                self.torch.cuda.reset_peak_memory_stats()
            self.begin_window()
            self.window_begin = clock()
            self.window_began = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)  # of the tool's own monotonic_ns()
        elif self.window_begin is not None:
            # All ranks end after the same step, also where one of them evaluates.
            inside = self.steps_seen - self.warmup - (self.left_out if self.world == 1 else 0)
            enough = (self.window and inside >= self.window) or (
                self.window_s and inside > 0 and now - self.window_begin >= self.window_s
            )
            if enough:
                return self.window_over()
        if now - self.last_flush > 0.5:
            self.flush_rows()

    def begin_step(self):
        self.steps_seen += 1
        self.wait = self.forward = self.backward = 0.0
        self.samples = self.fed = self.backwards = 0

    def counted_step(self, row):
        self.begin_step()
        if self.steps_seen == self.warmup:
            self.begin_window()
        if self.dormant is not None:
            self.dormant.step(row)

    def begin_window(self):
        act, self.at_window = self.at_window, None
        if act is not None:
            act()

    def window_over(self):
        self.finish("window")
        if self.lab is not None:
            self.noting, self.sync_phases = True, False
            self.lab.begin()
        elif self.stop:
            self.leave()

    def bind(self):
        """A child made by multiprocessing leaves without atexit."""
        self.bound = True
        self.notify_world()
        import multiprocessing

        if getattr(multiprocessing, "parent_process", lambda: None)() is not None:
            from multiprocessing import util

            util.Finalize(None, self.finish, args=("exit",), exitpriority=100)

    def notify_world(self):
        """Again, as a program that starts its ranks itself has no WORLD_SIZE when torch is loaded."""
        self.world = world_size(self.torch)
        self.report.add("world", world=self.world)

    def flush_rows(self):
        self.last_flush = clock()
        rows = self.rows[self.written :]
        if rows:
            self.report.add(
                "steps",
                first=self.written,
                rows=[[round(v, 7) if isinstance(v, float) else v for v in row] for row in rows],
            )
            self.written = len(self.rows)

    def finish(self, why):
        if self.dormant is not None:
            self.dormant.finish()
        if why == "exit" and self.lab is not None:
            self.noting = False
            try:
                self.lab.end()
            except Exception as problem:
                self.report.fault("lab", problem)
        if self.finished or not self.measures:
            return
        self.finished = True
        self.noting = False
        try:
            self.notify(why)
        except Exception as problem:
            self.report.fault("end", problem)

    def notify(self, why):
        end = clock()
        if self.steps_seen > 0:
            self.synchronize()
            end = clock() if why == "window" else self.begin_s + self.rows[-1][0]
        self.flush_rows()
        if self.losses:
            self.report.add("loss", values=tensors.numbers(self.torch, self.losses))
        if self.outputs:
            values = [[tensors.number(v) for v in o.tolist()] for o in self.outputs]
            self.report.add("outputs", values=values, half=self.half_outputs)
        inside = self.steps_seen - self.warmup - self.left_out
        if self.window_begin is not None and inside > 0:
            self.report.add(
                "window",
                steps=inside,
                seconds=end - self.window_begin - self.left_out_s,
                samples=self.window_samples,
                before=self.window_begin - self.begin_s,
                began=self.window_began,
                left_out=self.left_out,
            )
        if self.steps_seen > 0 and self.on_cuda():
            cuda = self.torch.cuda
            self.report.add(
                "memory",
                allocated=cuda.max_memory_allocated(),
                reserved=cuda.max_memory_reserved(),
                total=cuda.get_device_properties(cuda.current_device()).total_memory,
                emptied=self.emptied,
            )
        if self.steps_seen > 0:
            for notify in self.at_finish:
                notify(self.report)
            if self.profile is not None:
                self.profile.finish()
        benchmarks = bool(self.on_cuda() and self.torch.backends.cudnn.benchmark)
        marker = self.marker[0] if self.marker else "none"
        counts = dict(steps=self.steps_seen, backwards=self.backwards_seen)
        self.report.add("end", why=why, marker=marker, benchmarks=benchmarks, **counts)

    def leave(self):
        try:
            end_workers(list(self.iterators))
        except Exception as problem:
            self.report.fault("workers", problem)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os._exit(0)


def end_workers(iterators):
    """As an ordinary exit does. A worker looks for its parent every 5 s, and holds its output open until then."""
    workers = [w for i in iterators for w in getattr(i, "_workers", ()) if w._parent_pid == os.getpid()]
    if not workers:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # PyTorch's handler raises where a worker was killed
    except ValueError:
        return  # not the main thread, which alone may set it
    for worker in workers:
        worker.kill()


def world_size(torch):
    """Ranks of torch.distributed once it is initialized; before, what the launcher says."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    said = os.environ.get("WORLD_SIZE", "")
    return int(said) if said.isdigit() else 1

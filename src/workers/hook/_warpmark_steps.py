"""Notes of steps: when each ended, how long it waited for data, and its forward, backward and optimizer; its loss.

A step ends where the first optimizer that steps has stepped. In a training without an optimizer of PyTorch it ends
where the forward after a backward begins. In a program without backward it ends where the first module that is called
from outside returns. A window of steps is timed between two synchronizations. After it, as the plan says, the process
becomes a lab, or ends by os._exit (a program may catch SystemExit), or goes on.
"""

import functools
import time

import _warpmark_device as device
import _warpmark_dormant as dormant
import _warpmark_gate as gate
import _warpmark_graphs as graphs
import _warpmark_marker as marker
import _warpmark_phases as phases
import _warpmark_profile as profile
import _warpmark_program as program
import _warpmark_tensors as tensors
import _warpmark_values as values
import _warpmark_window as window

clock = time.perf_counter


class Rows:
    """Of the steps, written now and then: a program may end without a word."""

    def __init__(self, report):
        self.report = report
        self.waiting = []
        self.written = 0
        self.end_s = None  # of the last one
        self.flushed_s = clock()

    def add(self, row):
        self.waiting.append(row)
        self.end_s = row[0]

    def flush(self):
        self.flushed_s = clock()
        if self.waiting:
            rows = [[round(v, 7) if isinstance(v, float) else v for v in row] for row in self.waiting]
            self.report.add("steps", first=self.written, rows=rows)
            self.written += len(rows)
            self.waiting = []


def guarded(where, ends=False):
    """Of a point that the program passes: a failure is told and never reaches the program. One that `ends` the notes
    leaves no count that could go on."""

    def wrap(point):
        @functools.wraps(point)
        def passed(recorder, *args, **kwargs):
            try:
                return point(recorder, *args, **kwargs)
            except Exception as problem:
                recorder.report.fault(where, problem)
                if ends:
                    recorder.finished, recorder.noting = True, False

        return passed

    return wrap


class Recorder:
    """The points that the program passes, and what they make of a step."""

    def __init__(self, torch, plan, report):
        self.torch = torch
        self.report = report
        self.plan = plan
        self.warmup = self.asked_warmup = int(plan.get("warmup_steps", 3))
        self.stop = bool(plan.get("stop", False))
        self.measures = plan.get("measure", True)  # else steps are counted, for the knobs that go by them
        self.graphs = graphs.Graphs(torch)
        self.graphs_alone = bool(plan.get("graphs_alone", False))  # what runs before their capture is no step
        self.device = device.Device(torch, self.graphs, bool(plan.get("sync_phases", False)))
        self.program = program.Program(torch, report)
        self.phases = phases.Phases()
        self.gate = gate.Gate(torch, plan, report, self.device)
        self.profile = profile.of(torch, plan, report)
        self.dormant = dormant.of(torch, plan)
        self.lab = None
        self.compiler_watch = None  # of a compiler that is on from the start, until it is done
        self.at_step = None  # called after each step
        self.at_window = None
        self.at_restart = None
        self.at_finish = []
        self.begin_s = clock()
        self.in_forward = False
        self.finished = False  # the report is
        self.noting = True  # steps are noted: until the report is finished, and in a lab
        self.has_optimizer = False
        self.forwards_seen = 0
        self.backwards_seen = 0
        self.emptied = 0
        self.reset()

    def reset(self):
        self.steps_seen = 0
        self.marker = marker.Marker(self.another_marker)
        self.phases.begin()
        self.evaluation = phases.Evaluation(self.device)
        self.window = window.Window(self.plan)
        self.rows = Rows(self.report)
        self.values = values.Values(self.torch)

    def restart(self):
        """The steps so far do not count: they were forwards before a training, or steps before a graph's replays."""
        if self.finished:
            self.marker.kind = None
            return self.lab.restart()
        self.reset()
        try:
            if self.at_restart is not None:
                self.at_restart()
            self.program.notify_world()
        except Exception as problem:
            self.report.fault("restart", problem)
        self.report.add("restart")

    def another_marker(self):
        if self.finished:
            self.lab.restart()

    def forked(self):
        """A worker of a loader never steps; a child that trains begins its own count."""
        self.reset()
        self.has_optimizer = False
        self.device.cuda = None
        self.program.bound = False
        if self.finished:  # the report and the lab are the parent's
            self.noting = False

    # Called from the points

    @guarded("gate")
    def await_turn(self, reads_ahead=False):
        """Before the first forward or step, and after each step. Waiting is no part of the start."""
        if self.gate.folder and not self.program.in_loader():
            self.begin_s += self.gate.wait(self.steps_seen, reads_ahead, self.compiler_watch is not None)

    @guarded("batch")
    def waited(self, seconds, batch):
        self.phases.wait += seconds
        if self.noting and self.measures:
            self.phases.fed += tensors.samples_of(self.torch, batch, 0)

    @guarded("loss")
    def enter_backward(self, loss):
        self.phases.backward_depth += 1
        outermost = self.phases.backward_depth == 1
        if outermost and self.measures and not self.finished and not self.graphs.capturing():
            self.values.loss(loss)

    def leave_backward(self, seconds):
        self.phases.backward_depth -= 1
        if self.phases.backward_depth == 0:
            self.phases.backward += seconds if self.finished else self.device.with_its_wait(seconds)
            self.phases.backwards += 1
            self.backwards_seen += 1

    def optimizer_made(self):
        self.has_optimizer = True

    @guarded("step", ends=True)
    def stepped(self, seconds, optimizer):
        if not self.noting or self.program.in_loader():
            return
        if self.graphs.capturing():
            return self.graphs.note("optimizer")
        if self.marker.is_in_graphs() or self.graphs_alone:
            return
        if self.marker.kind not in (None, "optimizer"):
            self.restart()
        if self.marker.ends_step("optimizer", optimizer):
            self.end_of_step(seconds)

    @guarded("backward", ends=True)
    def begins_forward(self):
        """Of a module that is called from outside, before it runs."""
        if self.phases.backwards == 0 or self.has_optimizer or not self.noting or self.graphs_alone:
            return
        if self.marker.kind == "graph" or self.program.in_loader() or self.graphs.capturing():
            return
        if self.marker.kind != "backward":
            losses, backward_s, backwards = self.values.losses, self.phases.backward, self.phases.backwards
            if self.marker.kind is not None:
                self.restart()
            self.values.losses, self.phases.backward, self.phases.backwards = losses, backward_s, backwards
            self.marker.kind = "backward"
        self.end_of_step(0.0)

    def may_evaluate(self, module):
        """Before a forward from outside. One without gradients in train() mode collects data for the training."""
        if module.training or self.torch.is_grad_enabled() or not self.measures or not self.noting:
            return
        trains = self.has_optimizer or self.backwards_seen > 0
        if trains and not self.graphs.capturing() and not self.program.in_loader():
            self.evaluation.begin()

    @guarded("forward", ends=True)
    def forwarded(self, seconds, module, args, out):
        self.forwards_seen += 1
        if not self.noting or self.program.in_loader():
            return
        if self.graphs.capturing():
            return self.graphs.note("forward")
        self.phases.forward += self.device.with_its_wait(seconds)
        if self.phases.samples == 0 and self.phases.fed == 0 and self.measures:
            self.phases.samples = tensors.samples_of(self.torch, args, 0)
        if self.has_optimizer or self.graphs_alone or self.marker.kind == "backward":
            return
        if self.marker.ends_step("forward", module):
            if self.measures and not self.finished:
                self.values.output(out)
            self.end_of_step(0.0)

    @guarded("replay", ends=True)
    def replayed(self, seconds, holds):
        """Of a graph that the program made. One that holds the forward alone is a part of a training's step."""
        part = holds is None or (holds == "forward" and self.has_optimizer)
        if part or self.in_forward or self.phases.backward_depth > 0 or not self.noting or self.program.in_loader():
            return
        seconds = self.device.with_its_wait(seconds)
        if self.marker.kind != "graph":
            if self.marker.kind is not None:
                self.restart()
            self.marker.kind = "graph"
        self.marker.eager = 0
        self.phases.forward += seconds
        self.end_of_step(0.0)

    # The window

    def end_of_step(self, optimizer_s):
        now = clock()
        row, samples, backwards = self.phases.end(optimizer_s)
        self.steps_seen += 1
        if not self.measures:
            return self.counted_step(row)
        if self.at_step is not None:
            self.at_step()
        self.evaluation.end_step()
        if self.finished:
            return self.lab.step(row + (samples,))
        self.rows.add((now - self.begin_s,) + row + (samples, backwards))
        self.window.step(samples, self.evaluation.seconds)
        self.program.bind(self.finish)
        if self.compiler_watch is not None:
            self.await_compiler()
        self.await_turn()
        if self.profile is not None and self.profile.step(self.steps_seen - self.warmup, row):
            return self.window_over()
        if self.steps_seen == self.warmup:
            self.device.begin_peak()
            self.begin_window()
            self.window.begin()
        elif self.window.is_over(now, self.program.world):
            return self.window_over()
        if now - self.rows.flushed_s > 0.5:
            self.rows.flush()

    def await_compiler(self):
        """The warm-up lasts until the compiler is done, and then the half of it that a run takes alone. Ranks begin
        their windows at the same step."""
        begin, watch = self.steps_seen + 1, self.compiler_watch
        if self.program.world > 1:
            begin = self.asked_warmup + watch.STEPS_OF_RANKS
            self.compiler_watch = None
        elif watch.step() or self.steps_seen >= self.asked_warmup + watch.most_steps(self.plan):
            begin = self.steps_seen + self.asked_warmup - self.asked_warmup // 2
            self.compiler_watch = None
        self.warmup = max(self.warmup, begin)

    def counted_step(self, row):
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
            self.noting, self.device.waits = True, False
            self.lab.begin()
        elif self.stop:
            self.program.leave()

    # The end

    def finish(self, why):
        if self.dormant is not None:
            self.dormant.finish()
        if why == "exit" and self.lab is not None:
            self.noting = False
            self.end_lab()
        if self.measures and not self.finished:
            self.finished, self.noting = True, False
            self.notify(why)

    @guarded("lab")
    def end_lab(self):
        self.lab.end()

    @guarded("end")
    def notify(self, why):
        end_s = clock()
        if self.steps_seen > 0:
            self.device.synchronize()
            end_s = clock() if why == "window" else self.begin_s + self.rows.end_s
        self.rows.flush()
        self.values.notify(self.report)
        self.window.notify(self.report, end_s, self.begin_s)
        if self.steps_seen > 0:
            self.device.notify_memory(self.report, self.emptied)
            for notify in self.at_finish:
                notify(self.report)
            if self.profile is not None:
                self.profile.finish()
        benchmarks = bool(self.device.on_cuda() and self.torch.backends.cudnn.benchmark)
        counts = dict(steps=self.steps_seen, backwards=self.backwards_seen)
        self.report.add("end", why=why, marker=self.marker.kind or "none", benchmarks=benchmarks, **counts)

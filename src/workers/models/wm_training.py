"""One model on one device: steps without marks for times, steps with marks for phases, and what proves that they train."""

import contextlib
import copy
import itertools
import os
import resource
import sys
import time

import torch

import _warpmark_settings
import wm_networks as networks
import wm_ranks
import wm_tasks as tasks


def clock():
    """Nanoseconds of the clock that warpmark itself reads."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


PHASES = ("data", "h2d", "forward", "backward", "optimizer", "communication")


class Refused(Exception):
    """kind is one of warpmark's kinds of errors."""

    def __init__(self, kind, what, hint=""):
        super().__init__(what)
        self.kind, self.what, self.hint = kind, what, hint


def leave_memory(ranks):
    """Data up to nine tenths of what is free, so that a batch too large is an error of this process and not the end of
    another one on the machine."""
    with open("/proc/meminfo") as file:
        free = [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if free:
        most = int(0.9 * free[0] / ranks) + (256 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def built(name, config, device, seed):
    """The network, drawn on the GPU itself where torch can (2.0): one core of the host takes seconds for a hundred million
    numbers."""
    torch.manual_seed(seed)
    if device.type == "cuda" and hasattr(torch, "set_default_device"):
        with torch.device(device):
            return networks.NETWORKS[name](config)
    return networks.NETWORKS[name](config).to(device)


@contextlib.contextmanager
def without_trials():
    """cuDNN tries all of its ways for each new shape, which takes seconds where a shape comes once and nobody times it."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class KnobHost:
    """What the knobs of `warpmark optimize` need around them."""

    class Recorder:
        at_window = None
        lab = None
        steps_seen = 0
        emptied = 0

    class Watcher:
        def __init__(self):
            self.callbacks = {}

    def __init__(self):
        self.recorder, self.watcher, self.reported, self.faults = self.Recorder(), self.Watcher(), [], []

    def replace(self, owner, name, make):
        setattr(owner, name, make(getattr(owner, name)))

    def guarded(self, what, function, default, *args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as problem:
            self.faults.append("%s: %s" % (what, problem))
            return default

    def add(self, kind, **facts):
        self.reported.append(facts)


class Training:
    def __init__(self, ask):
        self.name, self.config, self.batch = ask["model"], ask["config"], int(ask["batch"])
        self.precision, self.train = ask["precision"], ask["pass"] == "train"
        self.accumulate = int(ask.get("accumulate", 1))
        self.taken = None  # so many samples of each batch; None: all
        self.device = torch.device(ask["device"])
        self.check_device()
        self.ranks = wm_ranks.Ranks(ask, self.device)
        self.seed = int(ask["seed"])
        torch.manual_seed(self.seed)
        if ask["precision"] == "tf32":
            torch.set_float32_matmul_precision("high")
            torch.backends.cudnn.allow_tf32 = True
        else:
            torch.set_float32_matmul_precision("highest")
            torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.set_flush_denormal(True)
        self.host = KnobHost()
        self.settings = _warpmark_settings.Settings(torch, ask.get("knobs", {}), self.host)
        self.settings.install()
        self.narrow = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)
        self.channels_last = "channels_last" in ask.get("knobs", {})
        self.kept_memory = None
        self.model = built(self.name, self.config, self.device, self.seed)
        self.model.train(self.train)
        self.pool = tasks.pool(self.name, self.config, self.batch, int(ask["seed"]) + self.ranks.rank)
        with without_trials():
            self.flops = self.count()
        self.restart()
        self.settings.prepare(self.model)
        # Of a large vocabulary the loss alone moves more bytes than the network where nothing fuses its operations.
        self.loss_of = self.compiled(self.loss, ask.get("knobs", {}).get("compile"))
        self.called = self.ranks.wrap(self.model) if self.train else self.model
        self.optimizer = None
        if self.train:
            self.optimizer = torch.optim.AdamW(list(self.model.parameters()), lr=float(ask["rate"]))
            self.settings["optimizer.implementation"].before_step(self.optimizer)
        self.scaler = None
        if self.precision == "fp16" and self.train:
            self.scaler = torch.cuda.amp.GradScaler()
        self.pinned = self.device.type == "cuda"
        if self.pinned:
            self.pool = [([t.pin_memory() for t in inputs], target.pin_memory()) for inputs, target in self.pool]
        self.source = self.batches(int(ask.get("workers", -1)), int(ask["seed"]))
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def count(self):
        """Operations of one forward of the batch: those of a few samples, as each has the same."""
        few = min(2, self.batch)
        inputs = [t[:few] for t in self.pool[0][0]]
        return networks.forward_flops(self.model, lambda: self.model(*self.on_device(inputs))) // few * self.batch

    def check_device(self):
        if self.device.type == "cuda" and not torch.cuda.is_available():
            built = torch.version.cuda
            why = "was built without CUDA" if built is None else "sees no GPU (it was built for CUDA %s)" % built
            raise Refused(
                "unsupported",
                "torch %s of %s %s" % (torch.__version__, sys.executable, why),
                "name a python whose torch has CUDA: --set python=/path/to/python3; or --device cpu",
            )
        if self.device.type == "cpu":
            leave_memory(int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        if self.precision == "fp16" and self.device.type != "cuda":
            raise Refused("unsupported", "fp16 with a loss scaler needs a GPU", "--set precision=bf16")

    def batches(self, workers, seed):
        """Batches without end: from the pool in memory, or made sample by sample by a DataLoader."""
        if workers < 0:
            return itertools.cycle(self.pool)
        return tasks.endless(
            torch.utils.data.DataLoader(
                tasks.Generated(self.name, self.config, seed + self.ranks.rank),
                batch_size=self.batch,
                num_workers=workers,
                pin_memory=self.pinned,
                persistent_workers=workers > 0,
                drop_last=True,
            )
        )

    def compiled(self, function, mode):
        if mode is None or not self.settings["compile"].changed:
            return function
        return torch.compile(function, **({} if mode == "default" else {"mode": mode}))

    def small_enough(self):
        """A copy in fp64 takes 16 bytes a parameter with its gradients."""
        return sum(p.numel() for p in self.model.parameters()) * 16 < 24 << 30

    def restart(self):
        """Counting has moved the running means of batch norms; steps begin from the state that was drawn."""
        for module in self.model.modules():
            if hasattr(module, "reset_running_stats"):
                module.reset_running_stats()

    def on_device(self, tensors):
        return [t.to(self.device, non_blocking=True) for t in tensors]

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def meet(self):
        """All ranks are here and have done what they were asked for."""
        self.synchronize()
        self.ranks.barrier()

    def autocast(self):
        return torch.autocast(self.device.type, dtype=self.narrow) if self.narrow else contextlib.nullcontext()

    def forward(self, inputs):
        """As somebody writes it who knows the knobs: what stands here stands in the timed window."""
        if self.channels_last:
            inputs = [t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs]
        with self.autocast():
            return self.called(*inputs)

    def loss(self, out, target):
        return tasks.loss_of(self.name, out.float() if self.narrow else out, target)

    def one_batch(self, mark, apart):
        """Forward and backward of one batch; `apart`: gradients stay each rank's own."""
        inputs, target = next(self.source)
        if self.taken is not None:
            inputs, target = [t[: self.taken] for t in inputs], target[: self.taken]
        mark("data")
        inputs, target = self.on_device(inputs), self.on_device([target])[0]
        mark("h2d")
        with self.ranks.alone(self.called, apart):
            loss = self.loss_of(self.forward(inputs), target)
            if self.accumulate > 1:
                loss = loss / self.accumulate
            mark("forward")
            if self.train:
                (self.scaler.scale(loss) if self.scaler else loss).backward()
                mark("backward")
        return loss.detach()

    def step(self, mark, phases=False):
        """One step; `mark(phase)` is called where each phase ends. Returns the loss as a tensor. With phases the ranks
        add their gradients after the backward pass, where it can be told apart, and not within it."""
        total = None
        if self.train:
            self.optimizer.zero_grad(set_to_none=True)
        for i in range(self.accumulate):
            loss = self.one_batch(mark, phases or i + 1 < self.accumulate)
            total = loss if total is None else total + loss
        if self.train:
            if phases and self.ranks.world > 1:
                self.ranks.average(self.model)
                mark("communication")
            if self.scaler:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
            mark("optimizer")
        return total

    def window(self, steps, ring):
        """Steps between two synchronizations, and nothing inside; their losses are read after it."""
        self.meet()
        begin = clock()
        losses = []
        with torch.set_grad_enabled(self.train):
            for i in range(steps):
                losses.append(self.step(no_mark))
                ring.note(ring.STEP, i, clock())
        self.meet()
        end = clock()
        for i, loss in enumerate(losses):
            ring.note(ring.LOSS, i, end, value=float(loss))
        return begin, end

    def phases(self, steps, ring):
        marks = GpuMarks() if self.device.type == "cuda" else HostMarks()
        self.meet()
        begin = clock()
        with torch.set_grad_enabled(self.train):
            for _ in range(steps):
                marks.begin()
                self.step(marks.mark, phases=True)
        self.meet()
        end = clock()
        for i, (whole, parts) in enumerate(marks.steps()):
            ring.note(ring.WHOLE, i, end, value=whole)
            for phase, seconds in parts.items():
                ring.note(ring.FIRST_PHASE + PHASES.index(phase), i, end, value=seconds)
        return begin, end

    def reference(self):
        """The largest relative difference of the loss (and, in f32, of the gradient's length) from fp64, one fresh step.
        With ranks each takes a few of its samples, and the gradient that they average is held against fp64 of all."""
        self.kept_memory = self.memory()
        if not self.small_enough():
            return None
        few = min(4, self.batch)
        parts = [([t[:few] for t in inputs], target[:few]) for inputs, target in self.parts_of_all()]
        cross_check = built(self.name, self.config, self.device, self.seed).double()
        cross_check.train(self.train)
        narrow = copy.deepcopy(cross_check).float()
        error = 0.0
        with torch.set_grad_enabled(self.train), without_trials():
            for rank, (inputs, target) in enumerate(parts):
                inputs, target = self.on_device(inputs), self.on_device([target])[0]
                wide = [t.double() if t.is_floating_point() else t for t in inputs]
                right = tasks.loss_of(self.name, cross_check(*wide), target)
                if self.train and self.precision == "f32":
                    (right / len(parts)).backward()
                if rank != self.ranks.rank:
                    continue
                with self.autocast():
                    out = narrow(*inputs)
                ours = tasks.loss_of(self.name, out.float(), target)
                error = abs(float(ours.detach()) - float(right.detach())) / abs(float(right.detach()))
        if self.train and self.precision == "f32":
            with without_trials():
                ours.backward()
            self.ranks.average(narrow)
            error = max(error, distance(narrow, cross_check))
        return self.ranks.most(error)

    def parts_of_all(self):
        """A batch of every rank; all can be drawn anywhere."""
        if self.ranks.world == 1:
            return [self.pool[0]]
        seed = self.seed
        return [tasks.pool(self.name, self.config, self.batch, seed + rank)[0] for rank in range(self.ranks.world)]

    def memory(self):
        """At its peak, without what checking took."""
        if self.kept_memory is not None:
            return self.kept_memory
        if self.device.type != "cuda":
            return {"peak_resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        cuda = torch.cuda
        return {"peak_allocated": cuda.max_memory_allocated(), "peak_reserved": cuda.max_memory_reserved(),
                "allocated": cuda.memory_allocated()}

    def digest(self):
        return sum(float(p.detach().double().sum()) for p in self.model.parameters())

    def knob_states(self):
        self.host.reported = []
        self.settings.notify(self.host)
        return self.host.reported


def distance(ours, right):
    """Of two networks' gradients, relative to the length of the second."""
    apart = whole = 0.0
    for a, b in zip(ours.parameters(), right.parameters()):
        if b.grad is not None:
            apart += float((a.grad.double() - b.grad.double()).pow(2).sum())
            whole += float(b.grad.double().pow(2).sum())
    return (apart / whole) ** 0.5


def no_mark(phase):
    pass


class HostMarks:
    def __init__(self):
        self.done, self.last = [], None

    def begin(self):
        """Where the step before ended: what lies between two steps is part of the second."""
        self.first = self.last = self.last or clock()
        self.done.append([0.0, {}])

    def mark(self, phase):
        now = clock()
        step = self.done[-1]
        step[1][phase] = step[1].get(phase, 0.0) + (now - self.last) * 1e-9
        step[0] = (now - self.first) * 1e-9
        self.last = now

    def steps(self):
        return self.done


class GpuMarks:
    """Events between the phases: the time of the GPU's queue, in which waiting of the host shows as the phase it is in."""

    def __init__(self):
        self.events = []

    def record(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def begin(self):
        """Where the step before ended, as of HostMarks."""
        self.events.append([(None, self.events[-1][-1][1] if self.events else self.record())])

    def mark(self, phase):
        self.events[-1].append((phase, self.record()))

    def steps(self):
        for events in self.events:
            parts = {}
            for (_, before), (phase, after) in zip(events, events[1:]):
                parts[phase] = parts.get(phase, 0.0) + before.elapsed_time(after) * 1e-3
            yield events[0][1].elapsed_time(events[-1][1]) * 1e-3, parts

"""What is put into torch: points at which steps, their phases and their losses are noted, and at which knobs act.

Points of a step: the iterator of DataLoader (wait for data), the outermost call of a module with parameters (forward),
Tensor.backward and autograd.backward, and step of every optimizer.
"""

import atexit
import functools
import os
import sys
import traceback
import weakref

import _warpmark_direct as direct
import _warpmark_forward as forward
import _warpmark_machine as machine
import _warpmark_program as program
import _warpmark_reads as reads
import _warpmark_set_compile as compiling
import _warpmark_settings as settings
import _warpmark_steps as steps
import _warpmark_versions as versions


class TooOld(Exception):
    """What the hook patches is not there yet, or works otherwise: nothing is."""


def begin(torch, plan, report, watcher):
    why = versions.too_old(torch)
    if why:
        return report.fault("torch", TooOld(why))
    recorder = steps.Recorder(torch, plan, report)
    hook = Hook(torch, plan, report, recorder, watcher)
    hook.install()


class Hook:
    def __init__(self, torch, plan, report, recorder, watcher):
        self.torch = torch
        self.plan = plan
        self.report = report
        self.recorder = recorder
        self.watcher = watcher
        self.names = []
        self.optimizers = weakref.WeakSet()
        self.made = []  # optimizers that are not reported yet, and where the program made them
        self.settings = None
        self.loaders = None
        if plan.get("lab") and recorder.measures:
            import _warpmark_lab as lab
            import _warpmark_loaders as loaders

            recorder.lab = lab.Lab(plan["lab"], self)
            self.loaders = loaders.Loaders(self)
        self.settings = settings.Settings(torch, plan.get("knobs", {}), self)
        self.forwards = forward.Forwards(self)

    def install(self):
        torch = self.torch
        seed = self.plan.get("seed")
        if seed is not None:
            import random

            random.seed(seed)
            torch.manual_seed(seed)
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed(seed)
        self.guarded("environment", self.settings.environment, None)  # before CUDA begins, which reads it
        if self.recorder.measures:  # it asks the GPUs what they are, and forked children could not use them then
            self.notify_torch()
        for place in (
            self.patch_loader,
            self.patch_optimizer,
            self.patch_backward,
            self.forwards.patch_forward,
            self.patch_graphs,
            self.settings.install,
        ):
            try:
                place()
            except Exception as problem:
                self.report.fault(place.__name__, problem)
        self.report.add("patched", names=self.names)
        atexit.register(self.recorder.finish, "exit")
        if not self.recorder.measures:
            atexit.register(self.guarded, "plan", self.notify_what_failed, None)
        self.recorder.at_restart = self.forwards.watch_again
        compiler = self.settings["compile"]
        self.recorder.at_step = compiler.mark_step
        if compiler.value is not None:
            self.recorder.compiler_watch = compiling.CompilerWatch(compiler)
        if self.recorder.lab is not None:
            self.recorder.at_finish.append(self.settings.notify_acts)
        self.recorder.at_finish.append(self.notify_optimizers)
        self.recorder.at_finish.append(self.settings.notify)
        self.recorder.at_finish.append(self.settings.notify_debugging)
        self.recorder.at_finish.append(self.settings["attention.backend"].notify)
        if self.recorder.device.waits:
            watched = self.guarded("reads", lambda: reads.Reads(torch, self, self.recorder), None)
            if watched is not None:
                self.recorder.at_finish.append(watched.notify)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.recorder.forked)

    def notify_what_failed(self):
        """In a run that nobody times, whose report nobody reads: settings of the plan that did nothing, once, at the end."""
        did_nothing = self.recorder.forwards_seen == 0 and self.recorder.steps_seen == 0  # as a launcher
        if did_nothing or self.report.rank() != 0:
            return
        for knob in self.settings.states():
            if not knob["in_force"]:
                print("warpmark: %s=%s of the plan: %s" % (knob["id"], knob["value"], knob["said"]), file=sys.stderr)

    def notify_torch(self):
        torch = self.torch
        devices = []
        cuda = False
        try:
            cuda = torch.cuda.is_available()
            if cuda:
                for i in range(torch.cuda.device_count()):
                    properties = torch.cuda.get_device_properties(i)
                    devices.append(
                        {
                            "name": properties.name,
                            "memory": properties.total_memory,
                            "major": properties.major,
                            "minor": properties.minor,
                        }
                    )
        except Exception as problem:
            self.report.fault("devices", problem)
        self.report.add(
            "torch",
            version=str(torch.__version__),
            cuda=bool(cuda),
            devices=devices,
            threads=torch.get_num_threads(),
            cpus=len(os.sched_getaffinity(0)),
            compile=hasattr(torch, "compile"),
            uncached=bool(cuda) and self.settings["memory.caching"].VARIABLE in os.environ,
            world=program.world_size(torch),
            **self.guarded("machine", machine.facts, {})
        )

    def replace(self, owner, name, make):
        """owner.name = make(what it was), under its old name and documentation."""
        old = getattr(owner, name)
        new = make(old)
        try:
            functools.update_wrapper(new, old)
        except (AttributeError, TypeError):
            pass
        setattr(owner, name, new)
        self.names.append("%s.%s" % (getattr(owner, "__name__", str(owner)), name))
        return old

    # Data

    def patch_loader(self):
        from torch.utils.data import dataloader

        hook, recorder, served = self, self.recorder, self.loaders
        clock = steps.clock

        def make_next(old):
            def __next__(iterator):
                begin = clock()
                batch = old(iterator) if served is None else served.next(iterator, old)
                recorder.waited(clock() - begin, batch)
                return batch

            return __next__

        def make_init(old):
            def __init__(loader, *args, **kwargs):
                if served is not None and served.making:
                    return old(loader, *args, **kwargs)
                args, kwargs = hook.guarded(
                    "loader settings", hook.settings.loader_arguments, (args, kwargs), old, loader, args, kwargs
                )
                old(loader, *args, **kwargs)
                hook.guarded("loader", hook.notify_loader, None, loader)

            return __init__

        def make_begin(old):
            """Of an iterator: its __init__, and _reset for each further epoch of persistent workers."""

            def begin(iterator, loader, *args, **kwargs):
                old(iterator, loader, *args, **kwargs)
                recorder.program.iterators.add(iterator)
                if served is not None:
                    hook.guarded("iterator", served.began, None, iterator, loader)

            return begin

        def make_iter(old):
            def __iter__(loader):
                recorder.await_turn(reads_ahead=loader.num_workers > 0)
                return old(loader)

            return __iter__

        def make_get(old):
            def _get_iterator(loader):
                return served.iterator_of(loader, old)

            return _get_iterator

        Iterator = dataloader._BaseDataLoaderIter
        if recorder.stop or served is not None:
            self.replace(Iterator, "__init__", make_begin)
        if served is not None:
            self.replace(Iterator, "_reset", make_begin)
            self.replace(dataloader.DataLoader, "_get_iterator", make_get)
        if recorder.gate.folder:
            self.replace(dataloader.DataLoader, "__iter__", make_iter)
        self.replace(Iterator, "__next__", make_next)
        self.replace(dataloader.DataLoader, "__init__", make_init)

    def notify_loader(self, loader):
        from torch.utils.data import IterableDataset

        where = self.caller()
        key = ("loader", where)
        if not self.first_time(key):
            return
        self.report.add(
            "loader",
            where=where,
            workers=loader.num_workers,
            pin_memory=bool(loader.pin_memory),
            batch=loader.batch_size or 0,
            iterable=isinstance(loader.dataset, IterableDataset),
            persistent=bool(getattr(loader, "persistent_workers", False)),
            prefetch=loader.prefetch_factor or 0,
            dataset=type(loader.dataset).__name__,
            batches=self.guarded("batches", lambda: len(loader), 0),
        )

    # Optimizer

    def patch_optimizer(self):
        torch, hook, recorder = self.torch, self, self.recorder
        clock, no_sync = steps.clock, self.settings["ddp.no_sync"]
        implementation = self.settings["optimizer.implementation"]

        def wrap_step(cls):
            if "step" not in cls.__dict__ or getattr(cls.__dict__["step"], "_warpmark", False):
                return
            old = cls.__dict__["step"]

            @functools.wraps(old)
            def step(optimizer, *args, **kwargs):
                recorder.await_turn()
                hook.guarded("no_sync", no_sync.before_optimizer, None)
                if hook.made:
                    hook.guarded("optimizer", hook.notify_optimizers, None, hook.report)
                hook.guarded("optimizer setting", implementation.before_step, None, optimizer)
                begin, before = clock(), recorder.phases.elsewhere()
                result = hook.retried(old, optimizer, *args, **kwargs)
                # An optimizer that is given a closure computes the loss, and some frameworks step so always.
                recorder.stepped(clock() - begin - (recorder.phases.elsewhere() - before), optimizer)
                if recorder.forwards_seen == 0 and hook.first_time("direct forwards"):
                    hook.guarded("direct forwards", hook.watch_direct, None)
                return result

            step._warpmark = True
            cls.step = step

        def make_init(old):
            def __init__(optimizer, *args, **kwargs):
                old(optimizer, *args, **kwargs)
                hook.guarded("watch", hook.forwards.watch_again, None)
                hook.guarded("optimizer", hook.optimizers.add, None, optimizer)
                hook.guarded("optimizer", hook.note_optimizer, None, optimizer)
                for cls in type(optimizer).__mro__:
                    if cls is not torch.optim.Optimizer and issubclass(cls, torch.optim.Optimizer):
                        hook.guarded("optimizer step", wrap_step, None, cls)

            return __init__

        self.replace(torch.optim.Optimizer, "__init__", make_init)

    def note_optimizer(self, optimizer):
        self.recorder.optimizer_made()
        where = self.caller()
        if self.first_time(("optimizer", type(optimizer).__name__, where)):
            self.made.append((weakref.ref(optimizer), where))

    def notify_optimizers(self, report):
        """At the first step: parameters may move to a GPU after their optimizer was made."""
        made, self.made = self.made, []
        for optimizer, where in made:
            if optimizer() is not None:
                report.add("optimizer", where=where, **self.facts_of(optimizer()))

    def facts_of(self, optimizer):
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        group = optimizer.param_groups[0]
        cuda = bool(parameters) and all(p.is_cuda for p in parameters)
        foreach, fused = group.get("foreach"), bool(group.get("fused"))
        if foreach is None and "foreach" in group:  # on a GPU that is PyTorch's own choice since 2.0
            foreach = cuda and not fused and int(self.torch.__version__.split(".")[0]) >= 2
        return dict(
            name=type(optimizer).__name__,
            tensors=len(parameters),
            parameters=sum(p.numel() for p in parameters),
            cuda=cuda,
            fused=fused,
            foreach=bool(foreach),
        )

    # Backward

    def patch_backward(self):
        torch, hook, recorder = self.torch, self, self.recorder
        clock = steps.clock

        def make_tensor(old):
            def backward(tensor, *args, **kwargs):
                begin = clock()
                recorder.enter_backward(tensor)
                try:
                    return hook.given_up(old, tensor, *args, **kwargs)
                finally:
                    recorder.leave_backward(clock() - begin)

            return backward

        def make_autograd(old):
            def backward(tensors, *args, **kwargs):
                begin = clock()
                first = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
                recorder.enter_backward(first)
                try:
                    return hook.given_up(old, tensors, *args, **kwargs)
                finally:
                    recorder.leave_backward(clock() - begin)

            return backward

        self.replace(torch.Tensor, "backward", make_tensor)
        self.replace(torch.autograd, "backward", make_autograd)

    def patch_graphs(self):
        if hasattr(self.torch.cuda, "CUDAGraph"):  # since torch 1.10
            self.recorder.graphs.patch(self.torch.cuda.CUDAGraph, self.replace, self.recorder.replayed)

    def watch_direct(self):
        if direct.watch(self):
            self.forwards.watch_again()

    # In a lab

    def retried(self, function, *args, **kwargs):
        """Once more where settings made it fail, which are off then."""
        if self.recorder.lab is None:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except Exception as problem:
            if not self.recorder.lab.take_failure(problem):
                raise
        self.free_memory()
        if hasattr(args[0], "require_forward_param_sync"):
            args[0].require_forward_param_sync = False  # DistributedDataParallel has sent its buffers for this forward
        return function(*args, **kwargs)

    def given_up(self, backward, *args, **kwargs):
        """A backward cannot be run twice. One process can do without these gradients, several ranks exchange them."""
        lab = self.recorder.lab
        if lab is None:
            return backward(*args, **kwargs)
        try:
            return backward(*args, **kwargs)
        except Exception as problem:
            if not lab.alone() or not lab.take_failure(problem):
                raise
        self.free_memory()

    def free_memory(self):
        """Of an exception that is gone by now, after which there may be none left."""
        if self.recorder.device.on_cuda():
            self.guarded("memory", self.torch.cuda.empty_cache, None)

    # Shared

    def guarded(self, where, function, otherwise, *args):
        """What goes wrong in our own work is told once and forgotten."""
        try:
            return function(*args)
        except Exception as problem:
            self.report.fault(where, problem)
            return otherwise

    def first_time(self, key):
        seen = self.__dict__.setdefault("seen", set())
        if key in seen or len(seen) > 200:
            return False
        seen.add(key)
        return True

    def caller(self):
        """FILE:LINE of the program, not of torch or of us."""
        for frame in reversed(traceback.extract_stack(limit=40)):
            path = frame.filename
            if "_warpmark_" in path or "/torch/" in path or "/functools.py" in path or path.startswith("<"):
                continue
            if "site-packages/" in path or "dist-packages/" in path:
                continue
            return "%s:%d" % (path, frame.lineno)
        return ""

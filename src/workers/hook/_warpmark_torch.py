"""What is put into torch: points at which steps, their phases and their losses are noted, and at which knobs act.

Points of a step: the iterator of DataLoader (wait for data), the outermost call of a module with parameters (forward),
Tensor.backward and autograd.backward, and step of every optimizer. The outermost call is found once: nn.Module.__call__
is replaced only until the first such call begins, put back while it runs, and then that one instance (torch 2.2 and
later) or its class is wrapped. So torch.compile never sees a replaced nn.Module.__call__, and modules within pay
nothing.
"""

import atexit
import functools
import os
import sys
import traceback
import weakref

import _warpmark_direct as direct
import _warpmark_machine as machine
import _warpmark_reads as reads
import _warpmark_set_compile as compiling
import _warpmark_settings as settings
import _warpmark_set_precision as precision
import _warpmark_steps as steps
import _warpmark_versions as versions


def inner_of(module):
    inner = getattr(module, "module", None) if type(module).__name__ == "DistributedDataParallel" else None
    return module if inner is None else inner


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
        self.armed_classes = set()
        self.armed = weakref.WeakSet()
        self.optimizers = weakref.WeakSet()
        self.settings = None
        self.loaders = None
        if plan.get("lab") and recorder.measures:
            import _warpmark_lab as lab
            import _warpmark_loaders as loaders

            recorder.lab = lab.Lab(plan["lab"], self)
            self.loaders = loaders.Loaders(self)
        self.settings = settings.Settings(torch, plan.get("knobs", {}), self)

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
            self.patch_forward,
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
        self.recorder.at_restart = self.watch_again
        self.recorder.at_step = self.settings["compile"].mark_step
        if self.recorder.lab is not None:
            self.recorder.at_finish.append(self.settings.notify_acts)
        self.recorder.at_finish.append(self.settings.notify)
        self.recorder.at_finish.append(self.settings.notify_debugging)
        self.recorder.at_finish.append(self.settings["attention.backend"].notify)
        if self.recorder.sync_phases:
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
            world=steps.world_size(torch),
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
                recorder.iterators.add(iterator)
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
        if recorder.gate is not None:
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

        def wrap_step(cls):
            if "step" not in cls.__dict__ or getattr(cls.__dict__["step"], "_warpmark", False):
                return
            old = cls.__dict__["step"]

            @functools.wraps(old)
            def step(optimizer, *args, **kwargs):
                recorder.await_turn()
                hook.guarded("no_sync", no_sync.before_optimizer, None)
                begin, before = clock(), recorder.elsewhere()
                result = hook.retried(old, optimizer, *args, **kwargs)
                # An optimizer that is given a closure computes the loss, and some frameworks step so always.
                recorder.stepped(clock() - begin - (recorder.elsewhere() - before), optimizer)
                if recorder.forwards_seen == 0 and hook.first_time("direct forwards"):
                    hook.guarded("direct forwards", hook.watch_direct, None)
                return result

            step._warpmark = True
            cls.step = step

        def make_init(old):
            def __init__(optimizer, *args, **kwargs):
                old(optimizer, *args, **kwargs)
                hook.guarded("watch", hook.watch_again, None)
                hook.guarded("optimizer", hook.optimizers.add, None, optimizer)
                hook.guarded("optimizer", hook.notify_optimizer, None, optimizer)
                for cls in type(optimizer).__mro__:
                    if cls is not torch.optim.Optimizer and issubclass(cls, torch.optim.Optimizer):
                        hook.guarded("optimizer step", wrap_step, None, cls)

            return __init__

        self.replace(torch.optim.Optimizer, "__init__", make_init)

    def notify_optimizer(self, optimizer):
        self.recorder.optimizer_made()
        if not self.first_time(("optimizer", type(optimizer).__name__, self.caller())):
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        group = optimizer.param_groups[0]
        cuda = bool(parameters) and all(p.is_cuda for p in parameters)
        foreach, fused = group.get("foreach"), bool(group.get("fused"))
        if foreach is None and "foreach" in group:  # on a GPU that is PyTorch's own choice since 2.0
            foreach = cuda and not fused and int(self.torch.__version__.split(".")[0]) >= 2
        self.report.add(
            "optimizer",
            name=type(optimizer).__name__,
            where=self.caller(),
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

    # Forward

    def patch_forward(self):
        Module = self.torch.nn.Module
        self.module_call = Module.__call__
        hook = self

        def __call__(module, *args, **kwargs):
            if hook.recorder.in_forward or hook.traces() or not hook.has_parameters(module):
                return hook.module_call(module, *args, **kwargs)
            hook.recorder.await_turn()
            hook.put_back()
            try:
                if module not in hook.armed:
                    hook.armed.add(module)
                    hook.guarded("first forward", hook.wrap, None, module, args)
                return module(*args, **kwargs)
            finally:
                hook.watch_forward()

        self.watching_call = __call__
        self.names.append("Module.__call__ until the first outermost call")
        self.watch_again()

    def patch_graphs(self):
        if hasattr(self.torch.cuda, "CUDAGraph"):  # since torch 1.10
            self.recorder.graphs.patch(self.torch.cuda.CUDAGraph, self.replace, self.recorder.replayed)

    def traces(self):
        """Whether torch.jit.trace runs the module (also for TensorBoard's add_graph): sizes are tensors then."""
        return self.torch._C._get_tracing_state() is not None

    def has_parameters(self, module):
        try:
            return next(module.parameters(), None) is not None
        except Exception:  # a module whose __init__ has not run: it will say so itself
            return False

    def watch_direct(self):
        if direct.watch(self):
            self.watch_again()

    def put_back(self):
        self.torch.nn.Module.__call__ = self.module_call

    def watch_again(self):
        """From the beginning, and where a program begins once more: with another optimizer, as of a further fold."""
        self.watched_from = (self.recorder.steps_seen, self.recorder.forwards_seen)
        self.watch_forward()

    def watch_forward(self):
        """Further modules may be called from outside for the first time: a discriminator, a teacher. Not for long: two
        steps, where they are known (before a graph is captured, there may be steps that do not count in a trial)."""
        steps_before, forwards_before = self.watched_from
        early = self.recorder.steps_seen - steps_before < 2 or not self.recorder.measures
        if early and self.recorder.forwards_seen - forwards_before < 64:
            self.torch.nn.Module.__call__ = self.watching_call

    def wrap(self, module, args):
        """Wraps one module that the program calls itself; knobs that change modules act now."""
        mode = compiling.own_mode(compiling.compiled_by_program(inner_of(module)))
        self.prepare(module)
        self.notify_module(module, args, mode)
        recorder, around, clock, retried = self.recorder, self.settings.around, steps.clock, self.retried

        def again(inside):
            return lambda module, args, kwargs: around(module, args, kwargs, inside)

        def run(called, args, kwargs, inside):
            if recorder.in_forward or self.traces():
                return inside(called, *args, **kwargs)
            recorder.begins_forward()
            recorder.may_evaluate()
            recorder.in_forward = True
            if recorder.lab is not None:
                self.guarded("before forward", recorder.lab.before_forward, None, called, args, kwargs, again(inside))
            begin = clock()
            try:
                out = retried(around, called, args, kwargs, inside)
            finally:
                recorder.in_forward = False
            recorder.forwarded(clock() - begin, called, args, out)
            return out

        if hasattr(self.torch.nn.Module, "_compiled_call_impl"):
            theirs = module._compiled_call_impl

            def inside(called, *args, **kwargs):
                return (theirs or called._call_impl)(*args, **kwargs)

            this = weakref.ref(module)  # a module that held itself would be freed late, or never

            def call_this(*args, **kwargs):
                return run(this(), args, kwargs, inside)

            call_this.theirs = theirs  # of compiling.own_call
            module._compiled_call_impl = call_this  # not copied and not pickled, by Module.__getstate__
            return
        cls = type(module)
        if cls in self.armed_classes:
            return
        self.armed_classes.add(cls)
        old = cls.__call__

        def __call__(called, *args, **kwargs):
            if not recorder.in_forward and called not in self.armed:
                self.armed.add(called)
                self.guarded("first forward", self.prepare, None, called)
            return run(called, args, kwargs, old)

        cls.__call__ = __call__

    def prepare(self, module):
        self.settings.prepare(inner_of(module))

    def notify_module(self, module, args, mode):
        torch = self.torch
        names = {"conv": 0, "norm": 0, "linear": 0, "attention": 0, "embedding": 0}
        for part in module.modules():
            name = type(part).__name__.lower()
            for known in names:
                if known in name:
                    names[known] += 1
        parameter = next(module.parameters())
        shapes = [list(a.shape) for a in args if isinstance(a, torch.Tensor)][:4]
        self.report.add(
            "module",
            name=type(module).__name__,
            where=self.caller(),
            parameters=sum(p.numel() for p in module.parameters()),
            dtype=str(parameter.dtype),
            device=str(parameter.device.type),
            training=bool(module.training),
            grad=bool(torch.is_grad_enabled()),
            autocast=precision.program_casts(torch, parameter.device.type),
            compiled=mode,
            shapes=shapes,
            channels_last=any(
                isinstance(a, torch.Tensor)
                and a.dim() == 4
                and a.is_contiguous(memory_format=torch.channels_last)
                and not a.is_contiguous()
                for a in args
            ),
            **names
        )

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
        if self.recorder.on_cuda():
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

"""Forwards of the modules that a program calls itself.

The outermost call is found once: nn.Module.__call__ is replaced only until the first such call begins, put back while it
runs, and then that one instance (torch 2.2 and later) or its class is wrapped. So torch.compile never sees a replaced
nn.Module.__call__, and modules within pay nothing.
"""

import time
import weakref

import _warpmark_set_compile as compiling
import _warpmark_set_precision as precision

clock = time.perf_counter


def inner_of(module):
    inner = getattr(module, "module", None) if type(module).__name__ == "DistributedDataParallel" else None
    return module if inner is None else inner


class Forwards:
    def __init__(self, hook):
        self.hook = hook
        self.torch = hook.torch
        self.recorder = hook.recorder
        self.armed_classes = set()
        self.armed = weakref.WeakSet()
        self.module_call = self.torch.nn.Module.__call__

    def patch_forward(self):
        forwards = self

        def __call__(module, *args, **kwargs):
            if forwards.recorder.in_forward or forwards.traces() or not forwards.has_parameters(module):
                return forwards.module_call(module, *args, **kwargs)
            forwards.recorder.await_turn()
            forwards.put_back()
            try:
                if module not in forwards.armed:
                    forwards.armed.add(module)
                    forwards.hook.guarded("first forward", forwards.wrap, None, module, args)
                return module(*args, **kwargs)
            finally:
                forwards.watch_forward()

        self.watching_call = __call__
        self.hook.names.append("Module.__call__ until the first outermost call")
        self.watch_again()

    def traces(self):
        """Whether torch.jit.trace runs the module (also for TensorBoard's add_graph): sizes are tensors then."""
        return self.torch._C._get_tracing_state() is not None

    def has_parameters(self, module):
        try:
            return next(module.parameters(), None) is not None
        except Exception:  # a module whose __init__ has not run: it will say so itself
            return False

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
        recorder, around, retried = self.recorder, self.hook.settings.around, self.hook.retried

        def again(inside):
            return lambda module, args, kwargs: around(module, args, kwargs, inside)

        def run(called, args, kwargs, inside):
            if recorder.in_forward or self.traces():
                return inside(called, *args, **kwargs)
            recorder.begins_forward()
            recorder.may_evaluate(called)
            recorder.in_forward = True
            if recorder.lab is not None:
                self.hook.guarded("before forward", recorder.lab.before_forward, None, called, args, kwargs, again(inside))
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
                self.hook.guarded("first forward", self.prepare, None, called)
            return run(called, args, kwargs, old)

        cls.__call__ = __call__

    def prepare(self, module):
        self.hook.settings.prepare(inner_of(module))

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
        self.hook.report.add(
            "module",
            name=type(module).__name__,
            where=self.hook.caller(),
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

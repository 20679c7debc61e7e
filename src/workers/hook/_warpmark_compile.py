"""torch.compile of the modules that the program calls: switched on, their calls go to a compiled callable."""

import weakref


class Calls:
    """What the calls of a module go to: its own forward, or a compiled callable. Nothing but the module holds it."""

    def __init__(self, module):
        self.module = weakref.ref(module)
        self.kept = {}  # (mode, settings that were on) -> callable
        self.current = None

    def __call__(self, *args, **kwargs):
        return (self.current or self.module()._call_impl)(*args, **kwargs)


class Compiler:
    def __init__(self, models):
        self.knobs = models.knobs
        self.torch = models.torch
        self.mode = None  # while it is on
        self.key = ()
        self.calls = weakref.WeakSet()

    def install(self, module):
        """Before the hook wraps its calls from outside."""
        if not hasattr(module, "compile"):
            return self.knobs.cannot("compile", "torch %s cannot compile a module in place" % self.torch.__version__)
        if type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None:
            return self.knobs.cannot("compile", "the program compiles it itself")
        calls = module._compiled_call_impl = Calls(module)
        self.calls.add(calls)
        if self.mode is not None:
            self.put_on(calls)

    def switch(self, mode, key=()):
        """To a mode, or None. A callable is made for each set of settings, as changed ones would compile it again."""
        self.mode, self.key = mode, key
        for calls in list(self.calls):
            self.put_on(calls)

    def put_on(self, calls):
        calls.current = None
        if self.mode is None:
            return
        key = (self.mode, self.key)
        if key not in calls.kept:
            calls.kept[key] = self.compiled(calls.module(), first=not calls.kept)
        calls.current = calls.kept[key]
        self.knobs.did("compile")

    def compiled(self, module, first):
        # Not module.compile(), which silently compiles nothing for classes in torch's own files (nn.Sequential).
        def call(*args, **kwargs):
            return module._call_impl(*args, **kwargs)

        # PyTorch keeps what it compiled by the code object, and no more than a limit of it.
        call.__code__ = call.__code__.replace()
        if not first:
            config = self.torch._dynamo.config
            name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
            setattr(config, name, getattr(config, name) + 8)
        return self.torch.compile(call, **({} if self.mode == "default" else {"mode": self.mode}))

    def mark_step(self):
        """A mode with CUDA graphs frees then what the step before has returned."""
        if self.mode not in (None, "default"):
            mark = getattr(getattr(self.torch, "compiler", None), "cudagraph_mark_step_begin", None)
            if mark is not None:
                mark()

    def counts(self):
        """Of all that this process compiled: graphs, graph breaks, recompilations."""
        if self.torch.__dict__.get("_dynamo") is None:
            return (0, 0, 0)
        counters = self.torch._dynamo.utils.counters
        recompiles = sum(counters["recompiles"].values()) if "recompiles" in counters else 0
        return counters["stats"].get("unique_graphs", 0), sum(counters["graph_break"].values()), recompiles


def note(counts):
    return "%d graphs, %d graph breaks, %d recompilations" % tuple(counts)

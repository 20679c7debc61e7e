"""torch.compile of the modules that the program calls: switched on, their calls go to a compiled callable."""

import weakref

from _warpmark_commands import Cannot
from _warpmark_setting import Setting

CHANGING = ("precision.autocast", "precision.inference", "channels_last")  # settings with which it compiles again


def own_call(part):
    """What the program made calls of the module go to, within what the hook made of that; None: its forward."""
    if type(part).__name__ == "OptimizedModule":
        return part
    called = getattr(part, "_compiled_call_impl", None)
    while hasattr(called, "theirs"):
        called = called.theirs
    return called


def compiled_by_program(module):
    """Parts of the module that the program compiles itself, each with what its calls go to; outermost ones."""
    parts, within = [], set()
    for part in module.modules():
        called = None if part in within else own_call(part)
        if called is not None:
            parts.append((part, called))
            within.update(part.modules())
    return parts


def own_mode(parts):
    """How the program compiles these: "" not at all, "graphs" where that replays CUDA graphs, else "default"."""
    for _, called in parts:
        try:
            config = called.get_compiler_config() or {}
        except Exception:  # of a backend that has none
            config = {}
        return "graphs" if config.get("triton.cudagraphs") else "default"
    return ""


class Calls:
    """What the calls of a module go to: the program's own way, or a compiled callable. Nothing but the module holds
    it."""

    def __init__(self, module, mode):
        self.module = weakref.ref(module)
        self.theirs = module._compiled_call_impl
        self.mode = mode
        self.kept = {}  # (mode, settings that were on) -> callable
        self.current = None

    def __call__(self, *args, **kwargs):
        return (self.current or self.theirs or self.module()._call_impl)(*args, **kwargs)


class CompilerWatch:
    """Whether a compiler is done: several steps came without a new graph."""

    MOST_STEPS = 30  # that are waited for it
    STEPS_OF_RANKS = 10  # which cannot know of each other's compilers

    def __init__(self, compiler):
        self.compiler = compiler
        self.graphs, self.quiet = -1, 0

    def most_steps(self, plan):
        """That a warm-up may wait: programs that end soon need most of their steps to be timed."""
        window = int(plan.get("window_steps", 0))
        return min(self.MOST_STEPS, window // 4) if window else self.MOST_STEPS

    def step(self):
        """After each step: whether it is done."""
        graphs = self.compiler.graphs()
        self.quiet = self.quiet + 1 if graphs == self.graphs else 0
        self.graphs = graphs
        return self.quiet >= self.compiler.quiet_steps()


class Compile(Setting):
    name = "compile"
    switchable = True

    def __init__(self, settings, value=None):
        super().__init__(settings, value)
        self.calls = weakref.WeakSet()
        self.key = None  # of the callables that were on last: mode, and settings that were on
        self.counted = {}  # key -> counts while it was on
        self.since = None  # counts when it was switched on

    def prepare(self, module):
        """Before the hook wraps its calls from outside."""
        if self.value is None and not self.in_lab():
            return
        if not hasattr(module, "compile"):
            return self.cannot("torch %s cannot compile a module in place" % self.torch.__version__)
        parts = compiled_by_program(module)
        mode, known = own_mode(parts), [calls.module() for calls in self.calls]
        for part in [part for part, _ in parts] or [module]:
            if part in known:
                continue
            calls = part._compiled_call_impl = Calls(part, mode)
            self.calls.add(calls)
            self.put_on(calls)

    def apply(self):
        if not hasattr(self.torch.nn.Module, "_compiled_call_impl"):
            raise Cannot("torch %s cannot compile a module in place" % self.torch.__version__)
        self.since = self.counts()
        self.put_on_all()
        if not any(calls.current for calls in self.calls):
            self.since = None
            raise Cannot(self.why_not or "the program calls no module")

    def undo(self):
        if self.since is not None:
            self.counted[self.key], self.since = self.total(), None
        self.put_on_all()

    def put_on_all(self):
        for calls in list(self.calls):
            self.put_on(calls)

    def put_on(self, calls):
        """A callable is made for each set of settings, as changed ones would compile it again."""
        calls.current = None
        if self.value is None:
            return
        if calls.mode == "graphs" or calls.mode == self.value:
            return self.cannot("the program compiles it itself")
        self.key = (self.value, tuple(self.settings.value(name) for name in CHANGING))
        if self.key not in calls.kept:
            calls.kept[self.key] = self.compiled(calls.module(), first=not calls.kept)
        calls.current = calls.kept[self.key]
        self.did()

    def compiled(self, module, first):
        module = getattr(module, "_orig_mod", module)  # of torch.compile(module)

        # Not module.compile(), which silently compiles nothing for classes in torch's own files (nn.Sequential).
        def call(*args, **kwargs):
            return module._call_impl(*args, **kwargs)

        # PyTorch keeps what it compiled by the code object, and no more than a limit of it.
        call.__code__ = call.__code__.replace()
        if not first:
            config = self.torch._dynamo.config
            name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
            setattr(config, name, getattr(config, name) + 8)
        return self.torch.compile(call, **({} if self.value == "default" else {"mode": self.value}))

    def mark_step(self):
        """A mode with CUDA graphs frees then what the step before has returned."""
        if self.value not in (None, "default"):
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

    def total(self):
        """While these callables were on."""
        before, since = self.counted.get(self.key, (0, 0, 0)), self.since or (0, 0, 0)
        return tuple(c + n - s for c, n, s in zip(before, self.counts(), since))

    def graphs(self):
        return self.total()[0]

    def quiet_steps(self):
        """Without a new graph, after which the compiler is done; CUDA graphs are made after them."""
        return 2 if self.value == "default" else 4

    def lost(self):
        self.note = "%d graphs, %d graph breaks, %d recompilations" % self.total()
        return None if self.counts()[0] > 0 else "nothing was compiled"

    def acts(self):
        return len(self.calls)


SETTINGS = (Compile,)

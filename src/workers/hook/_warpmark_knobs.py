"""Knobs that are put on from within: what each changes, how often it found something to change, and whether it still
held when the measured window ended. A knob that finds nothing, or that the program took back, says so: its variant does not
count.
"""

import gc
import inspect
import os
import sys

import _warpmark_accumulation as accumulation
import _warpmark_machine as machine
import _warpmark_model_knobs as model_knobs

# Optimizers of torch.optim that have a fused and a foreach implementation, and those that have foreach alone.
FUSED = ("Adam", "AdamW", "SGD")
FOREACH = ("RAdam", "NAdam", "Adamax", "Adagrad", "Adadelta", "ASGD", "RMSprop", "Rprop")
COMPILERS = ("torch._functorch.", "torch._dynamo.", "functorch.")


def within_compiler():
    """Whether a compiler entered torch.autograd's context manager, which calls this function's caller."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "") in ("torch.autograd.anomaly_mode", "contextlib"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith(COMPILERS)


class Knobs:
    def __init__(self, torch, wanted, hook):
        self.torch = torch
        self.wanted = dict(wanted)
        self.hook = hook
        self.places = {}  # id -> how many things it changed
        self.refused = {}  # id -> why it did not change one
        self.notes = {}  # id -> what is worth telling although it held
        self.checks = {}  # id -> function that tells whether it is in force, or why not
        self.leaves_cache = "memory.no_empty_cache" in self.wanted
        self.leaves_anomalies = "debug.anomaly_detection" in self.wanted
        self.drops_gradients = "optimizer.set_to_none" in self.wanted
        self.kept_gradients = 0  # calls of zero_grad that fill them with zeros
        self.debugging = []  # debugging aids that are on: knobs that would put them off
        self.model = model_knobs.ModelKnobs(self)
        self.accumulation = accumulation.Accumulation(self)

    def value(self, name):
        return self.wanted.get(name)

    def did(self, name, count=1):
        self.places[name] = self.places.get(name, 0) + count

    def cannot(self, name, why):
        self.refused.setdefault(name, why)

    def environment(self):
        """Variables that CUDA and its allocator read after the import: left over from debugging, or set by the program."""
        self.caching()
        self.launch_blocking()
        self.allocator()

    def begin(self):
        torch = self.torch
        self.flag("cudnn.benchmark", torch.backends.cudnn, "benchmark", True)
        self.optimizer_arguments()
        self.zero_grad()
        self.empty_cache()
        self.collector()
        self.anomaly_detection()
        self.data_parallel()
        self.accumulation.begin()
        self.model.begin()
        if "probe.nothing" in self.wanted:  # changes nothing, and says that it holds: the tool's own trial of itself
            self.did("probe.nothing")

    # Flags

    def flag(self, name, owner, attribute, value):
        if name not in self.wanted:
            return
        setattr(owner, attribute, value)
        self.did(name)
        self.checks[name] = lambda: None if getattr(owner, attribute) == value else "the program set it back"

    # Loader

    LOADER = ("loader.workers", "loader.pin_memory", "loader.persistent_workers", "loader.prefetch_factor")

    def loader_arguments(self, init, loader, args, kwargs):
        if not any(name in self.wanted for name in self.LOADER):
            return args, kwargs
        from torch.utils.data import IterableDataset

        bound = inspect.signature(init).bind(loader, *args, **kwargs)
        given = bound.arguments
        workers = self.value("loader.workers")
        if workers is not None:
            if isinstance(given.get("dataset"), IterableDataset):
                self.cannot("loader.workers", "an IterableDataset would be read once by each worker")
            else:
                given["num_workers"] = int(workers)
                if int(workers) == 0:
                    given.pop("prefetch_factor", None)
                    given.pop("persistent_workers", None)
                self.did("loader.workers")
        has_workers = given.get("num_workers", 0) > 0
        if "loader.pin_memory" in self.wanted:
            if self.torch.cuda.is_available():
                given["pin_memory"] = True
                self.did("loader.pin_memory")
            else:
                self.cannot("loader.pin_memory", "there is no GPU to copy to")
        if "loader.persistent_workers" in self.wanted:
            if has_workers:
                given["persistent_workers"] = True
                self.did("loader.persistent_workers")
            else:
                self.cannot("loader.persistent_workers", "the loader has no workers")
        if "loader.prefetch_factor" in self.wanted:
            if has_workers:
                given["prefetch_factor"] = int(self.value("loader.prefetch_factor"))
                self.did("loader.prefetch_factor")
            else:
                self.cannot("loader.prefetch_factor", "the loader has no workers")
        return bound.args[1:], bound.kwargs

    # Optimizer

    def optimizer_arguments(self):
        wanted = self.value("optimizer.implementation")
        if wanted is None:
            return
        torch, knobs = self.torch, self
        for name in FUSED + FOREACH:
            cls = getattr(torch.optim, name)
            if wanted not in inspect.signature(cls.__init__).parameters:
                if name in FUSED:
                    lacks = "%s of torch %s has no %s" % (name, torch.__version__, wanted)
                    self.cannot("optimizer.implementation", lacks)
                continue

            def make(old):
                def __init__(optimizer, params, *args, **kwargs):
                    if isinstance(params, torch.Tensor):
                        return old(optimizer, params, *args, **kwargs)
                    params = list(params)
                    change = knobs.hook.guarded("optimizer knob", knobs.may_fuse, False, wanted, params, kwargs)
                    if change:  # a program's own False would contradict
                        kwargs = {k: v for k, v in kwargs.items() if k not in ("fused", "foreach")}
                        kwargs[wanted] = True
                    old(optimizer, params, *args, **kwargs)
                    if change:
                        knobs.did("optimizer.implementation")

                return __init__

            self.hook.replace(cls, "__init__", make)
        self.hook.replace(torch.optim.Optimizer, "load_state_dict", self.keeping_flags)

    def keeping_flags(self, old):
        """A checkpoint brings the flags of the optimizer that it was saved from."""

        def load_state_dict(optimizer, state_dict):
            return old(optimizer, self.hook.guarded("checkpoint", self.with_flags, state_dict, optimizer, state_dict))

        return load_state_dict

    def with_flags(self, optimizer, state_dict):
        groups = [dict(group) for group in state_dict["param_groups"]]
        for group, ours in zip(groups, optimizer.param_groups):
            group.update({flag: ours[flag] for flag in ("fused", "foreach") if flag in ours})
        return dict(state_dict, param_groups=groups)

    def may_fuse(self, wanted, params, kwargs):
        tensors = []
        for part in params:
            if isinstance(part, dict):
                if part.get("fused") is not None or part.get("foreach") is not None:
                    self.cannot("optimizer.implementation", "a parameter group sets it itself")
                    return False
                inside = part["params"]
                if not isinstance(inside, (list, tuple, self.torch.Tensor)):
                    inside = part["params"] = list(inside)
                tensors.extend([inside] if isinstance(inside, self.torch.Tensor) else inside)
            else:
                tensors.append(part[1] if isinstance(part, tuple) else part)
        for other in ("fused", "foreach", "differentiable", "capturable"):
            if kwargs.get(other):
                self.cannot("optimizer.implementation", "the program asks for %s" % other)
                return False
        good = all(t.is_floating_point() and (t.is_cuda or wanted == "foreach") for t in tensors)
        if not good:
            self.cannot("optimizer.implementation", "a parameter is not a floating-point tensor on the GPU")
        return good

    def zero_grad(self):
        """Calls that keep the gradients are counted in a lab; the setting makes them drop the gradients."""
        if not self.drops_gradients and self.hook.recorder.lab is None:
            return
        knobs, name = self, "optimizer.set_to_none"
        default = inspect.signature(self.torch.optim.Optimizer.zero_grad).parameters["set_to_none"].default
        if default:
            self.cannot(name, "this torch does it by itself")

        def make(old):
            def zero_grad(owner, set_to_none=default):
                if not set_to_none:
                    knobs.kept_gradients += 1
                    if knobs.drops_gradients:
                        knobs.did(name)
                return old(owner, set_to_none or knobs.drops_gradients)

            return zero_grad

        self.hook.replace(self.torch.optim.Optimizer, "zero_grad", make)
        self.hook.replace(self.torch.nn.Module, "zero_grad", make)

    # Allocator and collector

    def empty_cache(self):
        """Calls in the loop are counted in any case; the knob leaves them out."""
        knobs, recorder = self, self.hook.recorder

        def make(old):
            def empty_cache():
                if recorder.steps_seen > 0:
                    recorder.emptied += 1
                    if knobs.leaves_cache:
                        return knobs.did("memory.no_empty_cache")
                return old()

            return empty_cache

        self.hook.replace(self.torch.cuda, "empty_cache", make)

    TAKEN_OFF = "WARPMARK_TAKEN_OFF"

    def take_off(self, variable):
        """Whether it was set: here, or in a launcher that has taken it off and started this process."""
        taken = set(filter(None, os.environ.get(self.TAKEN_OFF, "").split(",")))
        if os.environ.pop(variable, None) is None and variable not in taken:
            return False
        os.environ[self.TAKEN_OFF] = ",".join(sorted(taken | {variable}))
        return True

    UNCACHED = "PYTORCH_NO_CUDA_MEMORY_CACHING"

    def caching(self):
        """The allocator reads the variable at its first tensor: time enough after the import."""
        if "memory.caching" not in self.wanted:
            return
        if not self.take_off(self.UNCACHED):
            return self.cannot("memory.caching", "the variable is not set")
        self.did("memory.caching")
        cuda = self.torch.cuda  # without the cache nothing is ever reserved
        self.checks["memory.caching"] = lambda: None if cuda.max_memory_reserved() > 0 else "no memory was kept"

    ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"

    def allocator(self):
        """Programs set it above the import of torch. Of settings of one name, the last counts."""
        wanted, theirs = self.wanted.get("env." + self.ALLOCATOR), os.environ.get(self.ALLOCATOR)
        if wanted is not None and not (theirs or "").endswith(wanted):
            os.environ[self.ALLOCATOR] = ",".join(part for part in ((theirs or "").strip(" ,"), wanted) if part)

    def allocator_problem(self, wanted):
        if not os.environ.get(self.ALLOCATOR, "").endswith(wanted):
            return "the program changed the variable"
        if "expandable_segments:True" not in wanted or not self.hook.recorder.on_cuda():
            return None
        used = self.torch.cuda.memory._snapshot().get("allocator_settings", {})
        return "the allocator did not take it" if used.get("expandable_segments") is False else None

    def anomaly_detection(self):
        """Both context managers of torch.autograd call this function of torch. So does a compiler while it traces."""
        knobs, torch, name = self, self.torch, "debug.anomaly_detection"

        def make(old):
            def set_anomaly_enabled(enabled, check_nan=True):
                if enabled and within_compiler():
                    return old(enabled, check_nan)
                if enabled and knobs.leaves_anomalies:
                    knobs.did(name)
                    enabled = False
                elif enabled and name not in knobs.debugging:
                    knobs.debugging.append(name)
                return old(enabled, check_nan)

            return set_anomaly_enabled

        self.hook.replace(torch, "set_anomaly_enabled", make)
        self.checks[name] = lambda: "the program switches it on otherwise" if torch.is_anomaly_enabled() else None

    BLOCKING = "CUDA_LAUNCH_BLOCKING"

    def launch_blocking(self):
        """CUDA reads the variable when it begins, which is after the import, and before the hook looks at the GPUs."""
        name = "debug.launch_blocking"
        is_set = os.environ.get(self.BLOCKING, "0") != "0"
        if name not in self.wanted:
            return self.debugging.append(name) if is_set else None
        if not is_set:
            os.environ.pop(self.BLOCKING, None)
        if not self.take_off(self.BLOCKING):
            return self.cannot(name, "the variable is not set")
        self.did(name)
        self.checks[name] = lambda: "the program sets it again" if self.BLOCKING in os.environ else None

    def collector(self):
        if "python.gc_freeze" not in self.wanted:
            return

        def freeze():
            gc.collect()
            gc.freeze()
            self.did("python.gc_freeze")

        self.hook.recorder.at_window = freeze

    # Data parallel

    def data_parallel(self):
        names = [name for name in self.wanted if name.startswith("ddp.")]
        if not (names or "compile" in self.wanted or "channels_last" in self.wanted):
            return
        knobs = self
        from torch.nn.parallel import DistributedDataParallel

        def make(old):
            def __init__(wrapper, module, *args, **kwargs):
                bound = inspect.signature(old).bind(wrapper, module, *args, **kwargs)
                given = bound.arguments
                knobs.hook.guarded("ddp knobs", knobs.ddp_arguments, None, given)
                knobs.hook.guarded("ddp module", knobs.model.prepare, None, module, None)
                old(*bound.args, **bound.kwargs)
                if "ddp.bf16_gradients" in knobs.wanted:
                    knobs.hook.guarded("ddp hook", knobs.ddp_compress, None, wrapper)

            return __init__

        self.hook.replace(DistributedDataParallel, "__init__", make)

    def ddp_arguments(self, given):
        if "ddp.bucket_cap_mb" in self.wanted:
            given["bucket_cap_mb"] = int(self.wanted["ddp.bucket_cap_mb"])
            self.did("ddp.bucket_cap_mb")
        for name in ("gradient_as_bucket_view", "static_graph"):
            if "ddp." + name in self.wanted:
                given[name] = True
                self.did("ddp." + name)

    def ddp_compress(self, wrapper):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        wrapper.register_comm_hook(None, default_hooks.bf16_compress_hook)
        self.did("ddp.bf16_gradients")

    def before_optimizer(self):
        """A step may end before its last backward was exchanged, on all ranks."""
        if self.accumulation.active:
            self.hook.guarded("no_sync", self.accumulation.before_optimizer, None)

    # Modules

    def prepare_module(self, module, outer, args):
        self.model.prepare(module, args)
        for name in ("cudnn.benchmark",):  # programs set their flags at the beginning; once more, before the first step
            if name in self.wanted:
                self.torch.backends.cudnn.benchmark = True

    def around(self, called, args, kwargs, inside):
        return self.model.around(called, args, kwargs, inside)

    # Proof

    def tf32_problem(self):
        """The variable is what PyTorch begins with: a later version's programs may set the flag back, 1.13's cannot."""
        return None if self.torch.backends.cuda.matmul.allow_tf32 else "the program switches TF32 off"

    def variable_problem(self, name, value):
        if name == self.ALLOCATOR:
            return self.hook.guarded("allocator", self.allocator_problem, None, value)
        if os.environ.get(name) != value:
            return "the program changed the variable"
        if name == "LD_PRELOAD":
            return machine.preload_problem(value)
        if name == "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE" and value == "1":
            return self.hook.guarded("tf32", self.tf32_problem, None)
        return None

    def tell_debugging(self, report):
        if self.debugging:
            report.add("debugging", knobs=self.debugging)

    def tell(self, report):
        for state in self.states():
            report.add("knob", **state)

    def states(self):
        """Of each knob that was wanted, whether it is in force, in how many places, and what is to be said of it."""
        for name, value in self.wanted.items():
            problem = self.problem_of(name, value)
            of_the_process = name == "process.affinity" or name.startswith("env.")
            places = int(not problem) if of_the_process else self.places.get(name, 0)
            said = problem or self.notes.get(name, "")
            yield dict(id=name, value=value, in_force=not problem, places=places, said=said)

    def problem_of(self, name, value):
        if name == "process.affinity":
            return machine.affinity_problem(value)
        if name.startswith("env."):
            return self.variable_problem(name[4:], value)
        check = self.checks.get(name)
        problem = check() if check is not None else None
        if self.places.get(name, 0) > 0:
            return problem
        return self.refused.get(name) or "nothing in the program that it could change"

"""Settings that can be put on and taken off between two steps of one process.

Each has `on`, `off` and `problem`: why it changed nothing in the steps while it was on, or None. `on` raises Cannot
where the setting changes nothing in this process.
"""

import gc

import _warpmark_compile as compiling
import _warpmark_knobs as hook_knobs
import _warpmark_loaders as loaders
from _warpmark_commands import Cannot, Elsewhere


class Switch:
    def __init__(self, knobs, name, value):
        self.knobs = knobs
        self.torch = knobs.torch
        self.name = name
        self.value = value

    def problem(self):
        return None

    def note(self):
        return ""


class Counted(Switch):
    """Settings that count the places they changed. `holder` has an attribute that puts them on."""

    holder = "knobs"
    attribute = None

    def owner(self):
        return self.knobs if self.holder == "knobs" else self.knobs.model

    def wanted(self):
        return True

    def on(self):
        self.before = self.knobs.places.get(self.name, 0)
        self.former = getattr(self.owner(), self.attribute)
        setattr(self.owner(), self.attribute, self.wanted())

    def off(self):
        setattr(self.owner(), self.attribute, self.former)

    def problem(self):
        if self.knobs.places.get(self.name, 0) > self.before:
            return None
        return self.knobs.refused.get(self.name) or "nothing in these steps that it could change"


class Autocast(Counted):
    holder, attribute = "model", "autocast"

    def wanted(self):
        return self.value


class Inference(Autocast):
    attribute = "inference"


class AllAttention(Counted):
    """What the program switched off once stays off after it."""

    holder, attribute = "model", "all_attention"

    def on(self):
        if self.value != "all":
            raise Elsewhere()
        self.disabled = self.knobs.model.backends_off()
        super().on()

    def off(self):
        super().off()
        for name in self.disabled:
            getattr(self.torch.backends.cuda, "enable_%s_sdp" % name)(False)


class NoEmptyCache(Counted):
    attribute = "leaves_cache"


class SetToNone(Counted):
    attribute = "drops_gradients"


class NoAnomalyDetection(Counted):
    attribute = "leaves_anomalies"

    def on(self):
        super().on()
        self.was_on = self.torch.is_anomaly_enabled()
        if self.was_on:
            self.torch.set_anomaly_enabled(False)
            self.knobs.did(self.name)

    def off(self):
        super().off()
        if self.was_on:
            self.torch.set_anomaly_enabled(True)


class Flag(Switch):
    def on(self):
        self.owner, self.attribute, value = self.place()
        self.before = getattr(self.owner, self.attribute)
        if self.before == value:
            raise Cannot("the program does so")
        setattr(self.owner, self.attribute, value)

    def off(self):
        setattr(self.owner, self.attribute, self.before)


class TF32(Flag):
    """By PyTorch's flag. In processes of its own, the setting is a variable that cuBLAS reads at its start."""

    def on(self):
        if not self.knobs.hook.recorder.on_cuda() or self.torch.cuda.get_device_capability()[0] < 8:
            raise Cannot("there is no GPU with TF32")
        super().on()

    def place(self):
        return tf32_flag(self.torch)


def tf32_flag(torch):
    """Object, attribute and value. From PyTorch 2.9 on, a program that uses the new one must not read the old one."""
    matmul = torch.backends.cuda.matmul
    try:
        matmul.allow_tf32
    except RuntimeError:
        return matmul, "fp32_precision", "tf32"
    return matmul, "allow_tf32", True


class ConvolutionBenchmark(Flag):
    """What PyTorch chose while it was on stays chosen."""

    def place(self):
        return self.torch.backends.cudnn, "benchmark", True


class Threads(Switch):
    def on(self):
        self.before = self.torch.get_num_threads()
        self.torch.set_num_threads(int(self.value))

    def off(self):
        self.torch.set_num_threads(self.before)

    def problem(self):
        now = self.torch.get_num_threads()
        return None if now == int(self.value) else "the program set %d threads" % now


class GcFreeze(Switch):
    def on(self):
        gc.collect()
        gc.freeze()

    def off(self):
        gc.unfreeze()


class ChannelsLast(Switch):
    """Weights, their gradients, and what the optimizer keeps of them."""

    changed = 0

    def on(self):
        self.changed = 0
        distributed = getattr(self.torch, "distributed", None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            raise Elsewhere()  # buckets of DistributedDataParallel keep the first layout
        self.all_to(self.torch.channels_last)
        self.knobs.model.channels_last = True

    def off(self):
        self.knobs.model.channels_last = False
        self.all_to(self.torch.contiguous_format)

    def all_to(self, layout):
        convolution = (self.torch.nn.Conv2d, self.torch.nn.ConvTranspose2d)
        for module in list(self.knobs.model.modules):
            if any(isinstance(part, convolution) for part in module.modules()):
                self.torch.nn.Module.to(module, memory_format=layout)  # a program may have a to() of its own
                self.changed += 1
        for optimizer in list(self.knobs.hook.optimizers):
            for kept in optimizer.state.values():
                for key, value in kept.items():
                    if isinstance(value, self.torch.Tensor) and value.dim() == 4:
                        kept[key] = value.contiguous(memory_format=layout)

    def problem(self):
        return None if self.changed else "there is no two-dimensional convolution"


class OptimizerImplementation(Switch):
    """By the flags of its groups, which `step` reads each time. Steps are counted on the device that it wants."""

    FLAGS = ("fused", "foreach")

    def __init__(self, *args):
        super().__init__(*args)
        self.kept = []
        self.moved = []

    def on(self):
        self.kept, self.moved = [], []
        for optimizer in list(self.knobs.hook.optimizers):
            name = type(optimizer).__name__
            if name not in hook_knobs.FUSED and (self.value != "foreach" or name not in hook_knobs.FOREACH):
                continue
            if not all(self.may(group) for group in optimizer.param_groups):
                raise Cannot("a parameter group sets it itself, or has parameters that it is not for")
            for group in optimizer.param_groups:
                self.kept.append((group, {key: group[key] for key in self.FLAGS if key in group}))
                for key in self.FLAGS:
                    if key in group:
                        group[key] = key == self.value
            if self.value == "fused":
                self.moved.append(optimizer)
                self.steps_to(optimizer, lambda parameter: parameter.device)
        if not self.kept:
            raise Cannot("the program makes no optimizer that it could change")

    def may(self, group):
        if self.value not in group or any(group.get(key) for key in self.FLAGS + ("capturable", "differentiable")):
            return False
        return all(p.is_floating_point() and (p.is_cuda or self.value == "foreach") for p in group["params"])

    def off(self):
        for group, before in self.kept:
            group.update(before)
        for optimizer in self.moved:
            self.steps_to(optimizer, lambda parameter: "cpu")

    def steps_to(self, optimizer, place):
        if type(optimizer).__name__ not in ("Adam", "AdamW"):
            return
        for parameter, kept in optimizer.state.items():
            if isinstance(kept.get("step"), self.torch.Tensor):
                kept["step"] = kept["step"].to(place(parameter))

    def problem(self):
        good = all(group.get(self.value) for group, before in self.kept)
        return None if good else "the program set it back"


class NoSync(Counted):
    def on(self):
        self.before = self.knobs.places.get(self.name, 0)
        self.knobs.accumulation.switch(True)

    def off(self):
        self.knobs.accumulation.switch(False)


class SdpaAttention(Switch):
    """Of living models of transformers, which look up their attention at each forward since 4.48."""

    def on(self):
        self.models = [m for m in eager_attention(self.knobs) if hasattr(m, "set_attn_implementation")]
        if not self.models:
            eager = any(True for _ in eager_attention(self.knobs))
            raise Elsewhere() if eager else Cannot("no model has eager attention")
        for model in self.models:
            model.set_attn_implementation("sdpa")

    def off(self):
        for model in self.models:
            model.set_attn_implementation("eager")

    def problem(self):
        good = all(m.config._attn_implementation == "sdpa" for m in self.models)
        return None if good else "transformers did not take it"


def eager_attention(knobs):
    """Models of transformers that could use scaled_dot_product_attention and do not."""
    for module in list(knobs.model.modules):
        for part in module.modules():
            if getattr(part, "_supports_sdpa", False) is True:
                if getattr(getattr(part, "config", None), "_attn_implementation", "") == "eager":
                    yield part


class Compile(Switch):
    """One callable for each set of the other settings. Counts are those of the blocks while it was on."""

    def __init__(self, *args):
        super().__init__(*args)
        self.compiler = self.knobs.model.compiler
        self.counted = (0, 0, 0)  # before it was on last
        self.since = None
        self.QUIET = 2 if self.value == "default" else 4  # steps without a new graph; CUDA graphs are made after them

    def on(self):
        if not hasattr(self.torch.nn.Module, "_compiled_call_impl"):
            raise Cannot("torch %s cannot compile a module in place" % self.torch.__version__)
        self.former = self.compiler.mode, self.compiler.key
        model = self.knobs.model
        self.since = self.compiler.counts()
        self.compiler.switch(self.value, (model.autocast, model.inference, model.channels_last))
        if not any(calls.current for calls in self.compiler.calls):
            self.compiler.switch(*self.former)
            raise Cannot(self.knobs.refused.get("compile") or "the program calls no module")

    def off(self):
        self.counted, self.since = self.total(), None
        self.compiler.switch(*self.former)

    def total(self):
        if self.since is None:
            return self.counted
        return tuple(c + n - s for c, n, s in zip(self.counted, self.compiler.counts(), self.since))

    def graphs(self):
        return self.total()[0]

    def problem(self):
        return None if self.compiler.counts()[0] > 0 else "nothing was compiled"

    def note(self):
        return compiling.note(self.total()) if any(self.total()) else ""


SWITCHES = {
    "precision.autocast": Autocast,
    "precision.inference": Inference,
    "tf32": TF32,
    "cudnn.benchmark": ConvolutionBenchmark,
    "process.threads": Threads,
    "memory.no_empty_cache": NoEmptyCache,
    "channels_last": ChannelsLast,
    "optimizer.implementation": OptimizerImplementation,
    "optimizer.set_to_none": SetToNone,
    "attention.backend": AllAttention,
    "attention.sdpa": SdpaAttention,
    "debug.anomaly_detection": NoAnomalyDetection,
    "python.gc_freeze": GcFreeze,
    "ddp.no_sync": NoSync,
    "compile": Compile,
    **dict.fromkeys(loaders.NAMES, loaders.LoaderSwitch),
}

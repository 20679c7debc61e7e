"""Knobs that can be put on and taken off between two steps of one process.

Each switch has on, off and problem: why being on changed nothing, or None. What cannot be switched so is not here:
variables that libraries read once, workers of a loader, compiling; cudnn.benchmark, as the plans that PyTorch keeps
for a convolution are found again whatever the flag says then (Conv_v8.cpp: the key of its cache has no benchmark); and
python.gc_freeze, as the collection before each freezing also helps the blocks after it.
"""

import inspect

import _warpmark_knobs as hook_knobs


class Switch:
    def __init__(self, knobs, name, value):
        self.knobs = knobs
        self.torch = knobs.torch
        self.name = name
        self.value = value

    def problem(self):
        return None


class Counted(Switch):
    """Knobs that count what they changed."""

    def begin_counting(self):
        self.before = self.knobs.places.get(self.name, 0)

    def problem(self):
        if self.knobs.places.get(self.name, 0) > self.before:
            return None
        return self.knobs.refused.get(self.name) or "nothing in these steps that it could change"


class Autocast(Counted):
    attribute = "autocast"

    def on(self):
        self.begin_counting()
        self.former = getattr(self.knobs.model, self.attribute)
        setattr(self.knobs.model, self.attribute, self.value)

    def off(self):
        setattr(self.knobs.model, self.attribute, self.former)


class Inference(Autocast):
    attribute = "inference"


class TF32(Switch):
    """By the flag; the knob itself is a variable that cuBLAS is told of at its start."""

    before = None

    def on(self):
        matmul = self.torch.backends.cuda.matmul
        self.before = matmul.allow_tf32
        matmul.allow_tf32 = True

    def off(self):
        if self.before is not None:
            self.torch.backends.cuda.matmul.allow_tf32 = self.before

    def problem(self):
        return "the program does so" if self.before else None


class Threads(Switch):
    def on(self):
        self.before = self.torch.get_num_threads()
        self.torch.set_num_threads(int(self.value))

    def off(self):
        self.torch.set_num_threads(self.before)

    def problem(self):
        now = self.torch.get_num_threads()
        return None if now == int(self.value) else "the program set %d threads" % now


class NoEmptyCache(Counted):
    def on(self):
        self.begin_counting()
        self.knobs.leaves_cache = True

    def off(self):
        self.knobs.leaves_cache = False


class ChannelsLast(Switch):
    """Weights, gradients and what the optimizer keeps of them, there and back."""

    def on(self):
        self.changed = 0
        if self.parallel():
            raise ValueError("buckets of DistributedDataParallel keep the first layout")
        self.all_to(self.torch.channels_last)
        self.knobs.model.channels_last = True

    def off(self):
        self.knobs.model.channels_last = False
        self.all_to(self.torch.contiguous_format)

    def parallel(self):
        distributed = getattr(self.torch, "distributed", None)
        return distributed is not None and distributed.is_available() and distributed.is_initialized()

    def all_to(self, layout):
        convolution = (self.torch.nn.Conv2d, self.torch.nn.ConvTranspose2d)
        for module in list(self.knobs.model.modules):
            if any(isinstance(part, convolution) for part in module.modules()):
                module.to(memory_format=layout)
                self.changed += 1
        for optimizer in list(self.knobs.hook.optimizers):
            for kept in optimizer.state.values():
                for key, value in kept.items():
                    if isinstance(value, self.torch.Tensor) and value.dim() == 4:
                        kept[key] = value.contiguous(memory_format=layout)

    def problem(self):
        return None if self.changed else "there is no two-dimensional convolution"


class OptimizerImplementation(Switch):
    """The groups' own words for it, which step reads each time; the count of steps is where that implementation has it."""

    OTHERS = ("fused", "foreach")

    def on(self):
        self.kept = []
        self.moved = []
        for optimizer in list(self.knobs.hook.optimizers):
            name = type(optimizer).__name__
            if name not in hook_knobs.FUSED and (self.value != "foreach" or name not in hook_knobs.FOREACH):
                continue
            if not all(self.may(group) for group in optimizer.param_groups):
                raise ValueError("a parameter group sets it itself, or has parameters that it is not for")
            for group in optimizer.param_groups:
                self.kept.append((group, {key: group[key] for key in self.OTHERS if key in group}))
                for key in self.OTHERS:
                    if key in group:
                        group[key] = key == self.value
            if self.value == "fused":
                self.moved.append(optimizer)
                self.steps_to(optimizer, lambda parameter: parameter.device)

    def may(self, group):
        if self.value not in group or any(group.get(key) for key in self.OTHERS + ("capturable", "differentiable")):
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
        if not self.kept:
            return "the program makes no optimizer that it could change"
        good = all(group.get(self.value) for group, before in self.kept)
        return None if good else "the program set it back"


class SetToNone(Counted):
    def __init__(self, *args):
        super().__init__(*args)
        self.active = False
        switch, torch = self, self.torch
        if inspect.signature(torch.optim.Optimizer.zero_grad).parameters["set_to_none"].default:
            self.knobs.cannot(self.name, "this torch does it by itself")
            return

        def make(old):
            def zero_grad(owner, set_to_none=False):
                if switch.active:
                    switch.knobs.did(switch.name)
                return old(owner, set_to_none or switch.active)

            return zero_grad

        self.knobs.hook.replace(torch.optim.Optimizer, "zero_grad", make)
        self.knobs.hook.replace(torch.nn.Module, "zero_grad", make)

    def on(self):
        self.begin_counting()
        self.active = True

    def off(self):
        self.active = False


SWITCHES = {
    "precision.autocast": Autocast,
    "precision.inference": Inference,
    "tf32": TF32,
    "process.threads": Threads,
    "memory.no_empty_cache": NoEmptyCache,
    "channels_last": ChannelsLast,
    "optimizer.implementation": OptimizerImplementation,
    "optimizer.set_to_none": SetToNone,
}

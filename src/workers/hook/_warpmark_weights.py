"""Knob `precision.weights`: parameters and buffers of the module that the program calls, in a narrower type.

Inference holds its weights in 16 bits, which autocast would convert in every forward; what was made in 64 bits, mostly
by NumPy's default, goes to 32. They are converted in place at the first call, so that an optimizer made before goes on:
its state begins with its first step. What goes in is narrowed, what comes out is widened for the rest of the program.
"""

import copy
import weakref

KNOB = "precision.weights"
WIDE_AND_NARROW = {
    "bf16": ("float32", "bfloat16"),
    "fp16": ("float32", "float16"),
    "f32": ("float64", "float32"),
}


class NarrowWeights:
    def __init__(self, knobs, value):
        self.knobs = knobs
        self.torch = knobs.torch
        self.wide, self.narrow = (getattr(self.torch, name) for name in WIDE_AND_NARROW[value])
        self.keeps_training = value == "f32"
        self.modules = weakref.WeakSet()

    def prepare(self, module):
        first = next(module.parameters()).dtype
        if first != self.wide:
            return self.knobs.cannot(KNOB, "the parameters are %s" % first)
        if not self.keeps_training and self.knobs.hook.recorder.has_optimizer:
            return self.knobs.cannot(KNOB, "the program trains")
        module._apply(lambda tensor: tensor.to(self.narrow) if tensor.dtype == self.wide else tensor)
        self.modules.add(module)
        self.knobs.did(KNOB)
        self.knobs.checks[KNOB] = self.problem

    def problem(self):
        if not self.keeps_training and self.knobs.hook.recorder.backwards_seen > 0:
            return "the program trains"
        back = any(next(module.parameters()).dtype != self.narrow for module in self.modules)
        return "the program set them back" if back else None

    def around(self, called, args, kwargs, run):
        if called not in self.modules and getattr(called, "module", None) not in self.modules:  # DDP's, of one rank
            return run(called, args, kwargs)
        args = cast(self.torch, args, self.wide, self.narrow, copy.copy)
        kwargs = cast(self.torch, kwargs, self.wide, self.narrow, copy.copy)
        return cast(self.torch, run(called, args, kwargs), self.narrow, self.wide)


def cast(torch, value, before, after, own=lambda value: value):
    """Tensors of one type in another; also in what holds tensors, which keeps its type. A dictionary is changed where it
    is, or `own` makes the one to change: a batch stays the program's."""
    if isinstance(value, torch.Tensor):
        return value.to(after) if value.dtype == before else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[cast(torch, part, before, after, own) for part in value])
    if isinstance(value, (list, tuple)):
        return type(value)(cast(torch, part, before, after, own) for part in value)
    if isinstance(value, dict):  # also the outputs of transformers
        value = own(value)
        for key, part in list(value.items()):
            changed = cast(torch, part, before, after, own)
            if changed is not part:
                value[key] = changed
    return value

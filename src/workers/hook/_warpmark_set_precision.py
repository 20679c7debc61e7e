"""Settings of number formats: autocast, TF32, and parameters in a narrower type."""

import copy
import weakref

from _warpmark_commands import Cannot
from _warpmark_setting import Flag, Setting

NARROW = {"bf16": "bfloat16", "fp16": "float16"}


class Autocast(Setting):
    name = "precision.autocast"
    switchable = True

    def applies(self):
        return True

    def around(self, run, called, *args, **kwargs):
        if not self.applies():
            return run(called, *args, **kwargs)
        parameter = next(called.parameters(), None)
        if parameter is None or parameter.dtype != self.torch.float32:
            return run(called, *args, **kwargs)
        device = parameter.device.type
        if program_casts(self.torch, device):
            self.cannot("the program uses autocast itself")
            return run(called, *args, **kwargs)
        narrow = getattr(self.torch, NARROW[self.value])
        with self.torch.autocast(device, dtype=narrow):
            out = run(called, *args, **kwargs)
        self.did()
        # What leaves the module in a narrow type, in the one that the program's loss expects; cuDNN's LSTM computes in
        # f16 whatever autocast was asked for.
        for kind in {narrow, self.torch.float16}:
            out = cast(self.torch, out, kind, self.torch.float32)
        return out


class Inference(Autocast):
    """Autocast where no gradient is wanted."""

    name = "precision.inference"

    def applies(self):
        return self.settings.value(Autocast.name) is None and not self.torch.is_grad_enabled()


def program_casts(torch, device):
    enabled = torch.is_autocast_enabled
    try:
        return bool(enabled(device))
    except TypeError:  # before torch 2.4
        if device == "cpu":
            return bool(getattr(torch, "is_autocast_cpu_enabled", lambda: False)())
        return bool(enabled())


class TF32(Flag):
    """By PyTorch's flag. In processes of its own, the setting is a variable that cuBLAS reads at its start."""

    name = "tf32"

    def there_is_one(self):
        return self.hook.recorder.device.on_cuda() and self.torch.cuda.get_device_capability()[0] >= 8

    def apply(self):
        if not self.there_is_one():
            raise Cannot("there is no GPU with TF32")
        self.precision = getattr(self.torch.backends.cuda.matmul, "fp32_precision", None)
        super().apply()

    def undo(self):
        """PyTorch 2.9 takes a flag that was set back for another precision than one that was never set, and compiles
        again what its cache has."""
        super().undo()
        if self.precision is not None:
            self.torch.backends.cuda.matmul.fp32_precision = self.precision

    def place(self):
        """From PyTorch 2.9 on, a program that uses the new flag must not read the old one."""
        matmul = self.torch.backends.cuda.matmul
        try:
            matmul.allow_tf32
        except RuntimeError:
            return matmul, "fp32_precision", "tf32"
        return matmul, "allow_tf32", True

    def acts(self):
        """Parameters in f32 on the GPU: of the modules that the program calls, else of its optimizers."""
        if not self.there_is_one() or self.lost() is None:
            return 0
        called = [p for module in self.settings.modules for p in module.parameters()]
        trained = [p for one in list(self.hook.optimizers) for group in one.param_groups for p in group["params"]]
        return sum(p.is_cuda and p.dtype == self.torch.float32 for p in called or trained)


WIDE_AND_NARROW = {
    "bf16": ("float32", "bfloat16"),
    "fp16": ("float32", "float16"),
    "f32": ("float64", "float32"),
}


class Weights(Setting):
    """Parameters and buffers of the module that the program calls, in a narrower type.

    Inference holds its weights in 16 bits, which autocast would convert in every forward; what was made in 64 bits,
    mostly by NumPy's default, goes to 32. They are converted in place at the first call, so that an optimizer made
    before goes on: its state begins with its first step. What goes in is narrowed, what comes out is widened for the
    rest of the program.
    """

    name = "precision.weights"

    def install(self):
        if self.value is not None:
            self.wide, self.narrow = (getattr(self.torch, kind) for kind in WIDE_AND_NARROW[self.value])
            self.keeps_training = self.value == "f32"
            self.modules = weakref.WeakSet()

    def prepare(self, module):
        if self.value is None:
            return
        first = next(module.parameters()).dtype
        if first != self.wide:
            return self.cannot("the parameters are %s" % first)
        if not self.keeps_training and self.hook.recorder.has_optimizer:
            return self.cannot("the program trains")
        module._apply(lambda tensor: tensor.to(self.narrow) if tensor.dtype == self.wide else tensor)
        self.modules.add(module)
        self.did()

    def lost(self):
        if not self.keeps_training and self.hook.recorder.backwards_seen > 0:
            return "the program trains"
        back = any(next(module.parameters()).dtype != self.narrow for module in self.modules)
        return "the program set them back" if back else None

    def around(self, run, called, *args, **kwargs):
        if called not in self.modules and getattr(called, "module", None) not in self.modules:  # DDP's, of one rank
            return run(called, *args, **kwargs)
        args = cast(self.torch, args, self.wide, self.narrow, copy.copy)
        kwargs = cast(self.torch, kwargs, self.wide, self.narrow, copy.copy)
        return cast(self.torch, run(called, *args, **kwargs), self.narrow, self.wide)


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


SETTINGS = (Weights, Autocast, Inference, TF32)

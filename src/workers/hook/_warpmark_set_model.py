"""Settings of how modules run: memory format, cuDNN's choice, activations computed again.

They act on the module that the program calls from outside; parameters keep their identity, so an optimizer made before
goes on.
"""

import functools
import weakref

from _warpmark_commands import Elsewhere
from _warpmark_setting import Flag, Setting


class Modules(weakref.WeakSet):
    """That the program calls from outside."""

    def add(self, module):
        """Whether it is a new one."""
        if module in self:
            return False
        super().add(module)
        return True

    def __iter__(self):  # of a copy: one may be freed meanwhile
        return iter(list(super().__iter__()))

    def parts(self, kinds):
        return [part for module in self for part in module.modules() if isinstance(part, kinds)]


class ChannelsLast(Setting):
    """Weights, their gradients, what the optimizer keeps of them, and inputs."""

    name = "channels_last"
    switchable = True
    nothing = "there is no two-dimensional convolution"
    largest = None  # a weak reference to the largest weight

    def kinds(self):
        return self.torch.nn.Conv2d, self.torch.nn.ConvTranspose2d

    def prepare(self, module):
        if self.value is not None:
            self.did(self.change(module, self.torch.channels_last))

    def change(self, module, layout):
        convolutions = [part for part in module.modules() if isinstance(part, self.kinds())]
        if convolutions:
            self.torch.nn.Module.to(module, memory_format=layout)  # a program may have a to() of its own
            self.largest = weakref.ref(max((part.weight for part in convolutions), key=lambda weight: weight.numel()))
        return len(convolutions)

    def all_to(self, layout):
        changed = sum(self.change(module, layout) for module in self.settings.modules)
        for optimizer in list(self.hook.optimizers):
            for kept in optimizer.state.values():
                for key, value in kept.items():
                    if isinstance(value, self.torch.Tensor) and value.dim() == 4:
                        kept[key] = value.contiguous(memory_format=layout)
        return changed

    def apply(self):
        distributed = getattr(self.torch, "distributed", None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            raise Elsewhere()  # buckets of DistributedDataParallel keep the first layout
        self.did(self.all_to(self.torch.channels_last))

    def undo(self):
        self.all_to(self.torch.contiguous_format)

    def lost(self):
        weight = self.largest()
        kept = weight is None or weight.is_contiguous(memory_format=self.torch.channels_last)
        return None if kept else "the weights went back"

    def around(self, run, called, *args, **kwargs):
        return run(called, *self.last(args), **{key: self.last(value) for key, value in kwargs.items()})

    def last(self, value):
        if isinstance(value, tuple):
            return tuple(self.last(part) for part in value)
        if isinstance(value, self.torch.Tensor) and value.dim() == 4 and value.is_floating_point():
            return value.contiguous(memory_format=self.torch.channels_last)
        return value

    def acts(self):
        last = self.torch.channels_last
        weights = [part.weight for part in self.settings.modules.parts(self.kinds())]
        return sum(not weight.is_contiguous(memory_format=last) or weight.is_contiguous() for weight in weights)


class ConvolutionBenchmark(Flag):
    """What PyTorch chose while it was on stays chosen."""

    name = "cudnn.benchmark"

    def place(self):
        return self.torch.backends.cudnn, "benchmark", True

    def prepare(self, module):  # programs set their flags at the beginning; once more, before the first step
        if self.value is not None:
            self.torch.backends.cudnn.benchmark = True


class CheckpointBlocks(Setting):
    """Activations of repeated blocks are computed again in the backward."""

    name = "checkpoint.blocks"

    def prepare(self, module):
        if self.value is None:
            return
        if hasattr(module, "gradient_checkpointing_enable"):
            module.gradient_checkpointing_enable()
            return self.did()
        torch = self.torch
        for parent in module.modules():
            blocks = list(parent.children()) if isinstance(parent, (torch.nn.ModuleList, torch.nn.Sequential)) else []
            classes = set(type(block) for block in blocks)
            if len(blocks) >= 3 and len(classes) == 1 and not self.holds_others(classes.pop()):
                self.change(type(blocks[0]))
                return self.did(len(blocks))
        self.cannot("no list of three or more blocks of one class")

    def holds_others(self, cls):
        return cls.__module__.startswith("torch.nn.modules.container")

    def change(self, cls):
        from torch.utils.checkpoint import checkpoint

        torch, old = self.torch, cls.forward

        @functools.wraps(old)
        def forward(block, *args, **kwargs):
            if block.training and torch.is_grad_enabled():
                return checkpoint(functools.partial(old, block), *args, use_reentrant=False, **kwargs)
            return old(block, *args, **kwargs)

        cls.forward = forward


SETTINGS = (ChannelsLast, ConvolutionBenchmark, CheckpointBlocks)

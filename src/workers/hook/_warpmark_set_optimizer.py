"""Settings of optimizers: how they update parameters, and what becomes of gradients."""

import inspect
import weakref

from _warpmark_commands import Cannot
from _warpmark_setting import Setting

# Optimizers of torch.optim that have a fused and a foreach implementation, and those that have foreach alone.
FUSED = ("Adam", "AdamW", "SGD")
FOREACH = ("RAdam", "NAdam", "Adamax", "Adagrad", "Adadelta", "ASGD", "RMSprop", "Rprop")
FLAGS = ("fused", "foreach")
NOT_FOR = "a parameter group sets it itself, or has parameters that it is not for"


class Implementation(Setting):
    """By the flags of the optimizers' groups, which `step` reads each time: from the first step on, and switched in a
    lab. Steps are counted on the device that it wants."""

    name = "optimizer.implementation"
    switchable = True

    def __init__(self, settings, value=None):
        super().__init__(settings, value)
        self.kept = []  # groups and their flags before
        self.moved = []  # optimizers whose steps are counted elsewhere
        self.from_start = None  # the value that the plan gives a process
        self.stepped = weakref.WeakSet()  # optimizers, in such a process

    def install(self):
        self.from_start = self.value
        if self.value is not None:
            self.hook.replace(self.torch.optim.Optimizer, "load_state_dict", self.keeping_flags)

    def before_step(self, optimizer):
        """In a process of its own: its parameters may have been moved to a GPU after it was made."""
        if self.from_start is None or optimizer in self.stepped:
            return
        self.stepped.add(optimizer)
        if self.from_start not in self.kinds(optimizer):
            return
        if not all(self.may(group, self.from_start) for group in optimizer.param_groups):
            return self.cannot(NOT_FOR)
        self.change(optimizer, self.from_start)

    def change(self, optimizer, value):
        for group in optimizer.param_groups:
            group.update({key: key == value for key in FLAGS if key in group})
            self.did()
        if value == "fused":
            self.steps_to(optimizer, lambda parameter: parameter.device)

    def is_for(self, tensor, value):
        return tensor.is_floating_point() and (tensor.is_cuda or value == "foreach")

    def keeping_flags(self, old):
        """A checkpoint brings the flags of the optimizer that it was saved from."""

        def load_state_dict(optimizer, state_dict):
            return old(optimizer, self.hook.guarded("checkpoint", self.with_flags, state_dict, optimizer, state_dict))

        return load_state_dict

    def with_flags(self, optimizer, state_dict):
        groups = [dict(group) for group in state_dict["param_groups"]]
        for group, ours in zip(groups, optimizer.param_groups):
            group.update({flag: ours[flag] for flag in FLAGS if flag in ours})
        return dict(state_dict, param_groups=groups)

    def apply(self):
        self.kept, self.moved = [], []
        optimizers = [one for one in list(self.hook.optimizers) if self.value in self.kinds(one)]
        if not optimizers:
            raise Cannot("the program makes no optimizer that it could change")
        if not all(self.may(group, self.value) for one in optimizers for group in one.param_groups):
            raise Cannot(NOT_FOR)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                self.kept.append((group, {key: group[key] for key in FLAGS if key in group}))
            if self.value == "fused":
                self.moved.append(optimizer)
            self.change(optimizer, self.value)

    def undo(self):
        for group, before in self.kept:
            group.update(before)
        for optimizer in self.moved:
            self.steps_to(optimizer, lambda parameter: "cpu")

    def kinds(self, optimizer):
        name = type(optimizer).__name__
        return FLAGS if name in FUSED else ("foreach",) if name in FOREACH else ()

    def may(self, group, value):
        if value not in group or any(group.get(key) for key in FLAGS + ("capturable", "differentiable")):
            return False
        return all(self.is_for(parameter, value) for parameter in group["params"])

    def steps_to(self, optimizer, place):
        if type(optimizer).__name__ not in ("Adam", "AdamW"):
            return
        for parameter, kept in optimizer.state.items():
            if isinstance(kept.get("step"), self.torch.Tensor):
                kept["step"] = kept["step"].to(place(parameter))

    def lost(self):
        groups = [group for group, _ in self.kept]
        if not groups:
            groups = [group for one in self.stepped if self.value in self.kinds(one) for group in one.param_groups]
        return None if all(group.get(self.value) for group in groups) else "the program set it back"

    def acts(self):
        """Optimizers that update one parameter after the other, or several at a time, and could update all at once."""
        return sum(
            any(all(self.may(group, kind) for group in optimizer.param_groups) for kind in self.kinds(optimizer))
            for optimizer in list(self.hook.optimizers)
        )


class SetToNone(Setting):
    """Calls that fill the gradients with zeros drop them instead."""

    name = "optimizer.set_to_none"
    switchable = True
    kept = 0  # such calls

    def install(self):
        if self.value is None and not self.in_lab():
            return
        default = inspect.signature(self.torch.optim.Optimizer.zero_grad).parameters["set_to_none"].default
        if default:
            self.cannot("this version of torch does it automatically")

        def make(old):
            def zero_grad(owner, set_to_none=default):
                if not set_to_none:
                    self.kept += 1
                    if self.value is not None:
                        self.did()
                return old(owner, set_to_none or self.value is not None)

            return zero_grad

        self.hook.replace(self.torch.optim.Optimizer, "zero_grad", make)
        self.hook.replace(self.torch.nn.Module, "zero_grad", make)

    def acts(self):
        return self.kept


SETTINGS = (Implementation, SetToNone)

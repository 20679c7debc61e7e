"""Settings of optimizers: how they update parameters, and what becomes of gradients."""

import inspect

from _warpmark_commands import Cannot
from _warpmark_setting import Setting

# Optimizers of torch.optim that have a fused and a foreach implementation, and those that have foreach alone.
FUSED = ("Adam", "AdamW", "SGD")
FOREACH = ("RAdam", "NAdam", "Adamax", "Adagrad", "Adadelta", "ASGD", "RMSprop", "Rprop")
FLAGS = ("fused", "foreach")


class Implementation(Setting):
    """As an argument of the optimizers that the program makes; in a lab by the flags of their groups, which `step` reads
    each time. Steps are counted on the device that it wants."""

    name = "optimizer.implementation"
    switchable = True

    def __init__(self, settings, value=None):
        super().__init__(settings, value)
        self.kept = []  # groups and their flags before
        self.moved = []  # optimizers whose steps are counted elsewhere

    def install(self):
        if self.value is None:
            return
        for name in FUSED + FOREACH:
            cls = getattr(self.torch.optim, name)
            if self.value in inspect.signature(cls.__init__).parameters:
                self.hook.replace(cls, "__init__", self.with_argument)
            elif name in FUSED:
                self.cannot("%s of torch %s has no %s" % (name, self.torch.__version__, self.value))
        self.hook.replace(self.torch.optim.Optimizer, "load_state_dict", self.keeping_flags)

    def with_argument(self, old):
        def __init__(optimizer, params, *args, **kwargs):
            if isinstance(params, self.torch.Tensor):
                return old(optimizer, params, *args, **kwargs)
            params = list(params)
            change = self.hook.guarded("optimizer setting", self.may_change, False, params, kwargs)
            if change:  # a program's own False would contradict
                kwargs = {k: v for k, v in kwargs.items() if k not in FLAGS}
                kwargs[self.value] = True
            old(optimizer, params, *args, **kwargs)
            if change:
                self.did()

        return __init__

    def may_change(self, params, kwargs):
        tensors = []
        for part in params:
            if isinstance(part, dict):
                if any(part.get(flag) is not None for flag in FLAGS):
                    self.cannot("a parameter group sets it itself")
                    return False
                inside = part["params"]
                if not isinstance(inside, (list, tuple, self.torch.Tensor)):
                    inside = part["params"] = list(inside)
                tensors.extend([inside] if isinstance(inside, self.torch.Tensor) else inside)
            else:
                tensors.append(part[1] if isinstance(part, tuple) else part)
        for other in FLAGS + ("differentiable", "capturable"):
            if kwargs.get(other):
                self.cannot("the program asks for %s" % other)
                return False
        good = all(self.is_for(tensor, self.value) for tensor in tensors)
        if not good:
            self.cannot("a parameter is not a floating-point tensor on the GPU")
        return good

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
            raise Cannot("a parameter group sets it itself, or has parameters that it is not for")
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                self.kept.append((group, {key: group[key] for key in FLAGS if key in group}))
                group.update({key: key == self.value for key in FLAGS if key in group})
                self.did()
            if self.value == "fused":
                self.moved.append(optimizer)
                self.steps_to(optimizer, lambda parameter: parameter.device)

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
        return None if all(group.get(self.value) for group, _ in self.kept) else "the program set it back"

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

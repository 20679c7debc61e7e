"""Modules whose `forward` the program calls itself, past nn.Module.__call__.

They are looked for at the first step of an optimizer before which no module was called: those that hold its parameters and
are no class of torch's own. From then on their outermost `forward` goes through the call of the module, as PyTorch's
documentation asks for, where it is timed and where settings act.
"""

import gc


def owners(torch, optimizers):
    """Modules that hold parameters of these optimizers. By `type`, as isinstance runs code of lazy objects."""
    held = {id(p) for one in optimizers for group in one.param_groups for p in group["params"]}
    modules = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]
    return [one for one in modules if any(id(p) in held for p in one.parameters())]


def watch(hook):
    """How many classes are watched now."""
    own = {type(one) for one in owners(hook.torch, list(hook.optimizers))}
    classes = [cls for cls in own if not cls.__module__.startswith("torch.") and "forward" in cls.__dict__]
    for cls in classes:
        hook.replace(cls, "forward", lambda old: through_call(hook.recorder, old))
    return len(classes)


def through_call(recorder, old):
    outside = [True]

    def forward(module, *args, **kwargs):
        if recorder.in_forward or not outside[0] or module._forward_pre_hooks or module._forward_hooks:
            return old(module, *args, **kwargs)
        outside[0] = False
        try:
            return module(*args, **kwargs)
        finally:
            outside[0] = True

    return forward

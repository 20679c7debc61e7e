"""Same-state comparison: command "check" of the lab.

At a forward that the program makes, the module runs with each variant's settings: the same weights, buffers, arguments and
random numbers. Outputs and gradients are compared with those of variant 0. No optimizer steps, no .grad is touched, and the
program's forward then runs as if nothing had happened.
"""

import copy
import dataclasses
import random
import sys

import _warpmark_blocks as blocks
import _warpmark_commands as commands

MAX_STEPS = 8  # in which there must be such a forward
NOT_FINITE = 1e30  # a difference from or to what is not finite
OTHER_SEED = 20021
SHARDED = ("FullyShardedDataParallel", "DeepSpeedEngine")


class Check(commands.Command):
    def __init__(self, lab, wanted):
        super().__init__(lab, wanted)
        self.torch = lab.torch
        self.variants = [blocks.Variant(lab, number, one.get("knobs", {})) for number, one in enumerate(wanted["variants"])]
        self.trains = lab.recorder.backwards_seen > 0
        self.steps = 0
        self.done = False
        self.result = {"checks": [], "noise": {}, "rounding": {}, "spread": {}, "draws": False, "finite": False}
        self.why_not = "the program calls no module with parameters"

    def begin(self):
        return not self.variants

    def step(self, row):
        self.steps += 1
        return self.done or self.steps >= MAX_STEPS

    def broken(self, why):
        self.why_not = why
        return True

    def before_forward(self, module, args, kwargs, run):
        if self.done:
            return
        if type(module).__name__ in SHARDED:
            self.why_not = "%s keeps parts of the parameters on other GPUs" % type(module).__name__
            return
        inner = module.module if type(module).__name__ == "DistributedDataParallel" else module
        parameters = [p for p in inner.parameters() if p.requires_grad]
        if self.trains and not (self.torch.is_grad_enabled() and parameters):
            return
        self.done = True
        random_numbers = RandomNumbers(self.torch)
        try:
            if inner is not module:
                args, kwargs, run = self.past_wrapper(module, args, kwargs)
            if not self.trains:
                parameters = []
            self.why_not = ""
            forward = lambda: run(inner, *fresh((args, kwargs)))  # noqa: E731
            self.compare(State(self.torch, inner, parameters, forward, random_numbers))
        except Exception as problem:
            self.why_not = commands.text_of(problem)
        finally:
            self.lab.switch_to(None)
            random_numbers.restore()
        self.lab.hook.free_memory()  # that of the gradients kept

    def past_wrapper(self, module, args, kwargs):
        """DistributedDataParallel exchanges gradients, and copies its arguments to its GPU. Only the copy is wanted."""
        if module.device_ids:
            from torch.distributed.utils import _to_kwargs

            device = self.torch.device("cuda", module.device_ids[0])
            moved = _to_kwargs(args, kwargs, device, module.use_side_stream_for_tensor_copies)
            args, kwargs = moved[0][0], moved[1][0]
        around = self.lab.hook.settings.around
        return args, kwargs, lambda inner, args, kwargs: around(inner, args, kwargs, lambda m, *a, **k: m(*a, **k))

    def compare(self, state):
        result = self.result
        result["module"] = type(state.module).__name__
        state.keep(state.run())
        result["draws"] = state.random_numbers.changed()
        if state.changed_itself():
            raise ValueError("the forward changes parameters")
        result["finite"] = state.is_finite((state.outputs, state.gradients))
        result["noise"] = state.differences(state.run())
        with Rounding(self.torch, state.module):
            result["rounding"] = state.differences(state.run())
        state.random_numbers.seed(OTHER_SEED)
        result["spread"] = state.differences(state.run(keep_random_numbers=True))
        calm = []
        if result["draws"]:  # a change of the module's numbers would have it compiled again
            calm = [variant for variant in self.variants[1:] if not variant.compiles]
        checks = [self.compare_variant(state, variant, False) for variant in self.variants[1:] if variant not in calm]
        if calm:
            state.keep((None, None))
            with Calm(state.module):
                state.keep(state.run())
                is_calm = not state.random_numbers.changed()
                if is_calm:
                    checks += [self.compare_variant(state, variant, True) for variant in calm]
            if not is_calm:
                state.keep(state.run())
                checks += [self.compare_variant(state, variant, False) for variant in calm]
        result["checks"] = sorted(checks, key=lambda entry: entry["variant"])

    def compare_variant(self, state, variant, calm):
        """`calm`: without dropout, so that a difference is the setting's."""
        entry = {"variant": variant.number, "outputs": NOT_FINITE, "gradients": NOT_FINITE, "cosine": 0.0, "finite": False}
        entry["calm"] = calm
        try:
            self.lab.switch_to(variant)
            mark_step = self.lab.hook.settings["compile"].mark_step  # its graphs may use the memory of the run before
            if variant.compiles and not variant.failed:
                mark_step()
                state.run()
            if not variant.failed:
                mark_step()
                run = state.run()
                entry.update(state.differences(run), finite=state.is_finite(run))
        except Exception as problem:
            variant.failed = commands.text_of(problem)
        finally:
            self.lab.switch_to(None)
        if "out of memory" in variant.failed:
            self.lab.hook.free_memory()
        return dict(entry, failed=variant.failed)

    def answer(self):
        return dict(self.result, trains=self.trains, why_not=self.why_not)


class Calm:
    """Dropout is off within: modules, and numbers of modules that are named after it."""

    def __init__(self, module):
        self.kept = []
        for part in module.modules():
            for name, value in list(vars(part).items()):
                drops = "drop" in name.lower() or (name == "p" and "drop" in type(part).__name__.lower())
                if drops and isinstance(value, float) and value > 0:
                    self.kept.append((part, name, value))

    def __enter__(self):
        for part, name, _ in self.kept:
            setattr(part, name, 0.0)

    def __exit__(self, *what):
        for part, name, value in self.kept:
            setattr(part, name, value)


class Rounding:
    """Within, what each innermost module returns is off by a unit of its last place, up or down or not at all, as after another
    order of additions: the differences show how the module's answers react to rounding (Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 1.6)."""

    def __init__(self, torch, module):
        self.torch = torch
        self.parts = [part for part in module.modules() if not list(part.children())]
        self.generators = {}

    def __enter__(self):
        self.hooks = [part.register_forward_hook(lambda part, args, output: self.off(output)) for part in self.parts]

    def __exit__(self, *what):
        for hook in self.hooks:
            hook.remove()

    def off(self, output):
        if type(output) in (tuple, list):
            return type(output)(self.off(part) for part in output)
        if not isinstance(output, self.torch.Tensor) or not output.is_floating_point():
            return output
        if output.device not in self.generators:
            self.generators[output.device] = self.torch.Generator(output.device).manual_seed(OTHER_SEED)
        units = self.torch.randint(-1, 2, output.shape, generator=self.generators[output.device], device=output.device)
        return output * (1 + self.torch.finfo(output.dtype).eps * units.to(output.dtype))


class RandomNumbers:
    """State of the generators of Python, NumPy where it is loaded, and PyTorch, on the host and on GPUs."""

    def __init__(self, torch):
        self.torch = torch
        self.numpy = getattr(sys.modules.get("numpy"), "random", None)
        self.cuda = torch.cuda if "torch.cuda" in sys.modules and torch.cuda.is_initialized() else None
        self.kept = self.state()

    def state(self):
        return (
            random.getstate(),
            self.numpy.get_state() if self.numpy is not None else None,
            self.torch.get_rng_state(),
            self.cuda.get_rng_state_all() if self.cuda is not None else [],
        )

    def restore(self):
        random.setstate(self.kept[0])
        if self.numpy is not None:
            self.numpy.set_state(self.kept[1])
        self.torch.set_rng_state(self.kept[2])
        if self.cuda is not None:
            self.cuda.set_rng_state_all(self.kept[3])

    def seed(self, number):
        random.seed(number)
        if self.numpy is not None:
            self.numpy.seed(number)
        self.torch.manual_seed(number)

    def changed(self):
        now = self.state()
        numpy_same = self.numpy is None or all(same(a, b) for a, b in zip(now[1], self.kept[1]))
        gpus_same = all(self.torch.equal(a, b) for a, b in zip(now[3], self.kept[3]))
        return not (now[0] == self.kept[0] and numpy_same and self.torch.equal(now[2], self.kept[2]) and gpus_same)


def same(a, b):
    equal = a == b
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)


class State:
    """One forward of a module, to be run several times from the same state."""

    def __init__(self, torch, module, parameters, forward, random_numbers):
        self.torch = torch
        self.module = module
        self.parameters = parameters
        self.forward = forward
        self.random_numbers = random_numbers
        self.buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
        self.versions = self.versions_now()
        self.cotangents = None
        self.outputs = self.gradients = None

    def run(self, keep_random_numbers=False):
        """Outputs and gradients."""
        if not keep_random_numbers:
            self.random_numbers.restore()
        self.torch.clear_autocast_cache()  # parameters that the run before has cast, with its graph
        try:
            outputs = [t for t in tensors_of(self.torch, self.forward()) if t.is_floating_point() or t.is_complex()]
            return [wide(self.torch, t.detach()).clone() for t in outputs], self.gradients_of(outputs)
        finally:
            for buffer, before in self.buffers:
                buffer.data.copy_(before)  # .data: graphs that are still to be used do not see it as a change

    def gradients_of(self, outputs):
        """Of the loss, where the module returns one; else of the outputs times random numbers."""
        outputs = [t for t in outputs if t.requires_grad]
        if not self.parameters:
            return []
        if not outputs:
            raise ValueError("no output has a gradient")
        losses = [t for t in outputs if t.numel() == 1]
        if losses:
            gradients = self.torch.autograd.grad(losses[0], self.parameters, allow_unused=True)
        else:
            if self.cotangents is None:
                generator = self.torch.Generator().manual_seed(1)
                shapes = [(t.shape, t.device, t.dtype) for t in outputs]
                self.cotangents = [self.torch.randn(s, generator=generator).to(d, k) for s, d, k in shapes]
            cotangents = [c.to(t.dtype) for c, t in zip(self.cotangents, outputs)]
            gradients = self.torch.autograd.grad(outputs, self.parameters, cotangents, allow_unused=True)
        return [None if g is None else wide(self.torch, g) for g in gradients]

    def keep(self, run):
        self.outputs, self.gradients = run

    def changed_itself(self):
        return self.versions != self.versions_now()

    def versions_now(self):
        return [p._version for p in self.module.parameters() if not p.is_inference()]

    def is_finite(self, run):
        return all(bool(self.torch.isfinite(t).all()) for part in run for t in part if t is not None)

    def differences(self, run):
        """Relative L2 norms of the differences to the kept run, and the cosine of the gradients."""
        outputs, gradients = run
        if [t.shape for t in outputs] != [t.shape for t in self.outputs]:
            raise ValueError("the outputs have other shapes")
        output, _ = self.difference(outputs, self.outputs)
        gradient, cosine = self.difference(gradients, self.gradients)
        return {"outputs": output, "gradients": gradient, "cosine": cosine}

    def difference(self, ours, theirs):
        apart = own = base = product = 0.0
        for a, b in zip(ours, theirs):
            if a is None and b is None:
                continue
            a = self.torch.zeros_like(b) if a is None else a.to(b.dtype) if b is not None else a
            b = self.torch.zeros_like(a) if b is None else b
            norm = self.torch.linalg.vector_norm
            sizes = self.torch.stack([norm(a - b), norm(a), norm(b), (a * b).sum()]).double().tolist()
            apart, own, base = apart + sizes[0] ** 2, own + sizes[1] ** 2, base + sizes[2] ** 2
            product += sizes[3]
        if not all(abs(sum_) < float("inf") for sum_ in (apart, own, base, product)):
            return NOT_FINITE, 0.0
        relative = (apart / base) ** 0.5 if base > 0 else (0.0 if apart == 0 else NOT_FINITE)
        cosine = product / (own * base) ** 0.5 if own * base > 0 else float(own == base)
        return min(relative, NOT_FINITE), cosine


def wide(torch, tensor):
    if tensor.is_sparse:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def tensors_of(torch, value, depth=0):
    """In tuples, lists, mappings, and objects that hold tensors, in their order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth > 4:
        return []
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return []
    return [tensor for part in parts for tensor in tensors_of(torch, part, depth + 1)]


def fresh(value):
    """Arguments for another run: what a forward adds to, as a cache of keys and values, is a copy."""
    if type(value) in (tuple, list):
        return type(value)(fresh(part) for part in value)
    if type(value) is dict:
        return {key: fresh(part) for key, part in value.items()}
    return copy.deepcopy(value) if "Cache" in type(value).__name__ else value

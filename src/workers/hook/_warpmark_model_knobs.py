"""Knobs that change how modules run: memory format, autocast, compiling, attention, checkpointing of repeated blocks.

They act on the module that the program calls from outside, at its first call (or when DistributedDataParallel wraps
it); parameters keep their identity, so an optimizer made before goes on.
"""

import functools
import weakref

import _warpmark_compile as compiling
import _warpmark_weights as weights


class ModelKnobs:
    def __init__(self, knobs):
        self.knobs = knobs
        self.torch = knobs.torch
        self.modules = weakref.WeakSet()  # that are prepared
        self.attention_lost = None  # why not all ways of attention were on in some forward
        self.watches_attention = False
        self.compiler = compiling.Compiler(self)
        self.unfused = False  # some attention was left no fused way, if only for a while

    def begin(self):
        knobs = self.knobs
        wanted = knobs.wanted
        self.autocast = wanted.get("precision.autocast") or None
        self.inference = wanted.get("precision.inference") or None
        self.channels_last = "channels_last" in wanted
        if "compile" in wanted:
            self.compiler.switch(wanted["compile"])
            knobs.checks["compile"] = self.compile_problem
        self.weights = weights.NarrowWeights(knobs, wanted[weights.KNOB]) if weights.KNOB in wanted else None
        if "attention.sdpa" in wanted:
            self.sdpa()
        self.all_attention = wanted.get("attention.backend") == "all"
        if self.all_attention:
            self.knobs.checks["attention.backend"] = lambda: self.attention_lost
        elif "attention.backend" in wanted:
            self.attention_backend(wanted["attention.backend"])

    # Once for a module

    def prepare(self, module, args):
        if module in self.modules:
            return
        guarded = self.knobs.hook.guarded
        self.modules.add(module)
        if not self.watches_attention:
            self.watches_attention = True
            guarded("attention", self.watch_attention, None)
        wanted = self.knobs.wanted
        if self.weights is not None:
            guarded("weights", self.weights.prepare, None, module)
        if self.channels_last:
            guarded("channels_last", self.to_channels_last, None, module)
        if "checkpoint.blocks" in wanted:
            guarded("checkpoint", self.checkpoint_blocks, None, module)
        if self.compiler.mode is not None or self.knobs.hook.recorder.lab is not None:
            guarded("compile", self.compiler.install, None, module)

    def to_channels_last(self, module):
        torch = self.torch
        convolutions = [m for m in module.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))]
        if not convolutions:
            return self.knobs.cannot("channels_last", "there is no two-dimensional convolution")
        torch.nn.Module.to(module, memory_format=torch.channels_last)  # a program may have a to() of its own
        self.knobs.did("channels_last", len(convolutions))
        weight = max((m.weight for m in convolutions), key=lambda w: w.numel())

        def check():
            return None if weight.is_contiguous(memory_format=torch.channels_last) else "the weights went back"

        self.knobs.checks["channels_last"] = check

    def compile_problem(self):
        counts = self.compiler.counts()
        self.knobs.notes["compile"] = compiling.note(counts)
        return None if counts[0] > 0 else "nothing was compiled"

    def checkpoint_blocks(self, module):
        torch = self.torch
        if hasattr(module, "gradient_checkpointing_enable"):
            module.gradient_checkpointing_enable()
            return self.knobs.did("checkpoint.blocks")
        from torch.utils.checkpoint import checkpoint

        for parent in module.modules():
            if not isinstance(parent, (torch.nn.ModuleList, torch.nn.Sequential)):
                continue
            blocks = list(parent.children())
            classes = set(type(block) for block in blocks)
            if (
                len(blocks) < 3
                or len(classes) != 1
                or classes.pop().__module__.startswith("torch.nn.modules.container")
            ):
                continue
            self.checkpoint_class(type(blocks[0]), checkpoint)
            return self.knobs.did("checkpoint.blocks", len(blocks))
        self.knobs.cannot("checkpoint.blocks", "no list of three or more blocks of one class")

    def checkpoint_class(self, cls, checkpoint):
        torch, old = self.torch, cls.forward

        @functools.wraps(old)
        def forward(block, *args, **kwargs):
            if block.training and torch.is_grad_enabled():
                return checkpoint(functools.partial(old, block), *args, use_reentrant=False, **kwargs)
            return old(block, *args, **kwargs)

        cls.forward = forward

    def attention_backend(self, wanted):
        """Torch's own switches: of its fused ways only one stays."""
        torch, knobs = self.torch, self.knobs
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            return knobs.cannot("attention.backend", "torch %s has no scaled_dot_product_attention" % torch.__version__)
        cuda = torch.backends.cuda
        names = {"math": "math", "flash": "flash", "efficient": "mem_efficient", "cudnn": "cudnn"}
        if not hasattr(cuda, "enable_%s_sdp" % names[wanted]):
            return knobs.cannot("attention.backend", "torch %s has no %s" % (torch.__version__, wanted))
        if wanted != "math" and not torch.cuda.is_available():
            return knobs.cannot("attention.backend", "%s is of GPUs, and there is none" % wanted)
        for name in names.values():
            if hasattr(cuda, "enable_%s_sdp" % name):
                getattr(cuda, "enable_%s_sdp" % name)(name == names[wanted])
        knobs.did("attention.backend")
        enabled = getattr(cuda, "%s_sdp_enabled" % names[wanted])
        knobs.checks["attention.backend"] = lambda: None if enabled() else "the program set it back"

    FUSED = ("flash", "mem_efficient", "cudnn")

    def backends_off(self):
        """Those of scaled_dot_product_attention's fused ways that are switched off, of those that this torch has."""
        cuda = self.torch.backends.cuda
        enabled = {name: getattr(cuda, "%s_sdp_enabled" % name, lambda: True) for name in self.FUSED}
        return [name for name in self.FUSED if not enabled[name]()]

    def watch_attention(self):
        """What a program switches off within a forward is on again after it (torch.nn.attention.sdpa_kernel): both that
        and torch.backends.cuda.enable_flash_sdp end in these functions."""
        for name in self.FUSED:
            if hasattr(self.torch._C, "_set_sdp_use_" + name):
                self.knobs.hook.replace(self.torch._C, "_set_sdp_use_" + name, self.watched_switch)

    def watched_switch(self, old):
        getters = [getattr(self.torch._C, "_get_%s_sdp_enabled" % name, None) for name in self.FUSED]
        enabled_ways = [getter for getter in getters if getter is not None]

        def switch(enabled):
            if not enabled and self.all_attention:
                self.knobs.did("attention.backend")
                enabled = True
            result = old(enabled)
            # To choose one way is a program's good right; to leave none is a search for an error.
            self.unfused = self.unfused or not any(is_enabled() for is_enabled in enabled_ways)
            return result

        return switch

    def open_attention(self):
        """Before each forward, as a program may switch them off in every step."""
        off = self.backends_off()
        for name in off:
            getattr(self.torch.backends.cuda, "enable_%s_sdp" % name)(True)
        if off:
            self.knobs.did("attention.backend", len(off))
        else:
            self.knobs.cannot("attention.backend", "none is switched off")

    def see_attention(self):
        if self.backends_off():
            self.attention_lost = "the program switches it off within its forward"

    def with_all_attention(self, called, args, kwargs, inside):
        self.knobs.hook.guarded("attention", self.open_attention, None)
        out = self.cast(called, args, kwargs, inside)
        self.knobs.hook.guarded("attention", self.see_attention, None)
        return out

    def tell_attention(self, report):
        off = self.knobs.hook.guarded("attention", self.backends_off, None)
        if self.unfused and not off:
            off = list(self.FUSED)
        if off:
            report.add("attention", off=off)

    def sdpa(self):
        model = self

        def after(module):
            def make(old):
                def __init__(owner, config, *args, **kwargs):
                    if (
                        getattr(owner, "_supports_sdpa", False)
                        and getattr(config, "_attn_implementation", "") == "eager"
                    ):
                        config._attn_implementation = "sdpa"
                        model.knobs.did("attention.sdpa")
                    old(owner, config, *args, **kwargs)

                return __init__

            model.knobs.hook.replace(module.PreTrainedModel, "__init__", make)

        self.knobs.hook.watcher.callbacks["transformers.modeling_utils"] = after

    # Each call from outside

    def around(self, called, args, kwargs, inside):
        if self.knobs.accumulation.active:
            self.knobs.hook.guarded("no_sync", self.knobs.accumulation.before_forward, None, called)
        if self.channels_last:
            args, kwargs = self.last(args), {k: self.last(v) for k, v in kwargs.items()}
        run = self.with_all_attention if self.all_attention else self.cast
        if self.weights is None:
            return run(called, args, kwargs, inside)
        return self.weights.around(called, args, kwargs, lambda c, a, k: run(c, a, k, inside))

    def cast(self, called, args, kwargs, inside):
        mode = self.autocast
        if mode is None and self.inference and not self.torch.is_grad_enabled():
            mode = self.inference
        if mode is None:
            return inside(called, *args, **kwargs)
        knob = "precision.autocast" if self.autocast else "precision.inference"
        device = self.device_of(called)
        if device is None:
            return inside(called, *args, **kwargs)
        if self.program_casts(device):
            self.knobs.cannot(knob, "the program uses autocast itself")
            return inside(called, *args, **kwargs)
        dtype = getattr(self.torch, {"bf16": "bfloat16", "fp16": "float16"}[mode])
        with self.torch.autocast(device, dtype=dtype):
            out = inside(called, *args, **kwargs)
        self.knobs.did(knob)
        # What leaves the module in a narrow type, in the one that the program's loss expects; cuDNN's LSTM computes in
        # f16 whatever autocast was asked for.
        for narrow in {dtype, self.torch.float16}:
            out = weights.cast(self.torch, out, narrow, self.torch.float32)
        return out

    def program_casts(self, device):
        enabled = self.torch.is_autocast_enabled
        try:
            return bool(enabled(device))
        except TypeError:  # before torch 2.4
            if device == "cpu":
                return bool(getattr(self.torch, "is_autocast_cpu_enabled", lambda: False)())
            return bool(enabled())

    def device_of(self, module):
        parameter = next(module.parameters(), None)
        if parameter is None or parameter.dtype != self.torch.float32:
            return None
        return parameter.device.type

    def last(self, value):
        if isinstance(value, tuple):
            return tuple(self.last(v) for v in value)
        if isinstance(value, self.torch.Tensor) and value.dim() == 4 and value.is_floating_point():
            return value.contiguous(memory_format=self.torch.channels_last)
        return value

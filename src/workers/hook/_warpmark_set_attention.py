"""Settings of attention: which ways scaled_dot_product_attention has, and models of transformers that do not use it."""

from _warpmark_commands import Cannot, Elsewhere
from _warpmark_setting import Setting

FUSED = ("flash", "mem_efficient", "cudnn")
WAYS = {"math": "math", "flash": "flash", "efficient": "mem_efficient", "cudnn": "cudnn"}


class Backend(Setting):
    """"all" leaves a program none of its fused ways switched off; another value leaves it that one alone."""

    name = "attention.backend"
    switchable = True
    watches = False
    unfused = False  # some attention was left no fused way, if only for a while
    switched_off = None  # why not all ways were on in some forward

    def install(self):
        if self.value is not None and self.value != "all":
            self.only(self.value)

    def only(self, wanted):
        """Torch's own switches."""
        torch = self.torch
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            return self.cannot("torch %s has no scaled_dot_product_attention" % torch.__version__)
        if not hasattr(torch.backends.cuda, "enable_%s_sdp" % WAYS[wanted]):
            return self.cannot("torch %s has no %s" % (torch.__version__, wanted))
        if wanted != "math" and not torch.cuda.is_available():
            return self.cannot("%s is of GPUs, and there is none" % wanted)
        for way in WAYS.values():
            if hasattr(torch.backends.cuda, "enable_%s_sdp" % way):
                self.enable(way, way == WAYS[wanted])
        self.did()

    def enable(self, way, enabled):
        getattr(self.torch.backends.cuda, "enable_%s_sdp" % way)(enabled)

    def is_enabled(self, way):
        return getattr(self.torch.backends.cuda, "%s_sdp_enabled" % way, lambda: True)()

    def off_now(self):
        """The fused ways that are switched off, of those that this torch has."""
        return [way for way in FUSED if not self.is_enabled(way)]

    def lost(self):
        if self.value == "all":
            return self.switched_off
        return None if self.is_enabled(WAYS[self.value]) else "the program set it back"

    def prepare(self, module):
        """What a program switches off within a forward is on again after it (torch.nn.attention.sdpa_kernel): both that
        and torch.backends.cuda.enable_flash_sdp end in these functions."""
        if self.watches:
            return
        self.watches = True
        for way in FUSED:
            if hasattr(self.torch._C, "_set_sdp_use_" + way):
                self.hook.replace(self.torch._C, "_set_sdp_use_" + way, self.watched_switch)

    def watched_switch(self, old):
        getters = [getattr(self.torch._C, "_get_%s_sdp_enabled" % way, None) for way in FUSED]
        enabled_ways = [getter for getter in getters if getter is not None]

        def switch(enabled):
            if not enabled and self.value == "all":
                self.did()
                enabled = True
            result = old(enabled)
            # To choose one way is a program's good right; to leave none is a search for an error.
            self.unfused = self.unfused or not any(is_enabled() for is_enabled in enabled_ways)
            return result

        return switch

    def around(self, run, called, *args, **kwargs):
        if self.value != "all":
            return run(called, *args, **kwargs)
        self.hook.guarded("attention", self.open_all, None)
        out = run(called, *args, **kwargs)
        if self.hook.guarded("attention", self.off_now, None):
            self.switched_off = "the program switches it off within its forward"
        return out

    def open_all(self):
        """Before each forward, as a program may switch them off in every step."""
        off = self.off_now()
        for way in off:
            self.enable(way, True)
        if off:
            self.did(len(off))
        else:
            self.cannot("none is switched off")

    def apply(self):
        """What the program switched off once stays off after it."""
        if self.value != "all":
            raise Elsewhere()
        self.switched_off = None
        self.disabled = self.off_now()

    def undo(self):
        for way in self.disabled:
            self.enable(way, False)

    def acts(self):
        return len(self.off_now()) or int(self.unfused)

    def notify(self, report):
        off = self.hook.guarded("attention", self.off_now, None)
        if self.unfused and not off:
            off = list(FUSED)
        if off:
            report.add("attention", off=off)


class Sdpa(Setting):
    """Models of transformers that were made with eager attention. They look it up at each forward since 4.48."""

    name = "attention.sdpa"
    switchable = True

    def install(self):
        if self.value is not None:
            self.hook.watcher.callbacks["transformers.modeling_utils"] = self.watch

    def watch(self, module):
        def make(old):
            def __init__(owner, config, *args, **kwargs):
                if getattr(owner, "_supports_sdpa", False) and getattr(config, "_attn_implementation", "") == "eager":
                    config._attn_implementation = "sdpa"
                    self.did()
                old(owner, config, *args, **kwargs)

            return __init__

        self.hook.replace(module.PreTrainedModel, "__init__", make)

    def eager(self):
        """Models that could use scaled_dot_product_attention and do not."""
        return [
            part
            for part in self.settings.modules.parts(self.torch.nn.Module)
            if getattr(part, "_supports_sdpa", False) is True
            and getattr(getattr(part, "config", None), "_attn_implementation", "") == "eager"
        ]

    def apply(self):
        eager = self.eager()
        self.models = [model for model in eager if hasattr(model, "set_attn_implementation")]
        if not self.models:
            raise Elsewhere() if eager else Cannot("no model has eager attention")
        for model in self.models:
            model.set_attn_implementation("sdpa")
        self.did(len(self.models))

    def undo(self):
        for model in self.models:
            model.set_attn_implementation("eager")

    def lost(self):
        models = getattr(self, "models", ())
        good = all(model.config._attn_implementation == "sdpa" for model in models)
        return None if good else "transformers did not take it"

    def acts(self):
        return len(self.eager())


SETTINGS = (Backend, Sdpa)

"""How many places of the program each setting could change: one without any need not be tried."""

import _warpmark_knobs as hook_knobs
import _warpmark_switches as switches


class Acts:
    def __init__(self, hook):
        self.hook = hook
        self.torch = hook.torch

    def tell(self, report):
        knobs, recorder = self.hook.knobs, self.hook.recorder
        counts = {
            "attention.sdpa": lambda: len(list(switches.eager_attention(knobs))),
            "attention.backend": lambda: len(knobs.model.backends_off()) or int(knobs.model.unfused),
            "channels_last": self.convolutions,
            "compile": lambda: len(knobs.model.compiler.calls),
            "debug.anomaly_detection": self.anomaly_detection,
            "memory.no_empty_cache": lambda: recorder.emptied,
            "optimizer.implementation": self.optimizers,
            "optimizer.set_to_none": lambda: knobs.kept_gradients,
            "tf32": self.float32_parameters,
        }
        for knob, count in counts.items():
            places = self.hook.guarded("acts: " + knob, count, None)
            if places is not None:
                report.add("acts", knob=knob, places=places)

    def modules(self):
        return list(self.hook.knobs.model.modules)

    def convolutions(self):
        kinds = (self.torch.nn.Conv2d, self.torch.nn.ConvTranspose2d)
        last = self.torch.channels_last
        found = [part for module in self.modules() for part in module.modules() if isinstance(part, kinds)]
        return sum(not part.weight.is_contiguous(memory_format=last) or part.weight.is_contiguous() for part in found)

    def anomaly_detection(self):
        return int(self.torch.is_anomaly_enabled() or "debug.anomaly_detection" in self.hook.knobs.debugging)

    def optimizers(self):
        """Those that update one parameter after the other, or several at a time, and could update all at once."""
        switch = switches.OptimizerImplementation(self.hook.knobs, "optimizer.implementation", "fused")
        foreach = switches.OptimizerImplementation(self.hook.knobs, "optimizer.implementation", "foreach")
        count = 0
        for optimizer in list(self.hook.optimizers):
            name = type(optimizer).__name__
            kinds = ([switch, foreach] if name in hook_knobs.FUSED else [foreach]) if name in KNOWN else []
            count += any(all(kind.may(group) for group in optimizer.param_groups) for kind in kinds)
        return count

    def float32_parameters(self):
        cuda = self.torch.cuda
        if not self.hook.recorder.on_cuda() or cuda.get_device_capability()[0] < 8:
            return 0
        owner, attribute, value = switches.tf32_flag(self.torch)
        if getattr(owner, attribute) == value:
            return 0
        kind = self.torch.float32
        return sum(p.is_cuda and p.dtype == kind for module in self.modules() for p in module.parameters())


KNOWN = hook_knobs.FUSED + hook_knobs.FOREACH

"""One exchange of gradients an optimizer step where a program accumulates over several backwards.

DistributedDataParallel decides in its forward whether the backward that follows exchanges. How many there are in a step
is learned from the steps before; a step that ends earlier is exchanged by hand, before anything reads its gradients: an
optimizer, a scaler that looks for overflows, who clips them. All ranks come there, also those that skip the step then.

With a second model that exchanges, as of a GAN, it is not told whose backward comes next: every one exchanges.
"""

import weakref

KNOB = "ddp.no_sync"


class Accumulation:
    LEARNED = 2  # equal steps

    def __init__(self, knobs):
        self.knobs = knobs
        self.active = False
        self.wrapper = lambda: None  # a weak reference to the model that exchanges
        self.several = False
        self.forwards = 0
        self.seen = 0  # backwards until the last step
        self.counts = []  # of backwards in the last steps
        self.open = False  # gradients were added that no rank has sent

    def begin(self):
        self.active = KNOB in self.knobs.wanted
        if not self.active and self.knobs.hook.recorder.lab is None:
            return
        torch = self.knobs.torch
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self.knobs.hook.replace(torch.nn.utils, name, self.exchanged_first)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        for name in ("unscale_", "step"):
            self.knobs.hook.replace(scaler, name, self.exchanged_first)

    def exchanged_first(self, old):
        def first_exchange(*args, **kwargs):
            self.knobs.hook.guarded("no_sync", self.exchange, None)
            return old(*args, **kwargs)

        return first_exchange

    def switch(self, active):
        """Between two steps."""
        self.active = active
        self.forwards, self.counts = 0, []
        self.seen = self.knobs.hook.recorder.backwards_seen
        wrapper = self.wrapper()
        if not active and wrapper is not None:
            self.exchange()
            wrapper.require_backward_grad_sync = True

    def expected(self):
        equal = len(self.counts) == self.LEARNED and len(set(self.counts)) == 1
        return self.counts[0] if equal and not self.several else 0

    def before_forward(self, called):
        torch = self.knobs.torch
        if type(called).__name__ != "DistributedDataParallel" or not torch.is_grad_enabled() or not called.training:
            return
        known = self.wrapper()
        if known is not None and known is not called and not self.several:
            self.several = True
            self.knobs.places.pop(KNOB, None)
            self.knobs.cannot(KNOB, "several models exchange gradients")
            self.exchange()
            known.require_backward_grad_sync = True
        if known is not called:
            self.wrapper = weakref.ref(called)
        count = self.expected()
        self.forwards += 1
        last = count < 2 or self.forwards >= count
        called.require_backward_grad_sync = last
        self.open = not last
        if not last:
            self.knobs.did(KNOB)

    def before_optimizer(self):
        self.exchange()
        self.forwards = 0
        backwards = self.knobs.hook.recorder.backwards_seen
        if backwards > self.seen:  # else a further optimizer of the same step
            self.counts = [*self.counts, backwards - self.seen][-self.LEARNED :]
            self.seen = backwards

    def exchange(self):
        """By hand. A gradient that is missing here may be there on another rank: all of them are sent."""
        wrapper = self.wrapper()
        if not self.open or wrapper is None:
            return
        self.open = False
        import torch.distributed as dist

        world = dist.get_world_size(wrapper.process_group)
        for parameter in wrapper.parameters():
            if not parameter.requires_grad:
                continue
            missing = parameter.grad is None
            gradient = self.knobs.torch.zeros_like(parameter) if missing else parameter.grad
            with self.knobs.torch.no_grad():
                dist.all_reduce(gradient, group=wrapper.process_group)
                gradient /= world
                if missing and bool(gradient.any()):
                    parameter.grad = gradient

"""Settings of DistributedDataParallel."""

import weakref

from _warpmark_setting import Setting


class Wrapper(Setting):
    """Set where the program wraps its module."""

    def arguments(self, given):
        pass

    def wrapped(self, wrapper):
        pass


class BucketCap(Wrapper):
    name = "ddp.bucket_cap_mb"

    def arguments(self, given):
        given["bucket_cap_mb"] = int(self.value)
        self.did()


class BucketView(Wrapper):
    name = "ddp.gradient_as_bucket_view"

    def arguments(self, given):
        given[self.name[4:]] = True
        self.did()


class StaticGraph(BucketView):
    name = "ddp.static_graph"


class Bf16Gradients(Wrapper):
    name = "ddp.bf16_gradients"

    def wrapped(self, wrapper):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        wrapper.register_comm_hook(None, default_hooks.bf16_compress_hook)
        self.did()


class NoSync(Wrapper):
    """One exchange of gradients an optimizer step where a program accumulates over several backwards.

    DistributedDataParallel decides in its forward whether the backward that follows exchanges. How many there are in a
    step is learned from the steps before; a step that ends earlier is exchanged by hand, before anything reads its
    gradients: an optimizer, a scaler that looks for overflows, who clips them. All ranks come there, also those that
    skip the step then.

    With a second model that exchanges, as of a GAN, it is not told whose backward comes next: every one exchanges.
    """

    name = "ddp.no_sync"
    switchable = True
    LEARNED = 2  # equal steps

    def __init__(self, settings, value=None):
        super().__init__(settings, value)
        self.wrapper = lambda: None  # a weak reference to the model that exchanges
        self.several = False
        self.forwards = 0
        self.seen = 0  # backwards until the last step
        self.counts = []  # of backwards in the last steps
        self.open = False  # gradients were added that no rank has sent

    def install(self):
        if self.value is None and not self.in_lab():
            return
        torch = self.torch
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self.hook.replace(torch.nn.utils, name, self.exchanged_first)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        for name in ("unscale_", "step"):
            self.hook.replace(scaler, name, self.exchanged_first)

    def exchanged_first(self, old):
        def first_exchange(*args, **kwargs):
            self.hook.guarded("no_sync", self.exchange, None)
            return old(*args, **kwargs)

        return first_exchange

    def apply(self):
        self.forwards, self.counts = 0, []
        self.seen = self.hook.recorder.backwards_seen

    def undo(self):
        self.apply()
        wrapper = self.wrapper()
        if wrapper is not None:
            self.exchange()
            wrapper.require_backward_grad_sync = True

    def expected(self):
        equal = len(self.counts) == self.LEARNED and len(set(self.counts)) == 1
        return self.counts[0] if equal and not self.several else 0

    def around(self, run, called, *args, **kwargs):
        self.hook.guarded("no_sync", self.before_forward, None, called)
        return run(called, *args, **kwargs)

    def before_forward(self, called):
        torch = self.torch
        if type(called).__name__ != "DistributedDataParallel" or not torch.is_grad_enabled() or not called.training:
            return
        known = self.wrapper()
        if known is not None and known is not called and not self.several:
            self.several = True
            self.changed = self.before
            self.cannot("several models exchange gradients")
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
            self.did()

    def before_optimizer(self):
        """A step may end before its last backward was exchanged, on all ranks."""
        if self.value is None:
            return
        self.exchange()
        self.forwards = 0
        backwards = self.hook.recorder.backwards_seen
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
            gradient = self.torch.zeros_like(parameter) if missing else parameter.grad
            with self.torch.no_grad():
                dist.all_reduce(gradient, group=wrapper.process_group)
                gradient /= world
                if missing and bool(gradient.any()):
                    parameter.grad = gradient


SETTINGS = (NoSync, BucketCap, BucketView, StaticGraph, Bf16Gradients)

"""What one step asks of the machine: its products, convolutions, attentions and the bytes of everything else, from a
trace of the operators that torch dispatches, forward and backward (torch 1.13 and later).
"""

import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

import wm_networks as networks
import wm_tasks as tasks
from wm_training import built, without_trials

OPTIMIZER_BYTES = 28  # AdamW in f32: reads parameter, gradient and two moments, writes parameter and moments
ROWS = ("embedding", "index", "gather", "index_select", "embedding_dense_backward", "index_put", "index_put_")
NOTHING = ("empty", "new_empty", "empty_like", "detach", "empty_strided", "new_empty_strided", "zero_")


def type_of(tensor):
    return {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float64: "f64"}.get(tensor.dtype)


def bytes_of(tensor):
    """Of an expanded tensor: what it has in memory."""
    numbers = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        numbers *= size if stride != 0 else 1
    return numbers * tensor.element_size()


class Trace(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.counts = {}
        self.inside = False  # of an attention, which is one entry

    def add(self, kind, count=1, **sizes):
        key = (kind,) + tuple(sorted(sizes.items()))
        self.counts[key] = self.counts.get(key, 0) + count

    def items(self):
        return [dict(dict(key[1:]), kind=key[0], count=count) for key, count in self.counts.items()]

    def gemm(self, m, n, k, tensor):
        self.add("gemm", m=int(m), n=int(n), k=int(k), dtype=type_of(tensor))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if not self.inside:
            self.note(str(function).split(".")[1], args, out)
        return out

    def note(self, name, args, out):
        if name in ("mm", "addmm"):
            a, b = args[-2:] if name == "mm" else args[1:3]
            self.gemm(a.shape[0], b.shape[1], a.shape[1], a)
        elif name in ("bmm", "baddbmm"):
            a, b = args[-2:] if name == "bmm" else args[1:3]
            self.gemm(a.shape[0] * a.shape[1], b.shape[2], a.shape[2], a)
        elif name == "convolution":
            self.convolution(args[0], args[1], out, args[3], args[4], args[6], "forward")
        elif name == "convolution_backward":
            gradient, x, weight = args[:3]
            for wanted, which in zip(args[10], ("backward_data", "backward_weights")):
                if wanted:
                    self.convolution(x, weight, gradient, args[4], args[5], args[7], which)
        else:
            self.memory(name, args, out)

    def convolution(self, x, weight, y, stride, pad, transposed, which):
        even = len(set(stride)) == 1 and len(set(pad)) == 1
        if x.dim() == 4 and not transposed and even and weight.shape[2] == weight.shape[3]:
            n, c, h, w = x.shape
            sizes = dict(n=n, c=c, h=h, w=w, k=weight.shape[0], r=weight.shape[2], stride=stride[0], pad=pad[0])
            return self.add("conv2d", dtype=type_of(x), **{"pass": which}, **sizes)
        # Volumes and transposed ones: the product that they are, without its gathering.
        taps = weight[0][0].numel()
        where = x if transposed else y
        points = where.shape[0] * where[0][0].numel()
        self.gemm(points, weight.shape[1 if transposed else 0], weight.shape[0 if transposed else 1] * taps, x)

    def memory(self, name, args, out):
        outs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        ins = [t for t in tree_flatten(args)[0] if isinstance(t, torch.Tensor)]
        if not outs or name in NOTHING:
            return
        places = set(t.data_ptr() for t in ins)
        if not name.endswith("_") and all(t.data_ptr() in places for t in outs):
            return  # a view
        written = sum(bytes_of(t) for t in outs)
        read = sum(bytes_of(t) for t in ins)
        if name.startswith("_embedding_bag") and "backward" not in name:  # table, rows, ...: as many as are asked for
            read = args[1].numel() * (args[0].shape[1] * args[0].element_size() + args[1].element_size())
        elif name in ROWS or name.startswith("_embedding_bag"):  # only the rows that are asked for
            read = min(read, written)
        self.add("memory", bytes=int(read + written))


class TracedAttention(torch.autograd.Function):
    """An attention as one entry each way, whatever it is made of."""

    @staticmethod
    def forward(ctx, trace, causal, q, k, v):
        ctx.trace, ctx.causal = trace, causal
        ctx.save_for_backward(q, k, v)
        note_attention(trace, "forward", causal, q, k)
        trace.inside = True
        try:
            return plain_attention(q, k, v, causal)
        finally:
            trace.inside = False

    @staticmethod
    def backward(ctx, gradient):
        q, k, v = (t.detach().requires_grad_() for t in ctx.saved_tensors)
        note_attention(ctx.trace, "backward", ctx.causal, q, k)
        ctx.trace.inside = True
        try:
            with torch.enable_grad():
                out = plain_attention(q, k, v, ctx.causal)
            return (None, None) + torch.autograd.grad(out, (q, k, v), gradient.to(out.dtype))
        finally:
            ctx.trace.inside = False


def note_attention(trace, which, causal, q, k):
    b, h, s, d = q.shape
    trace.add("attention", batch=b, heads=h, seq=s, dim=d, causal=bool(causal), dtype=type_of(q), **{"pass": which})


def plain_attention(q, k, v, causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return networks.plain_attention(q, k, v, causal)


def shapes_of(training):
    """Of one batch of a step, in a fresh network without knobs but the precision; the optimizer is one entry."""
    # The blocks of a class that the checkpoint knob patched would be computed twice.
    fresh = built(training.name, training.config, training.device, training.seed)
    fresh.train(training.train)
    patched = []
    for cls in set(type(m) for m in fresh.modules()):
        if hasattr(cls.forward, "__wrapped__"):
            patched.append((cls, cls.forward))
            cls.forward = cls.forward.__wrapped__
    trace = Trace()
    for m in fresh.modules():
        if isinstance(m, networks.Attend):
            m.forward = lambda q, k, v, causal=m.causal: TracedAttention.apply(trace, causal, q, k, v)
    inputs, target = training.pool[0]
    inputs, target = training.on_device(inputs), training.on_device([target])[0]
    try:
        with torch.set_grad_enabled(training.train), without_trials(), trace:
            with training.autocast():
                out = fresh(*inputs)
            loss = tasks.loss_of(training.name, out.float(), target)
            if training.train:
                loss.backward()
    finally:
        for cls, forward in patched:
            cls.forward = forward
    items = trace.items()
    if training.accumulate > 1:
        for item in items:
            item["count"] *= training.accumulate
    if training.train:
        parameters = sum(p.numel() for p in fresh.parameters())
        items.append({"kind": "memory", "bytes": OPTIMIZER_BYTES * parameters, "count": 1})
    return items

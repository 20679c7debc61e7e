"""Batches and outputs: how many samples, which tensors, their values."""

import math


def parts_of(batch):
    """Of a list, tuple or mapping; none of anything else."""
    if isinstance(batch, dict) or hasattr(batch, "values"):
        try:
            return list(batch.values())
        except Exception:
            return []
    return batch if isinstance(batch, (list, tuple)) else []


def samples_of(torch, batch, depth):
    """Length of the first dimension of the first tensor in a batch."""
    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() > 0 else 1
    if depth > 3:
        return 0
    for part in parts_of(batch):
        count = samples_of(torch, part, depth + 1)
        if count:
            return count
    return 0


def first_tensor(torch, out, depth=0):
    if isinstance(out, torch.Tensor):
        return out if out.is_floating_point() and out.numel() > 0 else None
    if depth > 3:
        return None
    if isinstance(out, dict):
        out = list(out.values())
    elif hasattr(out, "to_tuple"):
        out = out.to_tuple()
    if isinstance(out, (list, tuple)):
        for part in out:
            found = first_tensor(torch, part, depth + 1)
            if found is not None:
                return found
    return None


def output_sample(torch, out):
    """At most 256 values of an output, spread over it, a copy that stays on the device; whether they have 16 bits."""
    tensor = first_tensor(torch, out)
    if tensor is None:
        return None
    flat = tensor.detach().reshape(-1)
    stride = max(1, flat.numel() // 256)
    return flat[::stride][:256].float().clone(), tensor.dtype in (torch.bfloat16, torch.float16)


def number(value):
    return value if math.isfinite(value) else None


def numbers(torch, tensors):
    by_device = {}
    values = [None] * len(tensors)
    for i, tensor in enumerate(tensors):
        by_device.setdefault(tensor.device, []).append(i)
    for indices in by_device.values():
        read = torch.stack([tensors[i].reshape(()).double() for i in indices]).cpu().tolist()
        for i, value in zip(indices, read):
            values[i] = number(value)
    return values

"""Generated data that can be learned, on the host: a pool of batches, their loss, and the loss of knowing nothing."""

import math

import torch
from torch.nn import functional as F

POOL = 4


class Generated(torch.utils.data.Dataset):
    """Samples that are made when they are asked for, as a data set makes them; the same for the same number."""

    def __init__(self, name, config, seed):
        self.name, self.config, self.seed = name, config, seed

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        inputs, target = one(self.name, self.config, 1, torch.Generator().manual_seed(self.seed * 1000003 + i))
        return [t[0] for t in inputs], target[0]


def endless(loader):
    while True:
        yield from loader


def pool(name, config, batch, seed):
    generator = torch.Generator().manual_seed(seed)
    return [one(name, config, batch, generator) for _ in range(POOL)]


def one(name, c, batch, g):
    """Inputs and target. Text: each word follows from the one before, or two words mark where an answer begins and ends;
    images: a class is a brightness of the colours."""
    if name in ("gpt2", "llama"):
        few = min(16, c["vocab"])
        begin = torch.randint(few, (batch, 1), generator=g)
        ids = (begin + torch.arange(c["seq"] + 1) * 3) % few
        return [ids[:, :-1].contiguous()], ids[:, 1:].contiguous()
    if is_span(name, c):
        half = c["seq"] // 2
        ids = torch.randint(c["vocab"] - 2, (batch, c["seq"]), generator=g)
        ends = (torch.randint(half, (batch,), generator=g), half + torch.randint(c["seq"] - half, (batch,), generator=g))
        target = torch.stack(ends, 1)
        return [ids.scatter(1, target, torch.tensor([[c["vocab"] - 2, c["vocab"] - 1]]).expand(batch, 2))], target
    if name == "bert":
        few = min(16, c["vocab"] - 1)
        ids = (torch.randint(few, (batch, 1), generator=g) + torch.arange(c["seq"]) * 3) % few
        target = ids[:, : c["predictions"]].clone()
        ids[:, : c["predictions"] : 2] = c["vocab"] - 1
        return [ids], target
    if name == "dlrm":
        dense = torch.randn(batch, 13, generator=g)
        hots = c.get("hots", [1] * len(c["rows"]))
        rows = torch.cat([torch.randint(r, (batch, hot), generator=g) for r, hot in zip(c["rows"], hots)], 1)
        return [dense, rows], (dense.sum(1) > 0).float()
    if name == "unet3d":
        image = torch.randn(batch, 1, c["size"], c["size"], c["size"], generator=g)
        return [image], (image[:, 0] > 0).long()
    target = torch.randint(min(4, c["classes"]), (batch,), generator=g)
    images = torch.randn(batch, 3, c["size"], c["size"], generator=g) * 0.5
    return [images + (target.view(-1, 1, 1, 1).float() - 1.5)], target


def is_span(name, c):
    """BERT that answers with a piece of its text (SQuAD): the classes are the positions."""
    return name == "bert" and c["predictions"] == 0


def axis_of_classes(out, target):
    """The last where each place of the rest has its target, as words have; else the one behind the batch's."""
    return out.dim() - 1 if out.shape[:-1] == target.shape else 1


def loss_of(name, out, target):
    """Of a span: the mean of the cross-entropies of its begin and of its end."""
    if name == "dlrm":
        return F.binary_cross_entropy_with_logits(out, target.to(out.dtype))
    if target.dim() > 1 and axis_of_classes(out, target) > 1:
        return F.cross_entropy(out.flatten(0, -2), target.flatten())
    return F.cross_entropy(out, target)


def chance_level_loss(name, c):
    if name == "dlrm":
        return math.log(2)
    return math.log(c["seq"] if is_span(name, c) else c["vocab"] if "vocab" in c else c["classes"])

"""The networks, data sets and the optimizer of trace_cases_ddp8.py that no library has."""
import zlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- pictures --------------------------------------------------------------------------------------------------------

class Bank(nn.Module):
    """Tells each picture of a collection from all others; `bank` holds what was last seen of every one."""

    def __init__(self, network, pictures=4_000_000, dim=128):
        super().__init__()
        self.network = network
        self.register_buffer("bank", F.normalize(torch.randn(pictures, dim, device=GPU), dim=1))

    def forward(self, x, which):
        found = F.normalize(self.network(x).float(), dim=1)
        others = torch.randint(0, len(self.bank), (len(x), 2048), device=x.device)
        seen = self.bank[torch.cat([which[:, None], others], dim=1)]
        return torch.einsum("nd,nkd->nk", found, seen).float() / 0.07, found.detach()

    @torch.no_grad()
    def remember(self, found, which):
        """What both ranks found goes into the bank of both."""
        ranks = dist.get_world_size()
        all_found = found.new_empty(ranks * len(found), found.shape[1])
        all_which = which.new_empty(ranks * len(which))
        dist.all_gather_into_tensor(all_found, found)
        dist.all_gather_into_tensor(all_which, which)
        newer = F.normalize(0.5 * self.bank[all_which] + 0.5 * all_found, dim=1)
        self.bank.index_copy_(0, all_which, newer)


class Tiles(Dataset):
    """Satellite pictures of twelve bands, 16 bits each, stored deflated."""

    def __init__(self, bands=12, side=160):
        self.shape = bands, side, side
        coarse = torch.rand(32, bands, 9, 9)
        smooth = F.interpolate(coarse, size=(side, side), mode="bilinear") * 4000
        noisy = (smooth + 40 * torch.rand(32, bands, side, side)).to(torch.int16)
        self.stored = [zlib.compress(tile.numpy().tobytes(), 1) for tile in noisy]
        self.mean, self.spread = torch.full((bands, 1, 1), 2000.0), torch.full((bands, 1, 1), 1200.0)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        raw = bytearray(zlib.decompress(self.stored[index % len(self.stored)]))
        tile = torch.frombuffer(raw, dtype=torch.int16).view(self.shape).float()
        tile = (tile - self.mean) / self.spread
        return torch.rot90(tile, index % 4, (1, 2)).contiguous(), index % 19


# --- texts -----------------------------------------------------------------------------------------------------------

class Embedder(nn.Module):
    """One vector for each text."""

    def __init__(self, vocab=16384, dim=2048, layers=6, heads=16, length=256, out=512):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.blocks = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, out, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return F.normalize(self.head(self.norm(x).mean(1)).float(), dim=1)


def pair_loss(model, ids):
    """Neighbours belong together; the texts of the other rank are further wrong answers."""
    found = model(ids)
    asked, answers = found[0::2], found[1::2]
    rank, both = dist.get_rank(), answers.new_empty(dist.get_world_size(), *answers.shape)
    dist.all_gather_into_tensor(both, answers.detach().contiguous())
    own_first = torch.cat([answers, both[1 - rank]])
    return F.cross_entropy(asked @ own_first.T / 0.05, torch.arange(len(asked), device=asked.device))


# --- the optimizer ---------------------------------------------------------------------------------------------------

class Lamb(torch.optim.Optimizer):
    """Adam whose step on each tensor is as long as the tensor; `together`: all tensors in a few launches."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, decay=0.01, together=False):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})
        self.together, self.count = together, 0

    def states(self, parameters):
        for p in parameters:
            if not self.state[p]:
                self.state[p] = {"first": torch.zeros_like(p), "second": torch.zeros_like(p)}
        return ([self.state[p][name] for p in parameters] for name in ("first", "second"))

    def one_by_one(self, group, parameters, right1, right2):
        (beta1, beta2), (firsts, seconds) = group["betas"], self.states(parameters)
        for p, first, second in zip(parameters, firsts, seconds):
            first.mul_(beta1).add_(p.grad, alpha=1 - beta1)
            second.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
            update = (first / right1) / ((second / right2).sqrt() + group["eps"])
            update.add_(p, alpha=group["decay"])
            long, size = p.norm(), update.norm()
            trust = torch.where((long > 0) & (size > 0), long / size, torch.ones_like(long))
            p.sub_(update * trust * group["lr"])

    def all_at_once(self, group, parameters, right1, right2):
        (beta1, beta2), (firsts, seconds) = group["betas"], self.states(parameters)
        gradients = [p.grad for p in parameters]
        torch._foreach_mul_(firsts, beta1)
        torch._foreach_add_(firsts, gradients, alpha=1 - beta1)
        torch._foreach_mul_(seconds, beta2)
        torch._foreach_addcmul_(seconds, gradients, gradients, value=1 - beta2)
        below = torch._foreach_div(seconds, right2)
        torch._foreach_sqrt_(below)
        torch._foreach_add_(below, group["eps"])
        updates = torch._foreach_div(firsts, right1)
        torch._foreach_div_(updates, below)
        torch._foreach_add_(updates, parameters, alpha=group["decay"])
        long, size = (torch.stack(torch._foreach_norm(tensors)) for tensors in (parameters, updates))
        trust = torch.where((long > 0) & (size > 0), long / size, torch.ones_like(long)) * group["lr"]
        torch._foreach_mul_(updates, list(trust.unbind()))
        torch._foreach_sub_(parameters, updates)

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            rights = (1 - beta ** self.count for beta in group["betas"])
            (self.all_at_once if self.together else self.one_by_one)(group, parameters, *rights)

"""What trace_cases_ddp19.py needs for models split over two ranks and no library has."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own

GPU = "cuda"


# --- a sequence of which each rank has one half ----------------------------------------------------------------------

class Genome:
    """An encoder of long sequences: each rank has half of the letters, but for attention half of the heads.
    `together`: all heads change places in one exchange, else each in one of its own."""

    def __init__(self, together, letters=4096, dim=1536, heads=24, layers=10):
        self.together, self.ranks = together, dist.get_world_size()
        self.heads, self.width, self.letters, self.dim = heads // self.ranks, dim // heads, letters, dim
        with torch.device(GPU):
            self.start = torch.randn(letters, dim).bfloat16()
            self.layers = [[(0.02 * torch.randn(rows, columns)).bfloat16() for rows, columns in
                            ((3 * dim, dim), (dim, dim), (4 * dim, dim), (dim, 4 * dim))] for _ in range(layers)]

    @staticmethod
    def exchanged(parts):
        """Part r of the first dimension goes to rank r."""
        got = torch.empty_like(parts)
        dist.all_to_all_single(got, parts)
        return got

    def to_heads(self, qkv):
        """Letters of this rank, all heads -> q, k and v of all letters, this rank's heads."""
        parts = qkv.view(self.letters, 3, self.ranks, self.heads, self.width)
        if self.together:
            got = self.exchanged(parts.permute(2, 0, 1, 3, 4).contiguous())
            return got.flatten(0, 1).permute(1, 2, 0, 3).contiguous()
        return [torch.stack([self.exchanged(parts[:, which, :, head].transpose(0, 1).contiguous()).flatten(0, 1)
                             for head in range(self.heads)]) for which in range(3)]

    def to_letters(self, mixed):
        """All letters, this rank's heads -> letters of this rank, all heads."""
        parts = mixed.view(self.heads, self.ranks, self.letters, self.width)
        if self.together:
            got = self.exchanged(parts.transpose(0, 1).contiguous())
            return got.permute(2, 0, 1, 3).reshape(self.letters, self.dim)
        got = torch.stack([self.exchanged(parts[head].contiguous()) for head in range(self.heads)], dim=1)
        return got.permute(2, 0, 1, 3).reshape(self.letters, self.dim)

    def run(self):
        x, size = self.start, (self.dim,)
        for qkv, out, up, down in self.layers:
            q, k, v = (part.unsqueeze(0) for part in self.to_heads(F.linear(F.layer_norm(x, size), qkv)))
            mixed = F.scaled_dot_product_attention(q, k, v).squeeze(0).contiguous()
            x = x + F.linear(self.to_letters(mixed), out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, size), up)), down)
        return x


# --- layers of which each rank has one half --------------------------------------------------------------------------

class Manuals:
    """One rank's heads and hidden units of an encoder; `waits`: the ranks meet before each sum."""

    def __init__(self, waits, batch=2, length=1024, dim=2560, heads=20, layers=12):
        ranks = dist.get_world_size()
        self.waits, self.heads, self.size = waits, heads // ranks, (dim,)
        inside = dim // ranks
        with torch.device(GPU):
            self.start = torch.randn(batch, length, dim).bfloat16()
            self.layers = [[(0.02 * torch.randn(rows, columns)).bfloat16() for rows, columns in
                            ((3 * inside, dim), (dim, inside), (4 * inside, dim), (dim, 4 * inside))]
                           for _ in range(layers)]

    def summed(self, x):
        if self.waits:
            dist.barrier()
        dist.all_reduce(x)
        return x

    def run(self):
        x = self.start
        for qkv, out, up, down in self.layers:
            parts = F.linear(F.layer_norm(x, self.size), qkv).chunk(3, dim=-1)
            q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = x + self.summed(F.linear(mixed, out))
            x = x + self.summed(F.linear(F.gelu(F.linear(F.layer_norm(x, self.size), up)), down))
        return x


# --- a pipeline ------------------------------------------------------------------------------------------------------

class Half(nn.Module):
    """The first layers of a decoder on rank 0, the last ones on rank 1."""

    def __init__(self, vocab=8192, dim=2048, layers=4, heads=16, length=1024):
        super().__init__()
        self.first = dist.get_rank() == 0
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        if self.first:
            self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        else:
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, x):
        if self.first:
            return self.blocks(self.words(x) + self.positions)
        return self.head(self.norm(self.blocks(x)))


def pipeline_step(half, optimizer, ids, parts, dim=2048):
    """All parts forward, then all of them backward."""
    def forwards_first(pieces):
        sent, outputs = [], []
        for piece in pieces:
            outputs.append(half(piece))
            sent.append(dist.isend(outputs[-1].detach(), 1))
        for output in outputs:
            gradient = torch.empty_like(output)
            dist.recv(gradient, 1)
            output.backward(gradient)
        return sent

    def last(pieces):
        sent, kept = [], []
        for piece in pieces:
            x = torch.empty(*piece.shape, dim, device=GPU, dtype=torch.bfloat16)
            dist.recv(x, 0)
            scores = half(x.requires_grad_())[:, :-1].flatten(0, 1).float()
            kept.append((x, F.cross_entropy(scores, piece[:, 1:].flatten()) / parts))
        for x, loss in kept:
            loss.backward()
            sent.append(dist.isend(x.grad, 0))
        return sent

    pieces, work = ids.chunk(parts), forwards_first if half.first else last

    def step():
        optimizer.zero_grad(set_to_none=True)
        for each in work(pieces):
            each.wait()
        optimizer.step()
    return step


# --- optimizers of which each rank has one half ----------------------------------------------------------------------

class ShardedWeightByWeight:
    """Each rank updates its half of every weight: gradients are scattered and weights gathered one by one."""

    def __init__(self, model):
        self.weights, rank = list(model.parameters()), dist.get_rank()
        self.pieces = [nn.Parameter(weight.detach().view(-1).chunk(2)[rank].clone()) for weight in self.weights]
        for piece in self.pieces:
            piece.grad = torch.zeros_like(piece)
        self.adam = torch.optim.AdamW(self.pieces, lr=1e-4, fused=True)

    def zero_grad(self, set_to_none=True):
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self):
        for weight, piece in zip(self.weights, self.pieces):
            dist.reduce_scatter_tensor(piece.grad, weight.grad.contiguous().view(-1), op=dist.ReduceOp.AVG)
        self.adam.step()
        for weight, piece in zip(self.weights, self.pieces):
            dist.all_gather_into_tensor(weight.detach().view(-1), piece.detach())


class ShardedAsOne:
    """The same with all weights in one tensor, all gradients in another."""

    def __init__(self, model):
        weights = list(model.parameters())
        self.flat = torch.cat([weight.detach().flatten() for weight in weights])
        self.gradients, first = torch.zeros_like(self.flat), 0
        for weight in weights:
            here = slice(first, first + weight.numel())
            weight.data, weight.grad = self.flat[here].view(weight.shape), self.gradients[here].view(weight.shape)
            first += weight.numel()
        self.piece = nn.Parameter(self.flat.chunk(2)[dist.get_rank()].clone())
        self.piece.grad = torch.zeros_like(self.piece)
        self.adam = torch.optim.AdamW([self.piece], lr=1e-4, fused=True)

    def zero_grad(self, set_to_none=True):
        self.gradients.zero_()

    @torch.no_grad()
    def step(self):
        dist.reduce_scatter_tensor(self.piece.grad, self.gradients, op=dist.ReduceOp.AVG)
        self.adam.step()
        dist.all_gather_into_tensor(self.flat, self.piece.detach())


def orthogonal(matrix, times=5):
    """Near the closest orthogonal one (Newton and Schulz)."""
    x = matrix.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(times):
        a = x @ x.T
        x = torch.addmm(x, torch.addmm(a, a, a, beta=-4.775, alpha=2.0315), x, beta=3.4445)
    return x.T if tall else x


class Muon:
    """Matrices of the blocks change by orthogonal ones, which the rank finds that owns the matrix; the rest by AdamW.
    `dealt`: matrices are owned by both ranks, else all by rank 0."""

    def __init__(self, model, blocks, dealt, rate=1e-4, trust=0.95):
        self.matrices = [weight for weight in blocks.parameters() if weight.ndim == 2]
        known = {id(weight) for weight in self.matrices}
        self.rest = torch.optim.AdamW([weight for weight in model.parameters() if id(weight) not in known], lr=1e-4,
                                      fused=True)
        self.rate, self.trust, self.rank = rate, trust, dist.get_rank()
        loads = [0, 0]
        owned = [[], []]
        for matrix in sorted(self.matrices, key=lambda matrix: -matrix.numel()):
            owner = loads.index(min(loads)) if dealt else 0
            loads[owner] += matrix.numel()
            owned[owner].append(matrix)
        self.flats = [torch.zeros(load, device=GPU, dtype=torch.bfloat16) for load in loads]
        self.owned, self.changes = owned, []
        for matrices, flat in zip(owned, self.flats):
            parts = flat.split([matrix.numel() for matrix in matrices]) if matrices else []
            self.changes.append([part.view(matrix.shape) for part, matrix in zip(parts, matrices)])
        self.means = [torch.zeros_like(matrix) for matrix in owned[self.rank]]

    def zero_grad(self, set_to_none=True):
        self.rest.zero_grad(set_to_none=True)
        for matrix in self.matrices:
            matrix.grad = None

    @torch.no_grad()
    def step(self):
        self.rest.step()
        if self.means:
            torch._foreach_mul_(self.means, self.trust)
            torch._foreach_add_(self.means, [matrix.grad for matrix in self.owned[self.rank]])
        for mean, change in zip(self.means, self.changes[self.rank]):
            change.copy_(orthogonal(mean))
        for owner, flat in enumerate(self.flats):
            if len(flat):
                dist.broadcast(flat, owner)
        for matrices, changes in zip(self.owned, self.changes):
            for matrix, change in zip(matrices, changes):
                matrix.add_(change, alpha=-self.rate)

"""What trace_cases_ddp18.py needs for retrieval, language and graphs and no library has."""
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


def gathered(rows):
    """Rows of all ranks, those of rank 0 first."""
    everything = rows.new_empty(dist.get_world_size() * len(rows), *rows.shape[1:])
    dist.all_gather_into_tensor(everything, rows.contiguous())
    return everything


# --- retrieval -------------------------------------------------------------------------------------------------------

class Index:
    """Vectors of three million passages, one half on each rank; the hundred that fit a question best are wanted."""

    def __init__(self, passages=1_500_000, dim=512, found=100):
        self.vectors = torch.randn(passages, dim, device=GPU, dtype=torch.bfloat16)
        self.found, self.first = found, dist.get_rank() * passages

    def best_of_all_scores(self, questions):
        scores = questions @ self.vectors.T
        count = len(scores)
        everything = gathered(scores).unflatten(0, (-1, count)).transpose(0, 1).flatten(1)
        return everything.topk(self.found, dim=1)

    def best_of_best(self, questions):
        scores, places = (questions @ self.vectors.T).topk(self.found, dim=1)
        count = len(scores)
        scores, places = (gathered(part).unflatten(0, (-1, count)).transpose(0, 1).flatten(1)
                          for part in (scores, places + self.first))
        scores, at = scores.topk(self.found, dim=1)
        return scores, places.gather(1, at)


class WordIndex:
    """Passages of which the vector of each word is kept: a question's word counts as much as the passage's word that
    is closest to it (late interaction)."""

    def __init__(self, words, passages=40_000, dim=128, found=50):
        self.vectors = torch.randn(passages, words, dim, device=GPU, dtype=torch.bfloat16)
        self.found, self.first = found, dist.get_rank() * passages

    def best(self, questions):
        """Questions: their number, 32 words, 128 numbers."""
        close = self.vectors @ questions.flatten(0, 1).T
        scores = close.amax(1).unflatten(1, questions.shape[:2]).float().sum(2).T
        scores, places = scores.topk(self.found, dim=1)
        count = len(scores)
        scores, places = (gathered(part).unflatten(0, (-1, count)).transpose(0, 1).flatten(1)
                          for part in (scores, places + self.first))
        scores, at = scores.topk(self.found, dim=1)
        return scores, places.gather(1, at)


class Retriever(nn.Module):
    """A vector for a question or a passage."""

    def __init__(self, vocab=16384, dim=3584, layers=3, heads=28, length=64):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        return F.normalize(self.norm(self.blocks(self.words(ids) + self.positions)).mean(1).float(), dim=1)


# --- language --------------------------------------------------------------------------------------------------------

class Entering(torch.autograd.Function):
    """Into a layer of which each rank has a half: backward, what both halves say is summed."""

    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, gradient):
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total


class Leaving(torch.autograd.Function):
    """Out of such a layer: the outputs of both halves are summed."""

    @staticmethod
    def forward(_, x):
        total = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_, gradient):
        return gradient


class HalfLayer(nn.Module):
    """One rank's heads and hidden units of a decoder's layer."""

    def __init__(self, dim, heads, ranks):
        super().__init__()
        self.heads, inside = heads // ranks, dim // ranks
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * inside), nn.Linear(inside, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * inside), nn.Linear(4 * inside, dim, bias=False)

    def split_weights(self):
        return [*self.qkv.parameters(), *self.out.parameters(), *self.up.parameters(), *self.down.parameters()]

    def forward(self, x):
        parts = self.qkv(Entering.apply(self.norm1(x))).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + Leaving.apply(self.out(mixed))
        return x + Leaving.apply(self.down(F.gelu(self.up(Entering.apply(self.norm2(x))))))


class HalfDecoder(nn.Module):
    """A decoder split by heads and hidden units over the ranks; words and norms are whole on each."""

    def __init__(self, vocab=8192, dim=2048, layers=20, heads=16, length=1024):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.layers = nn.ModuleList(HalfLayer(dim, heads, dist.get_world_size()) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Yogi:
    """Adam whose mean of squares changes by no more than the new square; `lists`: all weights in a few operations."""

    def __init__(self, model, lists, rate=1e-4, first=0.9, second=0.999, least=1e-3):
        self.weights, self.lists = list(model.parameters()), lists
        self.rate, self.first, self.second, self.least = rate, first, second, least
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.full_like(weight, 1e-6) for weight in self.weights]

    def zero_grad(self, set_to_none=True):
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self):
        gradients = [weight.grad for weight in self.weights]
        if self.lists:
            torch._foreach_mul_(self.means, self.first)
            torch._foreach_add_(self.means, gradients, alpha=1 - self.first)
            new = torch._foreach_mul(gradients, gradients)
            ways = torch._foreach_sub(self.squares, new)
            torch._foreach_sign_(ways)
            torch._foreach_addcmul_(self.squares, ways, new, value=self.second - 1)
            roots = torch._foreach_sqrt(self.squares)
            torch._foreach_add_(roots, self.least)
            torch._foreach_addcdiv_(self.weights, self.means, roots, value=-self.rate)
            return
        for weight, gradient, mean, square in zip(self.weights, gradients, self.means, self.squares):
            mean.mul_(self.first).add_(gradient, alpha=1 - self.first)
            new = gradient * gradient
            square.addcmul_((square - new).sign_(), new, value=self.second - 1)
            weight.addcdiv_(mean, square.sqrt().add_(self.least), value=-self.rate)


# --- graphs ----------------------------------------------------------------------------------------------------------

class Roads:
    """What roads are like, from the roads that they meet; each rank has one half of the map. `border`: only the roads
    at the border of the halves are sent to the other rank, else all."""

    def __init__(self, border, roads=320_000, meet=4, dim=512, layers=8, shared=12_000):
        rank = dist.get_rank()
        self.border, self.count = border, roads
        with torch.device(GPU):
            self.roads = torch.randn(roads, dim).bfloat16()
            self.rows = torch.empty(2, roads + shared, dim, dtype=torch.bfloat16)  # before and after a layer
            self.weights = [(0.03 * torch.randn(dim, dim)).bfloat16() for _ in range(layers)]
            self.shared = torch.randperm(roads)[:shared]
            near = (torch.arange(roads)[:, None] + torch.randint(-400, 400, (roads, meet))).clamp_(0, roads - 1)
            abroad = torch.rand(roads, meet) < 0.03
            there = torch.randint(0, shared, (roads, meet))
            if border:
                self.near = torch.where(abroad, roads + there, near)
            else:
                self.near = torch.where(abroad, (1 - rank) * roads + there, rank * roads + near)
        self.other = slice((1 - rank) * shared, (2 - rank) * shared)

    def exchange(self, rows):
        if not self.border:
            return gathered(rows[:self.count])
        rows[self.count:] = gathered(rows.index_select(0, self.shared))[self.other]
        return rows

    def run(self):
        here, after = self.rows
        here[:self.count] = self.roads
        for weight in self.weights:
            around = F.embedding_bag(self.near, self.exchange(here), mode="mean")
            torch.addmm(here[:self.count], around, weight, out=after[:self.count]).relu_()
            here, after = after, here


class Authors(Dataset):
    """An author, ten that he wrote with, ten of each of theirs and five of each of those, drawn at random."""

    def __init__(self, count=100_000, friends=20):
        self.friends = torch.randint(0, count, (count, friends), generator=torch.Generator().manual_seed(5)).tolist()

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        dice, author = random.Random(index), index % len(self.friends)
        first = dice.choices(self.friends[author], k=10)
        second = [friend for one in first for friend in dice.choices(self.friends[one], k=10)]
        third = [friend for one in second for friend in dice.choices(self.friends[one], k=5)]
        return torch.tensor([author, *first, *second, *third]), index % 30


class Writings(nn.Module):
    """The subject of an author, from what he and those near him write."""

    def __init__(self, count=100_000, numbers=256, dim=2048, subjects=30):
        super().__init__()
        self.register_buffer("about", torch.randn(count, numbers))
        self.inlet = nn.Sequential(nn.Linear(numbers, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(),
                                   nn.Linear(dim, dim), nn.ReLU())
        self.own, self.near = (nn.ModuleList(nn.Linear(dim, dim) for _ in range(3)) for _ in range(2))
        self.head = nn.Linear(dim, subjects)

    def forward(self, ids):
        levels = list(self.inlet(self.about[ids]).split([1, 10, 100, 500], dim=1))
        for own_part, near_part in zip(self.own, self.near):
            levels = [F.relu(own_part(here) + near_part(there.unflatten(1, (here.shape[1], -1)).mean(2)))
                      for here, there in zip(levels, levels[1:])]
        return self.head(levels[0].squeeze(1))


class ContactBlock(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def attend(self, q, k, v, paths):
        if not self.written_out:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=paths)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5 + paths
        return torch.softmax(scores, dim=-1) @ v

    def forward(self, x, paths):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        x = x + self.out(self.attend(q, k, v, paths).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Contacts(nn.Module):
    """A transformer of a graph: how far apart two nodes are is added to their score."""

    def __init__(self, written_out, kinds=64, dim=768, layers=5, heads=12, wanted=20):
        super().__init__()
        self.nodes, self.norm, self.head = nn.Embedding(kinds, dim), nn.LayerNorm(dim), nn.Linear(dim, wanted)
        self.blocks = nn.ModuleList(ContactBlock(dim, heads, written_out) for _ in range(layers))

    def forward(self, nodes, paths):
        x = self.nodes(nodes)
        for block in self.blocks:
            x = block(x, paths)
        return self.head(self.norm(x).mean(1))

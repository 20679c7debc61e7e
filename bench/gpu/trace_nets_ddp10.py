"""The networks, data sets and the optimizer of trace_cases_ddp10.py that no library has."""
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- sounds ----------------------------------------------------------------------------------------------------------

class Singer(nn.Module):
    """Sings frames of a spectrogram from noise."""

    def __init__(self, dim=2048, layers=2, heads=16, bands=80):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(128, dim), nn.Linear(dim, bands)
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))

    def forward(self, noise):
        return self.outlet(self.blocks(self.inlet(noise)))


class Listener(nn.Module):
    """Says whether a song was recorded or made up."""

    def __init__(self, dim=2048, layers=10, heads=16, bands=80):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(bands, dim), nn.Linear(dim, 1)
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))

    def forward(self, frames):
        return self.outlet(self.blocks(self.inlet(frames)).mean(1))[:, 0]


# --- texts -----------------------------------------------------------------------------------------------------------

class ManyTongues(nn.Module):
    """One trunk, and for each language words of its own to choose the next from."""

    def __init__(self, languages=16, vocab=24000, dim=1024, layers=6, heads=16, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.trunk = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)), nn.LayerNorm(dim))
        self.heads = nn.ModuleList(nn.Linear(dim, vocab, bias=False) for _ in range(languages))

    def forward(self, ids, language):
        scores = self.heads[language](self.trunk(self.words(ids) + self.places))
        return F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


class Judge(nn.Module):
    """How good an answer is."""

    def __init__(self, vocab=16384, dim=4096, layers=8, heads=32):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(own.Block(dim, heads) for _ in range(layers))
        self.norm, self.score = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return self.score(self.norm(x[:, -1]))[:, 0]


class BookLayer(nn.Module):
    """The heads and hidden units that one of `ranks` has of a layer that reads a long text."""

    def __init__(self, dim, heads, ranks, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads // ranks, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim // ranks), nn.Linear(dim // ranks, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim // ranks), nn.Linear(4 * dim // ranks, dim, bias=False)

    def mixed(self, q, k, v, later):
        if not self.by_hand:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        return torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ v

    def forward(self, x, later):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        found = self.out(self.mixed(q, k, v, later).transpose(1, 2).flatten(2))
        dist.all_reduce(found)
        x = x + found
        found = self.down(F.gelu(self.up(self.norm2(x))))
        dist.all_reduce(found)
        return x + found


# --- friends ---------------------------------------------------------------------------------------------------------

class Friends(nn.Module):
    """Three layers over who knows whom. Each rank has half of the people and all that point to them; the older
    accounts, which come first, have most of the friends. `dealt`: people are dealt to the ranks in turn."""

    def __init__(self, dealt, people=200_000, edges=12_000_000, dim=128, layers=3):
        super().__init__()
        rank, half = dist.get_rank(), people // 2
        dice = torch.Generator(torch.device(GPU, rank)).manual_seed(7)  # the same on all ranks
        old = torch.rand(edges, device=GPU, generator=dice) < 0.86
        known = torch.randint(half, (edges,), device=GPU, generator=dice) + half * ~old
        knows = torch.randint(people, (edges,), device=GPU, generator=dice)
        if dealt:
            known, knows = (who % 2 * half + who // 2 for who in (known, knows))
        here = known // half == rank
        rows, order = (known[here] - rank * half).sort()
        ends = torch.bincount(rows, minlength=half).cumsum(0)
        begins = torch.cat([ends.new_zeros(1), ends])
        weights = (1 / (ends - begins[:-1]).clamp(min=1).float())[rows]
        self.edges = torch.sparse_csr_tensor(begins, knows[here][order], weights, (half, people))
        self.mine = slice(rank * half, (rank + 1) * half)
        self.layers = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            own_part = F.relu(layer(torch.cat([self.edges @ x, x[self.mine]], dim=1)))
            x = torch.empty_like(x)
            dist.all_gather_into_tensor(x, own_part)
        return x


# --- pictures --------------------------------------------------------------------------------------------------------

class Shoes(Dataset):
    """Pictures of a shop as JPEG files, cut out, made smaller and mirrored."""

    def __init__(self, side=400, size=224):
        from torchvision.io import encode_jpeg
        smooth = F.interpolate(torch.rand(48, 3, 25, 25) * 240, size=(side, side), mode="bilinear")
        noisy = (smooth + 12 * torch.rand(48, 3, side, side)).clamp(0, 255).byte()
        self.files, self.size = [encode_jpeg(picture, quality=90) for picture in noisy], size

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from torchvision.io import decode_jpeg
        picture = decode_jpeg(self.files[index % len(self.files)])
        top, left, wide = index * 7 % 80, index * 13 % 80, 256 + index % 64
        part = picture[:, top:top + wide, left:left + wide].float()
        small = F.interpolate(part[None], size=(self.size, self.size), mode="bilinear", antialias=True)[0]
        small = small.flip(-1) if index % 2 else small
        return (small / 255 - 0.45) / 0.22, index % 1000


class Remembered(nn.Module):
    """Tells pictures apart by what each looked like when last seen."""

    def __init__(self, network, pictures=50_000, dim=256, together=True):
        super().__init__()
        self.network, self.together = network, together
        self.seen = F.normalize(torch.randn(pictures, dim, device=GPU), dim=1)

    def forward(self, x, which):
        found = F.normalize(self.network(x).float(), dim=1)
        loss = F.cross_entropy(found @ self.seen.T / 0.07, which)
        return loss, found.detach()

    @torch.no_grad()
    def remember(self, found, which):
        if self.together:
            self.seen[which] = F.normalize(0.5 * self.seen[which] + 0.5 * found, dim=1)
            return
        for index, vector in zip(which, found):
            at = index.item()
            self.seen[at] = F.normalize(0.5 * self.seen[at] + 0.5 * vector, dim=0)


# --- listeners and songs ---------------------------------------------------------------------------------------------

class Taste(nn.Module):
    """Whether a listener will like a song."""

    def __init__(self, listeners=20_000, songs=20_000, dim=512, width=4096):
        super().__init__()
        self.listeners, self.songs = nn.Embedding(listeners, dim), nn.Embedding(songs, dim)
        self.net = nn.Sequential(nn.Linear(2 * dim, width), nn.ReLU(), nn.Linear(width, width // 2), nn.ReLU(),
                                 nn.Linear(width // 2, 1))

    def forward(self, who, songs):
        """Songs: for each listener the one that was liked, then others."""
        people = self.listeners(who)[:, None].expand(-1, songs.shape[1], -1)
        scores = self.net(torch.cat([people, self.songs(songs)], dim=-1))[..., 0].float()
        return -F.logsigmoid(scores[:, :1] - scores[:, 1:]).mean()


class Plays:
    """Batches of listeners, a song each that they like, and `others` that they never played."""

    def __init__(self, batch, on_gpu, listeners=20_000, songs=20_000, others=4):
        liked = torch.randint(songs, (listeners, 40))
        self.liked, self.rows = liked.to(GPU), [set(row) for row in liked.tolist()]
        self.batch, self.on_gpu, self.others, self.songs = batch, on_gpu, others, songs
        self.played = torch.zeros(listeners, songs, dtype=torch.bool, device=GPU).scatter_(1, self.liked, True)

    def drawn(self, who):
        """One by one until it is a song that the listener never played."""
        found = []
        for listener in who.tolist():
            for _ in range(self.others):
                song = random.randrange(self.songs)
                while song in self.rows[listener]:
                    song = random.randrange(self.songs)
                found.append(song)
        return torch.tensor(found).view(-1, self.others).pin_memory().to(GPU, non_blocking=True)

    def drawn_on_gpu(self, who):
        """Twice; the second is taken where the first was played."""
        first, second = torch.randint(self.songs, (2, len(who), self.others), device=GPU)
        return torch.where(self.played[who[:, None], first], second, first)

    def __call__(self):
        if self.on_gpu:
            who = torch.randint(len(self.liked), (self.batch,), device=GPU)
            others = self.drawn_on_gpu(who)
        else:
            here = torch.randint(len(self.liked), (self.batch,))
            who, others = here.pin_memory().to(GPU, non_blocking=True), self.drawn(here)
        return who, torch.cat([self.liked[who, :1], others], dim=1)


# --- the optimizer ---------------------------------------------------------------------------------------------------

class Adan(torch.optim.Optimizer):
    """Adaptive Nesterov momentum; `together`: all tensors in a few launches."""

    def __init__(self, parameters, lr=1e-3, betas=(0.02, 0.08, 0.01), eps=1e-8, decay=0.02, together=False):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})
        self.together = together

    def states(self, parameters):
        for p in parameters:
            if not self.state[p]:
                self.state[p] = {name: torch.zeros_like(p) for name in ("first", "change", "second")}
                self.state[p]["before"] = p.grad.clone()
        return [[self.state[p][name] for p in parameters] for name in ("first", "change", "second", "before")]

    def one_by_one(self, group, parameters):
        beta1, beta2, beta3 = group["betas"]
        for p, first, change, second, before in zip(parameters, *self.states(parameters)):
            difference = p.grad - before
            before.copy_(p.grad)
            first.lerp_(p.grad, beta1)
            change.lerp_(difference, beta2)
            ahead = p.grad + difference * (1 - beta2)
            second.lerp_(ahead * ahead, beta3)
            update = (first + change * (1 - beta2)) / (second.sqrt() + group["eps"])
            p.sub_(update * group["lr"])
            p.div_(1 + group["lr"] * group["decay"])

    def all_at_once(self, group, parameters):
        beta1, beta2, beta3 = group["betas"]
        firsts, changes, seconds, before = self.states(parameters)
        gradients = [p.grad for p in parameters]
        differences = torch._foreach_sub(gradients, before)
        torch._foreach_copy_(before, gradients)
        torch._foreach_lerp_(firsts, gradients, beta1)
        torch._foreach_lerp_(changes, differences, beta2)
        ahead = torch._foreach_add(gradients, differences, alpha=1 - beta2)
        torch._foreach_mul_(ahead, ahead)
        torch._foreach_lerp_(seconds, ahead, beta3)
        below = torch._foreach_sqrt(seconds)
        torch._foreach_add_(below, group["eps"])
        updates = torch._foreach_add(firsts, changes, alpha=1 - beta2)
        torch._foreach_div_(updates, below)
        torch._foreach_add_(parameters, updates, alpha=-group["lr"])
        torch._foreach_div_(parameters, 1 + group["lr"] * group["decay"])

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            (self.all_at_once if self.together else self.one_by_one)(group, parameters)

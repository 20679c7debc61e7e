"""The networks, simulators, memories and the optimizer of trace_cases_ddp17.py that no library has."""
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

import trace_models as own

GPU = "cuda"


# --- sequences: sound, episodes --------------------------------------------------------------------------------------

class Listener(nn.Module):
    """Vectors of the moments of a recording or of an episode, and what a layer says of each."""

    def __init__(self, numbers, dim, layers, heads, length, outputs, attention="flash", causal=False):
        super().__init__()
        self.inlet, self.positions = nn.Linear(numbers, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, attention, causal=causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, outputs)

    def vectors(self, x):
        return self.norm(self.blocks(self.inlet(x) + self.positions[:, : x.shape[1]]))

    def forward(self, x):
        return self.head(self.vectors(x))


class WholeListener(Listener):
    """Says one thing of the recording as a whole."""

    def forward(self, x):
        return self.head(self.vectors(x).mean(1))


class Accents(nn.Module):
    """Where a speaker is from, by mean and spread of the moments that his recording really has; `at_once`: of all
    recordings by one sum with a mask."""

    def __init__(self, at_once, dim=768, layers=8, heads=12, length=200, accents=60):
        super().__init__()
        self.at_once = at_once
        self.moments = Listener(80, dim, layers, heads, length, dim)
        self.head = nn.Linear(2 * dim, accents)

    def pooled(self, x, lengths):
        if self.at_once:
            there = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None].float()
            count = lengths[:, None].float()
            mean = (x * there).sum(1) / count
            spread = ((x - mean[:, None]).square() * there).sum(1) / (count - 1)
            return torch.cat([mean, spread], dim=1)
        rows = []
        for recording, length in zip(x, lengths):
            voiced = recording[: length.item()]
            rows.append(torch.cat([voiced.mean(0), voiced.var(0)]))
        return torch.stack(rows)

    def forward(self, x, lengths):
        return self.head(self.pooled(self.moments(x).float(), lengths))


class Vocoder(nn.Module):
    """Sound from a spectrogram, 256 numbers for each of its moments."""

    def __init__(self, bands=80, width=512, rates=(8, 8, 2, 2)):
        super().__init__()
        self.inlet, self.ups, self.stacks = nn.Conv1d(bands, width, 7, padding=3), nn.ModuleList(), nn.ModuleList()
        for rate in rates:
            self.ups.append(nn.ConvTranspose1d(width, width // 2, 2 * rate, rate, padding=rate // 2))
            width //= 2
            self.stacks.append(nn.ModuleList(nn.Conv1d(width, width, 11, padding=5 * reach, dilation=reach)
                                             for reach in (1, 1, 3, 1, 5, 1)))
        self.outlet = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, spectrograms):
        x = self.inlet(spectrograms)
        for up, stack in zip(self.ups, self.stacks):
            x = up(F.leaky_relu(x, 0.1))
            for conv in stack:
                x = x + conv(F.leaky_relu(x, 0.1))
        return torch.tanh(self.outlet(F.leaky_relu(x, 0.1)))


# --- rows of tables --------------------------------------------------------------------------------------------------

class GatedRows(nn.Module):
    """Tells something of a row of numbers; each layer's half of the hidden units gates the other half."""

    def __init__(self, columns, dim, layers, hidden, outputs):
        super().__init__()
        self.inlet, self.head = nn.Linear(columns, dim), nn.Linear(dim, outputs)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.ups = nn.ModuleList(nn.Linear(dim, 2 * hidden) for _ in range(layers))
        self.downs = nn.ModuleList(nn.Linear(hidden, dim) for _ in range(layers))

    def forward(self, x):
        x = self.inlet(x)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(F.glu(up(norm(x)), dim=-1))
        return self.head(x)


class Lookalikes:
    """Vectors of a million customers on each rank; finds the ones most like some others, and learns those as well."""

    def __init__(self, customers=1_000_000, dim=768, found=32):
        self.known = torch.randn(customers, dim, device=GPU, dtype=torch.bfloat16)
        self.rank, self.ranks, self.found, self.place = dist.get_rank(), dist.get_world_size(), found, 0

    def from_all(self, rows):
        everything = rows.new_empty(self.ranks * len(rows), *rows.shape[1:])
        dist.all_gather_into_tensor(everything, rows.contiguous())
        return everything

    def keep(self, vectors):
        self.known[self.place:self.place + len(vectors)] = vectors
        self.place = (self.place + len(vectors)) % (len(self.known) - len(vectors))

    def among_all(self, vectors):
        return (vectors @ self.from_all(self.known).T).topk(self.found, dim=1).indices

    def by_halves(self, vectors):
        """Each rank looks among its own customers for both ranks' vectors."""
        best, ids = (self.from_all(vectors) @ self.known.T).topk(self.found, dim=1)
        ids = ids + self.rank * len(self.known)
        best, ids = (self.from_all(part).unflatten(0, (self.ranks, self.ranks, -1))[:, self.rank].transpose(0, 1)
                     .flatten(1) for part in (best, ids))
        return ids.gather(1, best.topk(self.found, dim=1).indices)


# --- players ---------------------------------------------------------------------------------------------------------

class Player(nn.Module):
    """What to do next, and how good the situation is, from what is known of 64 things around."""

    def __init__(self, numbers=32, dim=512, layers=16, heads=8, things=64, actions=18):
        super().__init__()
        self.body, self.actions = Listener(numbers, dim, layers, heads, things, dim), actions
        self.head = nn.Linear(dim, actions + 1)

    def forward(self, x):
        out = self.head(self.body(x).mean(1)).float()
        return out[:, : self.actions], out[:, self.actions]


class Arena:
    """Games that rank 1 plays; what it saw last goes to rank 0, which learns from it and sends its weights back."""

    def __init__(self, player, together, games=512, learnt=256, numbers=32, things=64, actions=18):
        self.player, self.together = player, together
        self.weights = [weight.detach() for weight in player.parameters()]
        with torch.device(GPU):
            self.around, self.moves = torch.randn(games, things, numbers), 0.1 * torch.randn(actions, numbers)
            self.seen = torch.zeros(learnt, things, numbers)
            self.done, self.gained = torch.randint(0, actions, (learnt,)), torch.randn(learnt)

    @torch.no_grad()
    def play(self, ticks):
        for _ in range(ticks):
            with torch.autocast("cuda", torch.bfloat16):
                chances, _ = self.player(self.around)
            actions = chances.argmax(1)
            self.around.add_(self.moves[actions][:, None]).clamp_(-3, 3)
        self.seen.copy_(self.around[: len(self.seen)])

    def loss(self, player, seen):
        chances, value = player(seen)
        better = self.gained - value
        chosen = F.log_softmax(chances, dim=1).gather(1, self.done[:, None]).squeeze(1)
        return better.square().mean() - (chosen * better.detach()).mean()

    @torch.no_grad()
    def send_weights(self):
        if not self.together:
            for weight in self.weights:
                dist.broadcast(weight, 0)
            return
        everything = _flatten_dense_tensors(self.weights)
        dist.broadcast(everything, 0)
        if dist.get_rank() != 0:
            torch._foreach_copy_(self.weights, list(_unflatten_dense_tensors(everything, self.weights)))


class Walker(nn.Module):
    """Forces on the joints and the value of the state, from what is felt."""

    def __init__(self, felt, joints, width, layers):
        super().__init__()
        sizes = [felt] + [width] * layers
        self.trunk = nn.Sequential(*(part for before, after in zip(sizes, sizes[1:])
                                     for part in (nn.Linear(before, after), nn.ELU())))
        self.joints, self.head = joints, nn.Linear(width, joints + 1)

    def forward(self, x):
        out = self.head(self.trunk(x)).float()
        return out[..., : self.joints], out[..., self.joints]


class Robots:
    """A crude simulator on the GPU: what many robots feel after some forces."""

    def __init__(self, count, felt, joints):
        with torch.device(GPU):
            self.state, self.effect = torch.randn(count, felt), torch.randn(joints, felt) * 0.1

    @torch.no_grad()
    def tick(self, forces):
        self.state = torch.addmm(self.state, forces, self.effect, beta=0.97, alpha=0.1)
        return self.state


def advantages(rewards, values, going, at_once, decay=0.99, trace=0.95):
    """How much better than expected each tick turned out; rewards and going: (ticks, games), values: one tick more.
    `at_once`: sums over 1, 2, 4... ticks, instead of from the last tick to the first."""
    ticks = len(rewards)
    surprise = rewards + decay * going * values[1:] - values[:-1]
    keep = decay * trace * going
    if not at_once:
        later, found = torch.zeros_like(rewards[0]), [None] * ticks
        for tick in reversed(range(ticks)):
            later = surprise[tick] + keep[tick] * later
            found[tick] = later
        return torch.stack(found)
    reach = 1
    while reach < ticks:
        surprise = surprise + F.pad(keep[:-reach] * surprise[reach:], (0, 0, 0, reach))
        keep = F.pad(keep[:-reach] * keep[reach:], (0, 0, 0, reach))
        reach *= 2
    return surprise


class RacerBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x):
        return x + self.conv2(F.relu(self.conv1(F.relu(x))))


class Racer(nn.Module):
    """What each action is worth, from the last four frames of 84 x 84."""

    def __init__(self, widths=(64, 128, 128), actions=9):
        super().__init__()
        stages, before = [], 4
        for width in widths:
            stages += [nn.Conv2d(before, width, 3, padding=1), nn.MaxPool2d(3, 2, 1), RacerBlock(width),
                       RacerBlock(width)]
            before = width
        self.stages = nn.Sequential(*stages)
        self.worth = nn.Sequential(nn.Linear(before * 11 * 11, 512), nn.ReLU(), nn.Linear(512, actions))

    def forward(self, frames):
        return self.worth(F.relu(self.stages(frames)).flatten(1))


class Memory:
    """What happened in the last ticks, a tuple each, as NumPy has it."""

    def __init__(self, ticks=2000):
        dice = np.random.default_rng(17)
        frames = dice.integers(0, 256, (ticks + 1, 4, 84, 84), dtype=np.uint8)
        self.happened = [(frames[at], int(dice.integers(9)), float(dice.normal()), frames[at + 1])
                         for at in range(ticks)]

    def draw(self, count):
        before, actions, rewards, after = zip(*random.sample(self.happened, count))
        before, after = (np.stack([frames.astype(np.float32) / 255 for frames in part]) for part in (before, after))
        return tuple(torch.from_numpy(part).to(GPU) for part in (
            before, np.array(actions, dtype=np.int64), np.array(rewards, dtype=np.float32), after))


class MemoryOnGpu:
    """The same, a tensor of bytes on the GPU."""

    def __init__(self, ticks=2000):
        with torch.device(GPU):
            self.frames = torch.randint(0, 256, (ticks + 1, 4, 84, 84), dtype=torch.uint8)
            self.actions, self.rewards = torch.randint(0, 9, (ticks,)), torch.randn(ticks)

    def draw(self, count):
        at = torch.randint(0, len(self.actions), (count,), device=GPU)
        return self.frames[at].float() / 255, self.actions[at], self.rewards[at], self.frames[at + 1].float() / 255


# --- optimizer -------------------------------------------------------------------------------------------------------

class AdEMAMix(torch.optim.Optimizer):
    """Adam with a second, slower average of the gradients; `together`: each line for all parameters at once."""

    def __init__(self, parameters, together, lr=1e-4, fast=0.9, squares=0.999, slow=0.9999, share=5.0, decay=0.01):
        super().__init__(parameters, {"lr": lr, "fast": fast, "squares": squares, "slow": slow, "share": share,
                                      "decay": decay})
        self.together = together

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight] = {name: torch.zeros_like(weight) for name in ("fast", "slow", "squares")}
            fast, slow, squares = ([self.state[w][name] for w in weights] for name in ("fast", "slow", "squares"))
            gradients, rate = [w.grad for w in weights], group["lr"]
            if self.together:
                torch._foreach_lerp_(fast, gradients, 1 - group["fast"])
                torch._foreach_lerp_(slow, gradients, 1 - group["slow"])
                torch._foreach_mul_(squares, group["squares"])
                torch._foreach_addcmul_(squares, gradients, gradients, value=1 - group["squares"])
                widths = torch._foreach_sqrt(squares)
                torch._foreach_add_(widths, 1e-8)
                both = torch._foreach_add(fast, slow, alpha=group["share"])
                torch._foreach_mul_(weights, 1 - rate * group["decay"])
                torch._foreach_addcdiv_(weights, both, widths, value=-rate)
                continue
            for weight, gradient, quick, late, square in zip(weights, gradients, fast, slow, squares):
                quick.lerp_(gradient, 1 - group["fast"])
                late.lerp_(gradient, 1 - group["slow"])
                square.mul_(group["squares"]).addcmul_(gradient, gradient, value=1 - group["squares"])
                width = square.sqrt().add_(1e-8)
                both = quick.add(late, alpha=group["share"])
                weight.mul_(1 - rate * group["decay"]).addcdiv_(both, width, value=-rate)

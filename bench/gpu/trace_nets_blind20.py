"""Networks, data sets and losses of trace_cases_blind20.py that no library has: robots, papers, voices and songs."""
import io
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU, channels_last
from trace_cases_blind4 import Layer


# --- what robots see -------------------------------------------------------------------------------------------------

class Arms(Dataset):
    """What two cameras of a robot saw (JPEG files), how its 14 joints stood and how they went on in 16 moves."""

    def __init__(self, count=32, height=300, width=400):
        from PIL import Image
        from torchvision.transforms import v2
        drawn = np.random.default_rng(200)
        ramp = np.arange(height)[:, None, None] // 3 + np.arange(width)[None, :, None] // 3
        self.files = []
        for _ in range(count):
            file = io.BytesIO()
            noise = drawn.integers(0, 20, (height, width, 3))
            Image.fromarray((ramp + noise).astype(np.uint8)).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())
        self.transform = v2.Compose([v2.RandomCrop(288), v2.Resize((224, 224), antialias=True),
                                     v2.ToDtype(torch.float32, scale=True),
                                     v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def seen(self, at):
        from PIL import Image
        picture = np.array(Image.open(io.BytesIO(self.files[at % len(self.files)])).convert("RGB"))
        return torch.from_numpy(picture).permute(2, 0, 1)

    def __getitem__(self, index):
        pictures = torch.stack([self.seen(2 * index), self.seen(2 * index + 1)])
        return self.transform(pictures), torch.randn(14), torch.randn(16, 14)


class ArmPolicy(nn.Module):
    """From the pictures of two cameras and the joints to the next 16 moves."""

    def __init__(self, joints=14, moves=16):
        import torchvision
        super().__init__()
        self.moves = moves
        self.eyes = torchvision.models.wide_resnet50_2(weights=None, num_classes=512)
        self.head = nn.Sequential(nn.Linear(2 * 512 + joints, 1024), nn.ReLU(True), nn.Linear(1024, moves * joints))

    def forward(self, pictures, joints):
        seen = self.eyes(channels_last(pictures.flatten(0, 1))).float().unflatten(0, (-1, 2)).flatten(1)
        return self.head(torch.cat([seen, joints], dim=1)).unflatten(1, (self.moves, -1))


class Frames(nn.Module):
    """Which of 8 moves is good, and how good is it here? Four pictures of 84 by 84."""

    def __init__(self, moves=8):
        super().__init__()
        self.near = nn.Sequential(nn.Conv2d(4, 64, 8, 4), nn.ReLU(True), nn.Conv2d(64, 128, 4, 2), nn.ReLU(True),
                                  nn.Conv2d(128, 128, 3), nn.ReLU(True), nn.Flatten(), nn.Linear(128 * 49, 512),
                                  nn.ReLU(True))
        self.scores, self.worth = nn.Linear(512, moves), nn.Linear(512, 1)

    def forward(self, x):
        x = self.near(x)
        return self.scores(x), self.worth(x)[:, 0]


class Rollouts:
    """Plays 32 simulated games on the GPU for 8 moves each; what was seen is kept `where`."""

    def __init__(self, model, where, games=32, spans=8, side=84):
        self.model, self.spans, self.games, self.side = model, spans, games, side
        self.seen = torch.zeros(spans, games, 4, side, side, device=where)
        with torch.device(GPU):
            self.state = torch.randn(games, 16)
            self.rows, self.columns, self.pushes = torch.randn(2, 16, 4 * side).unbind() + (torch.randn(8, 16),)
            self.moves = torch.zeros(spans, games, dtype=torch.long)
            self.rewards = torch.zeros(spans, games)

    def shown(self):
        rows, columns = (torch.sin(self.state @ part).view(-1, 4, self.side) for part in (self.rows, self.columns))
        return rows[..., None] * columns[:, :, None]

    @torch.no_grad()
    def __call__(self):
        for at in range(self.spans):
            picture = self.shown()
            with torch.autocast("cuda", torch.bfloat16):
                scores, _ = self.model(picture)
            move = torch.multinomial(scores.float().softmax(-1), 1)[:, 0]
            self.seen[at].copy_(picture)
            self.moves[at], self.rewards[at] = move, self.state[:, 0]
            self.state = 0.95 * self.state + 0.1 * self.pushes[move]
        gained = self.rewards.flip(0).cumsum(0).flip(0)
        return self.seen.to(GPU).flatten(0, 1), self.moves.flatten(), gained.flatten()


def actor_loss(model, seen, moves, gained):
    scores, worth = model(seen)
    chances, better = scores.float().log_softmax(-1), gained - worth.float()
    chosen = chances.gather(1, moves[:, None])[:, 0]
    return better.square().mean() - (chosen * better.detach()).mean()


class Walkers:
    """96 walking robots: one that fell or arrived starts again."""

    def __init__(self, robots=96):
        with torch.device(GPU):
            self.start = 0.1 * torch.randn(robots, 36)
            self.state = self.start.clone()

    def moved(self, moves):
        self.state = 0.9 * self.state + 0.05 * moves + 0.3 * torch.randn_like(self.state)

    def restarted_in_turn(self):
        for robot in range(len(self.state)):
            if self.state[robot, 2] < -1.2 or self.state[robot, 0] > 1.2:
                self.state[robot] = self.start[robot]

    def restarted_at_once(self):
        ended = (self.state[:, 2] < -1.2) | (self.state[:, 0] > 1.2)
        self.state = torch.where(ended[:, None], self.start, self.state)


def followed_tracks(seen, move, drift, noise):
    """Kalman's filter: where things are (n, 6), from what radar sees (steps, n, 3), a coordinate at a time."""
    n = seen.shape[1]
    state = torch.zeros(n, 6, device=seen.device)
    doubt = torch.eye(6, device=seen.device).repeat(n, 1, 1)
    for places in seen:
        state = state @ move.t()
        doubt = move @ doubt @ move.t() + drift
        for axis in range(3):
            gain = doubt[:, :, axis] / (doubt[:, axis, axis, None] + noise)
            state = state + gain * (places[:, axis] - state[:, axis])[:, None]
            doubt = doubt - gain[:, :, None] * doubt[:, axis, None, :]
    return state


# --- who cites whom --------------------------------------------------------------------------------------------------

class Papers:
    """Papers, what is known of each and whom they cite; a batch has some of them, whom those cite, and whom these."""

    def __init__(self, papers=60000, features=600, kinds=40):
        drawn = np.random.default_rng(201)
        self.starts = np.concatenate([[0], drawn.integers(5, 40, papers).cumsum()])
        self.cited, self.papers = drawn.integers(0, papers, self.starts[-1]), papers
        with torch.device(GPU):
            self.features, self.kinds = torch.randn(papers, features), torch.randint(0, kinds, (papers,))

    def described(self, papers, first, second, fans):
        return (self.features[papers], self.features[first].unflatten(0, (-1, fans[0])),
                self.features[second].unflatten(0, (-1, fans[1])), self.kinds[papers])

    def in_python(self, count, fans=(10, 10)):
        cited = [self.cited[begin:end].tolist() for begin, end in zip(self.starts, self.starts[1:])]

        def near(papers, fan):
            return [other for paper in papers for other in random.choices(cited[paper], k=fan)]

        def batches():
            papers = random.sample(range(self.papers), count)
            first = near(papers, fans[0])
            second = near(first, fans[1])
            return self.described(*(torch.tensor(part).to(GPU) for part in (papers, first, second)), fans)
        return batches

    def on_gpu(self, count, fans=(10, 10)):
        starts, cited = torch.from_numpy(self.starts).to(GPU), torch.from_numpy(self.cited).to(GPU)

        def near(papers, fan):
            begin = starts[papers][:, None]
            chosen = torch.rand(len(papers), fan, device=GPU) * (starts[papers + 1][:, None] - begin)
            at = begin + chosen.long()
            return cited[at.flatten()]

        def batches():
            papers = torch.randint(0, self.papers, (count,), device=GPU)
            first = near(papers, fans[0])
            return self.described(papers, first, near(first, fans[1]), fans)
        return batches


class Citer(nn.Module):
    """Hamilton et al.: a paper by itself and by the mean of those near it, twice."""

    def __init__(self, features=600, dim=512, kinds=40):
        super().__init__()
        self.near, self.far = nn.Linear(2 * features, dim), nn.Linear(2 * dim, kinds)

    def forward(self, papers, first, second):
        inner = F.relu(self.near(torch.cat([papers, first.mean(1)], dim=1)))
        outer = F.relu(self.near(torch.cat([first.flatten(0, 1), second.mean(1)], dim=1)))
        return self.far(torch.cat([inner, outer.unflatten(0, (len(papers), -1)).mean(1)], dim=1))


# --- voices and songs ------------------------------------------------------------------------------------------------

def heard(a, b, width=1, dilation=1):
    return nn.Sequential(nn.Conv1d(a, b, width, padding=dilation * (width // 2), dilation=dilation), nn.ReLU(True),
                         nn.BatchNorm1d(b))


class EighthsBlock(nn.Module):
    """Each eighth of the channels hears what the one before it found."""

    def __init__(self, dim, dilation):
        super().__init__()
        self.inlet, self.outlet = heard(dim, dim), heard(dim, dim)
        self.parts = nn.ModuleList(heard(dim // 8, dim // 8, 3, dilation) for _ in range(7))
        self.weights = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(dim, 128, 1), nn.ReLU(True),
                                     nn.Conv1d(128, dim, 1), nn.Sigmoid())

    def forward(self, x):
        first, *others = self.inlet(x).chunk(8, dim=1)
        found = [first]
        for part, other in zip(self.parts, others):
            found.append(part(other + found[-1]))
        y = self.outlet(torch.cat(found, dim=1))
        return x + y * self.weights(y)


class Voices(nn.Module):
    """Desplanques et al.: who speaks? (n, 80, frames) -> how near each of the known voices is"""

    def __init__(self, dim=512, known=1200):
        super().__init__()
        self.inlet = heard(80, dim, 5)
        self.blocks = nn.ModuleList(EighthsBlock(dim, dilation) for dilation in (2, 3, 4))
        self.joined = nn.Sequential(nn.Conv1d(3 * dim, 1536, 1), nn.ReLU(True))
        self.looks = nn.Sequential(nn.Conv1d(1536, 128, 1), nn.Tanh(), nn.Conv1d(128, 1536, 1))
        self.head, self.known = nn.Linear(2 * 1536, 192), nn.Parameter(torch.randn(known, 192))

    def forward(self, mel):
        x, kept = self.inlet(mel), []
        for block in self.blocks:
            x = block(x)
            kept.append(x)
        x = self.joined(torch.cat(kept, dim=1))
        weights, x = self.looks(x).float().softmax(-1), x.float()
        mean = (weights * x).sum(-1)
        spread = ((weights * x * x).sum(-1) - mean * mean).clamp(min=1e-4).sqrt()
        voice = F.normalize(self.head(torch.cat([mean, spread], dim=1)).float(), dim=1)
        return 30 * F.linear(voice, F.normalize(self.known, dim=1)).float()


class Songs(nn.Module):
    """A song as four codes for each of its frames; the following codes are told from those so far."""

    def __init__(self, dim=1024, layers=6, codes=2048):
        super().__init__()
        self.codes = nn.ModuleList(nn.Embedding(codes, dim) for _ in range(4))
        self.layers = nn.Sequential(*(Layer(dim, 16, causal=True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 4 * codes)

    def forward(self, ids):
        x = sum(code(ids[..., at]) for at, code in enumerate(self.codes))
        return self.head(self.norm(self.layers(x))).unflatten(-1, (4, -1))


def song_loss(model, ids):
    return F.cross_entropy(model(ids)[:, :-1].flatten(0, 2).float(), ids[:, 1:].flatten())


# --- words -----------------------------------------------------------------------------------------------------------

def penalised_in_turn(scores, ids, by=1.2):
    """Words that were said already get less likely."""
    for row in range(len(ids)):
        said = list(set(ids[row].tolist()))
        found = scores[row, said]
        scores[row, said] = torch.where(found > 0, found / by, found * by)
    return scores


def penalised_at_once(scores, ids, by=1.2):
    found = scores.gather(1, ids)
    return scores.scatter_(1, ids, torch.where(found > 0, found / by, found * by))

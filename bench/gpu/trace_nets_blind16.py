"""The networks and data sets of trace_cases_blind16.py that no library has."""
import io

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU
from trace_cases_blind4 import Layer, join_heads, split_heads


# --- data sets -------------------------------------------------------------------------------------------------------

class Episodes(Dataset):
    """Games that were once played, each in a compressed file of its own: frames, moves, and what was won after."""

    def __init__(self, count=24, moves=20):
        drawn, self.files = np.random.default_rng(16), []
        for _ in range(count):
            file = io.BytesIO()
            np.savez_compressed(file, frames=drawn.integers(0, 8, (moves, 4, 84, 84), dtype=np.uint8),
                                won=drawn.random((moves, 1), dtype=np.float32), moves=drawn.integers(0, 18, moves))
            self.files.append(file.getvalue())

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        with np.load(io.BytesIO(self.files[index % len(self.files)])) as parts:
            return tuple(torch.from_numpy(parts[name]) for name in ("frames", "won", "moves"))


class Loads(Dataset):
    """What each of many sites draws from the grid by the hour: a week, described in 16 ways, and the day after it."""

    def __init__(self, sites=48, hours=4000):
        import pandas as pd
        drawn = np.random.default_rng(17)
        index = pd.date_range("2024-01-01", periods=hours, freq="h")
        self.frames = [pd.DataFrame(drawn.random((hours, 2)), columns=["load", "warmth"], index=index)
                       for _ in range(sites)]
        self.hours = hours

    @staticmethod
    def described(frame):
        found = frame[[]].copy()
        for name in ("load", "warmth"):
            column = frame[name]
            for hours in (1, 24):
                found[f"{name}_{hours}_ago"] = column.shift(hours)
            for hours in (6, 24):
                found[f"{name}_mean_{hours}"] = column.rolling(hours).mean()
                found[f"{name}_spread_{hours}"] = column.rolling(hours).std()
            found[f"{name}_smooth"] = column.ewm(span=12).mean()
        found["hour"] = np.sin(np.asarray(frame.index.hour) * 0.2618)
        found["weekday"] = np.asarray(frame.index.dayofweek) / 7.0
        return torch.tensor(found.fillna(0.0).to_numpy(dtype=np.float32))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        begin = index * 37 % (self.hours - 240)
        frame = self.frames[index % len(self.frames)].iloc[begin:begin + 240]
        load = torch.tensor(frame["load"].to_numpy(dtype=np.float32))
        return self.described(frame)[48:216], load[216:]

    def tables(self):
        """All sites described, and their loads."""
        loads = [torch.tensor(frame["load"].to_numpy(dtype=np.float32)) for frame in self.frames]
        return torch.stack([self.described(frame) for frame in self.frames]), torch.stack(loads)


class LoadLstm(nn.Module):
    def __init__(self, inputs=16, width=512, ahead=24):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, width, 2, batch_first=True), nn.Linear(width, ahead)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


# --- control ---------------------------------------------------------------------------------------------------------

class DecisionNet(nn.Module):
    """Decision transformer (Chen et al.): what shall be won, what is seen and what was done, move after move."""

    def __init__(self, dim=512, layers=6, moves=18):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                  nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, dim))
        self.won, self.moves = nn.Linear(1, dim), nn.Embedding(moves, dim)
        self.layers = nn.Sequential(*(Layer(dim, 8, causal=True) for _ in range(layers)))
        self.head = nn.Linear(dim, moves)

    def forward(self, frames, won, moves):
        seen = self.eyes(frames.flatten(0, 1).float() / 255).unflatten(0, frames.shape[:2])
        x = torch.stack([self.won(won), seen, self.moves(moves).to(seen.dtype)], dim=2).flatten(1, 2)
        return self.head(self.layers(x)[:, 1::3])


class WorldModel(nn.Module):
    """Dreamer's: a state that is carried on, and 32 dice that tell what cannot be known from it."""

    def __init__(self, state=512, dice=32, sides=32, moves=6, seen=1024, width=512):
        super().__init__()
        self.state, self.dice, thrown = state, dice, dice * sides
        self.inlet = nn.Linear(thrown + moves, width)
        self.gates, self.norm = nn.Linear(width + state, 3 * state, bias=False), nn.LayerNorm(3 * state)
        self.prior = nn.Sequential(nn.Linear(state, width), nn.SiLU(), nn.Linear(width, thrown))
        self.posterior = nn.Sequential(nn.Linear(state + seen, width), nn.SiLU(), nn.Linear(width, thrown))
        self.thrown, self.outlet = thrown, nn.Linear(state + thrown, seen)

    def forward(self, seen, moves):
        state, thrown = seen.new_zeros(len(seen), self.state), seen.new_zeros(len(seen), self.thrown)
        states, guesses, found = [], [], []
        for sight, move in zip(seen.unbind(1), moves.unbind(1)):
            x = F.silu(self.inlet(torch.cat([thrown, move], dim=1)))
            reset, change, update = self.norm(self.gates(torch.cat([x, state], dim=1))).chunk(3, dim=1)
            update = torch.sigmoid(update - 1)
            state = update * torch.tanh(torch.sigmoid(reset) * change) + (1 - update) * state
            guesses.append(self.prior(state))
            found.append(self.posterior(torch.cat([state, sight], dim=1)))
            thrown = F.gumbel_softmax(found[-1].float().unflatten(1, (self.dice, -1)), hard=True).flatten(1)
            states.append(torch.cat([state, thrown], dim=1))
        guesses, found = (torch.stack(each, dim=1).float().unflatten(-1, (self.dice, -1)) for each in (guesses, found))
        return self.outlet(torch.stack(states, dim=1)), guesses.log_softmax(-1), found.log_softmax(-1)


def world_loss(model, seen, moves):
    shown, guesses, found = model(seen, moves)
    return F.mse_loss(shown.float(), seen) + 0.1 * (found.exp() * (found - guesses)).sum(-1).mean()


# --- texts -----------------------------------------------------------------------------------------------------------

class Words(nn.Module):
    """Layers over words; `outputs` numbers for each word, or the words' states."""

    def __init__(self, dim, layers, heads, length, causal=False, vocab=16000, outputs=0):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.Sequential(*(Layer(dim, heads, causal=causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, outputs) if outputs else nn.Identity()

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids) + self.places[:ids.shape[1]])))


def mean_reciprocal_rank_in_turn(scores, right):
    total = 0.0
    for row, answer in zip(scores, right):
        order = row.argsort(descending=True)
        total += 1.0 / ((order == answer).nonzero().item() + 1)
    return total / len(scores)


def mean_reciprocal_rank_at_once(scores, right):
    above = scores > scores.gather(1, right[:, None])
    return (1.0 / (above.sum(1) + 1)).mean()


def preferred_in_turn(values, ids, pad=0):
    """The better of two answers shall be worth more, from where they differ to where the longer one ends."""
    loss, (better, worse), (better_ids, worse_ids) = 0.0, values.float().chunk(2), ids.chunk(2)
    for at in range(len(better)):
        ends = []
        for words in (better_ids[at], worse_ids[at]):
            empty = (words == pad).nonzero()
            ends.append(empty[0].item() if len(empty) else len(words))
        begin, end = (better_ids[at] != worse_ids[at]).nonzero()[0].item(), max(ends)
        loss = loss - F.logsigmoid(better[at, begin:end] - worse[at, begin:end]).mean()
    return loss / len(better)


def preferred_at_once(values, ids, pad=0):
    (better, worse), (better_ids, worse_ids) = values.float().chunk(2), ids.chunk(2)
    empty, place = ids == pad, torch.arange(ids.shape[1], device=ids.device)
    ends = torch.where(empty.any(1), empty.int().argmax(1), ids.shape[1])
    begin, end = (better_ids != worse_ids).int().argmax(1), torch.maximum(*ends.chunk(2))
    within = (place >= begin[:, None]) & (place < end[:, None])
    return -((F.logsigmoid(better - worse) * within).sum(1) / within.sum(1)).mean()


def of_the_policy(logits, ids, temperature=0.9):
    """How likely the words that were chosen are, and how open the choice was."""
    logs = (logits.float() / temperature).log_softmax(-1)
    entropy = -(logs.exp() * logs).sum(-1)
    return logs.gather(-1, ids[..., None])[..., 0], entropy


class LowRank(nn.Module):
    """A frozen matrix and a trained one of low rank."""

    def __init__(self, base, rank=32):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.low = nn.Linear(base.in_features, rank, bias=False)
        self.high = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.high(self.low(x))


def with_adapters(model, names):
    """Adapters beside all linear layers of these names; nothing else is trained."""
    model.requires_grad_(False)
    for parent in list(model.modules()):
        for name, part in list(parent.named_children()):
            if name in names:
                setattr(parent, name, LowRank(part))
    return model, [p for p in model.parameters() if p.requires_grad]


class AdaptedLm(nn.Module):
    """Each text of a batch has adapters of its own: {place: (low, high)}, for all texts and layers."""

    def __init__(self, dim=2048, hidden=5632, layers=12, heads=16, vocab=16384):
        super().__init__()
        self.words, self.heads, self.depth = nn.Embedding(vocab, dim), heads, layers
        self.sizes = {"qkv": (dim, 3 * dim), "out": (dim, dim), "up": (dim, hidden), "down": (hidden, dim)}
        self.layers = nn.ModuleList(nn.ModuleDict({name: nn.Linear(*size) for name, size in self.sizes.items()})
                                    for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers))

    def adapters(self, where, rank=64):
        """Of one customer."""
        made = {name: (torch.randn(self.depth, a, rank, device=GPU) * 0.01,
                       torch.randn(self.depth, rank, b, device=GPU) * 0.01) for name, (a, b) in self.sizes.items()}
        return {name: tuple(part.bfloat16().to(where) for part in parts) for name, parts in made.items()}

    def forward(self, ids, adapters):
        x = self.words(ids)
        for at, layer in enumerate(self.layers):
            def adapted(name, x):
                low, high = (part[:, at] for part in adapters[name])
                return torch.baddbmm(layer[name](x), torch.bmm(x, low), high)
            q, k, v = (split_heads(part, self.heads) for part in adapted("qkv", self.norms[2 * at](x)).chunk(3, -1))
            x = x + adapted("out", join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
            x = x + adapted("down", F.gelu(adapted("up", self.norms[2 * at + 1](x))))
        return x[:, -1]


# --- tables ----------------------------------------------------------------------------------------------------------

class NormInTurn(nn.Module):
    """Batch norm over virtual batches, which makes large batches as good as small ones."""

    def __init__(self, dim, size=256):
        super().__init__()
        self.norm, self.size = nn.BatchNorm1d(dim, momentum=0.02), size

    def forward(self, x):
        return torch.cat([self.norm(part) for part in x.split(self.size)])


class NormAtOnce(NormInTurn):
    def forward(self, x):
        parts, norm = x.view(-1, self.size, x.shape[1]), self.norm
        var, mean = torch.var_mean(parts, dim=1, correction=0, keepdim=True)
        with torch.no_grad():
            moved = 1 - (1 - norm.momentum) ** len(parts)
            norm.running_mean.lerp_(mean.mean((0, 1)), moved)
            norm.running_var.lerp_(var.mean((0, 1)), moved)
        return ((parts - mean) * (torch.rsqrt(var + norm.eps) * norm.weight) + norm.bias).flatten(0, 1)


class Gated(nn.Module):
    def __init__(self, a, b, norm, shared=None):
        super().__init__()
        self.linear, self.norm = shared or nn.Linear(a, 2 * b, bias=False), norm(2 * b)

    def forward(self, x):
        return F.glu(self.norm(self.linear(x)))


class TabNet(nn.Module):
    """Arik and Pfister: step after step, which columns to look at."""

    def __init__(self, norm, columns=200, dim=128, steps=4, classes=7):
        super().__init__()
        first, second = nn.Linear(columns, 4 * dim, bias=False), nn.Linear(2 * dim, 4 * dim, bias=False)
        self.dim, self.inlet = dim, nn.BatchNorm1d(columns)
        self.transforms = nn.ModuleList(nn.ModuleList(Gated(2 * dim, 2 * dim, norm, shared)
                                                      for shared in (first, second, None, None))
                                        for _ in range(steps + 1))
        self.looks = nn.ModuleList(nn.Sequential(nn.Linear(dim, columns, bias=False), norm(columns))
                                   for _ in range(steps))
        self.head = nn.Linear(dim, classes)

    @staticmethod
    def transformed(x, layers):
        x = layers[0](x)
        for layer in layers[1:]:
            x = (x + layer(x)) * 0.7071
        return x

    def forward(self, x):
        x, before, told = self.inlet(x), 1.0, 0.0
        found = self.transformed(x, self.transforms[0])
        for look, layers in zip(self.looks, self.transforms[1:]):
            mask = (look(found[:, self.dim:]) * before).softmax(1)
            before = before * (1.3 - mask)
            found = self.transformed(x * mask, layers)
            told = told + F.relu(found[:, :self.dim])
        return self.head(told)


def written_out(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
    return weights @ v


class RowLayer(Layer):
    """All rows look at those whose answer is known."""

    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def forward(self, x, known):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.proj(join_heads(self.attended(q, k[:, :, :known], v[:, :, :known])))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class TableReader(nn.Module):
    """TabPFN (Hollmann et al.): reads a whole table, and tells what is missing in its last rows."""

    def __init__(self, attended, columns=100, dim=512, layers=10, heads=8, classes=10):
        super().__init__()
        self.rows, self.answers = nn.Linear(columns, dim), nn.Embedding(classes, dim)
        self.head = nn.Linear(dim, classes)
        self.layers = nn.ModuleList(RowLayer(dim, heads, attended) for _ in range(layers))

    def forward(self, rows, answers):
        x, known = self.rows(rows), answers.shape[1]
        x = torch.cat([x[:, :known] + self.answers(answers), x[:, known:]], dim=1)
        for layer in self.layers:
            x = layer(x, known)
        return self.head(x[:, known:])


# --- fields and sound ------------------------------------------------------------------------------------------------

class FourierLayer(nn.Module):
    """Of a neural operator (Li et al.): only the slowest waves are mixed."""

    def __init__(self, width, waves):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, width, width, waves, waves, 2) / width)
        self.waves, self.beside = waves, nn.Conv2d(width, width, 1)

    def forward(self, x):
        waves, weight = torch.fft.rfft2(x), torch.view_as_complex(self.weight)
        mixed = torch.zeros_like(waves)
        for rows, part in zip((slice(None, self.waves), slice(-self.waves, None)), weight):
            mixed[:, :, rows, :self.waves] = torch.einsum("bixy,ioxy->boxy", waves[:, :, rows, :self.waves], part)
        return F.gelu(torch.fft.irfft2(mixed, s=x.shape[-2:]) + self.beside(x))


class BranchLayer(nn.Module):
    """Branchformer (Peng et al.): attention, and beside it a gated convolution; both are merged."""

    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.up, self.down = nn.Linear(dim, 2 * hidden), nn.Linear(hidden, dim)
        self.gate, self.near = nn.LayerNorm(hidden), nn.Conv1d(hidden, hidden, 15, padding=7, groups=hidden)
        self.merge = nn.Linear(2 * dim, dim)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norms[0](x)).chunk(3, dim=-1))
        far = self.out(join_heads(F.scaled_dot_product_attention(q, k, v)))
        kept, gate = F.gelu(self.up(self.norms[1](x))).chunk(2, dim=-1)
        gate = self.near(self.gate(gate).transpose(1, 2)).transpose(1, 2)
        x = x + self.merge(torch.cat([far, self.down(kept * gate)], dim=-1))
        return x + self.feed(self.norms[2](x))


class SoundTagger(nn.Module):
    """Kong et al.'s network of 14 layers: which of 527 sounds are heard."""

    def __init__(self, widths=(64, 128, 256, 512, 1024, 2048), sounds=527):
        super().__init__()
        parts = []
        for a, b in zip((1, *widths), widths):
            for inputs in (a, b):
                parts += [nn.Conv2d(inputs, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
            parts.append(nn.AvgPool2d(2) if b < widths[-1] else nn.Identity())
        self.layers, self.wide, self.head = nn.Sequential(*parts), nn.Linear(b, b), nn.Linear(b, sounds)

    def forward(self, x):
        x = self.layers(x).mean(3)
        return self.head(F.relu(self.wide(x.amax(2) + x.mean(2))))

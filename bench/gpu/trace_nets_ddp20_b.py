"""What trace_cases_ddp20.py needs for speech, music and time series and no library has."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- speech ----------------------------------------------------------------------------------------------------------

class Frames(nn.Module):
    """Something about each frame of a spectrogram, or whatever else has frames."""

    def __init__(self, numbers, dim, layers, heads, length, told):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(numbers, dim), nn.Linear(dim, told)
        self.positions = nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def hidden(self, x):
        x = self.inlet(x) + self.positions[:, :x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, x):
        return self.outlet(self.hidden(x))


class ReaderAloud(nn.Module):
    """A spectrogram from phonemes and how many frames each lasts. `one_by_one`: durations are read in turn."""

    def __init__(self, one_by_one, phonemes=96, dim=1024, layers=10, heads=16, frames=480):
        super().__init__()
        self.one_by_one, self.frames = one_by_one, frames
        self.phonemes, self.before = nn.Embedding(phonemes, dim), own.Block(dim, heads, causal=False)
        self.after = Frames(dim, dim, layers, heads, frames, 80)

    def spread(self, durations):
        """Which phoneme is heard in each frame."""
        if self.one_by_one:
            heard = [[at for at, duration in enumerate(text) for _ in range(int(duration))] for text in durations]
            return torch.tensor(heard).to(GPU, non_blocking=True)
        frames = torch.arange(self.frames, device=GPU).expand(len(durations), -1).contiguous()
        return torch.searchsorted(durations.cumsum(1), frames, right=True)

    def forward(self, phonemes, durations):
        x = self.before(self.phonemes(phonemes))
        heard = self.spread(durations)
        return self.after(x.gather(1, heard.unsqueeze(2).expand(-1, -1, x.shape[2])))


# --- music -----------------------------------------------------------------------------------------------------------

class SongLayer(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def attend(self, q, k, v, slopes):
        if not self.written_out:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=slopes)
        return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + slopes, dim=-1) @ v

    def forward(self, x, slopes):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        x = x + self.out(self.attend(q, k, v, slopes).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Songs(nn.Module):
    """The next sound of a song; no positions but slopes: the longer ago a sound, the less it counts."""

    def __init__(self, written_out, sounds=4096, dim=1024, layers=4, heads=16):
        super().__init__()
        self.sounds, self.norm, self.head = nn.Embedding(sounds, dim), nn.LayerNorm(dim), nn.Linear(dim, sounds)
        self.layers = nn.ModuleList(SongLayer(dim, heads, written_out) for _ in range(layers))

    def forward(self, sounds, slopes):
        x = self.sounds(sounds)
        for layer in self.layers:
            x = layer(x, slopes)
        return self.head(self.norm(x))


def slopes_of(heads, length):
    """For each head, what is added to the score of a sound so long ago; those to come do not count."""
    at = torch.arange(length, device=GPU)
    ago = (at[:, None] - at).float()
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device=GPU) / heads)
    return (-slopes[:, None, None] * ago).masked_fill_(ago < 0, float("-inf")).bfloat16()[None]


# --- time series -----------------------------------------------------------------------------------------------------

class Stations(Dataset):
    """A window of what 32 weather stations measured: the values, their changes, means of a day and spectra."""

    def __init__(self, stations=400, hours=20000, window=1024, near=32):
        dice = np.random.default_rng(20)
        self.series = dice.standard_normal((stations, hours), dtype=np.float32)
        self.window, self.near = window, near

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        dice = np.random.default_rng(index)
        begin = int(dice.integers(self.series.shape[1] - self.window - 24))
        chosen = dice.choice(len(self.series), self.near, replace=False)
        values = self.series[chosen, begin:begin + self.window + 24]
        values = (values - np.median(values, axis=1, keepdims=True)) / (values.std(axis=1, keepdims=True) + 1e-6)
        sums = np.cumsum(values, axis=1, dtype=np.float64)
        means = ((sums[:, 24:] - sums[:, :-24]) / 24).astype(np.float32)
        now = values[:, 24:]
        changes = np.diff(values[:, 23:], axis=1)
        spectra = np.log1p(np.abs(np.fft.fft(now, axis=1))).astype(np.float32)
        parts = np.concatenate([now, changes, means, spectra])
        return torch.from_numpy(np.ascontiguousarray(parts.T)), index % 40


class Climate(nn.Module):
    """Which of 40 climates it is, from patches of 16 hours."""

    def __init__(self, numbers=128, patch=16, dim=1024, layers=8, heads=16, window=1024, climates=40):
        super().__init__()
        self.patch = patch
        self.frames = Frames(numbers * patch, dim, layers, heads, window // patch, climates)

    def forward(self, x):
        return self.frames(x.unflatten(1, (-1, self.patch)).flatten(2)).mean(1)


class Months(nn.Module):
    """One rank's layers of a network that tells how sales go on. Rank 0 reads, rank 1 tells."""

    def __init__(self, rank, layers, dim=1536, heads=12, numbers=48, length=1024):
        super().__init__()
        self.ends = nn.Linear(dim, numbers) if rank else nn.Linear(numbers, dim)
        self.last = bool(rank)
        self.positions = nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))

    def forward(self, x):
        if self.last:
            return self.ends(self.blocks(x))
        return self.blocks(self.ends(x) + self.positions)

"""More of trace_cases_blind21.py: networks of electricity, histories, instruments, brains, speech, papers and music."""
import torch
import torch.nn.functional as F
from torch import nn

from trace_cases import GPU
from trace_cases_blind4 import Layer


# --- attention -------------------------------------------------------------------------------------------------------

def by_einsum(q, k, v, training):
    """(n, times, heads, channels) each, as libraries for time series have it"""
    scores = torch.einsum("blhe,bshe->bhls", q, k)
    weights = F.dropout(torch.softmax(q.shape[-1] ** -0.5 * scores, dim=-1), 0.1, training)
    return torch.einsum("bhls,bshd->blhd", weights, v).contiguous()


def by_fused(q, k, v, training):
    found = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                           dropout_p=0.1 if training else 0.0)
    return found.transpose(1, 2).contiguous()


class SeriesLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def mix(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)) for part in self.qkv(x).chunk(3, dim=-1))
        return self.proj(self.attended(q, k, v, self.training).flatten(2))


class Electricity(nn.Module):
    """What 320 customers use in each quarter of an hour, in a month -> the same for the next quarter"""

    def __init__(self, attended, customers=320, dim=512, layers=4):
        super().__init__()
        self.inlet, self.norm, self.outlet = (nn.Conv1d(customers, dim, 3, padding=1), nn.LayerNorm(dim),
                                              nn.Linear(dim, customers))
        self.layers = nn.Sequential(*(SeriesLayer(dim, 8, attended) for _ in range(layers)))

    def forward(self, x):
        return self.outlet(self.norm(self.layers(self.inlet(x.transpose(1, 2)).transpose(1, 2))))


class Causal(nn.Module):
    """Keeps the triangle of what came before, as the best known tutorials do."""

    def __init__(self, length):
        super().__init__()
        self.register_buffer("before", torch.ones(length, length, dtype=torch.bool).tril())

    def forward(self, q, k, v):
        length = q.shape[-2]
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.before[:length, :length], -1e9)
        return torch.matmul(F.softmax(scores, dim=-1), v)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class HistoryLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def mix(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        return self.proj(self.attended(q, k, v).transpose(1, 2).flatten(2))


class Histories(nn.Module):
    """Kang and McAuley: what will somebody watch who watched all this?"""

    def __init__(self, attended, length, things=60000, dim=512, layers=6):
        super().__init__()
        self.things, self.places = nn.Embedding(things, dim), nn.Embedding(length, dim)
        self.layers = nn.Sequential(*(HistoryLayer(dim, 8, attended) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, seen):
        x = self.things(seen) + self.places(torch.arange(seen.shape[1], device=seen.device))
        return self.norm(self.layers(x))[:, -1] @ self.things.weight.T


# --- instruments -----------------------------------------------------------------------------------------------------

def played(loud, pitch, rate=16000):
    """Sines at all multiples of a pitch. loud: (n, frames + 1, sines), pitch: (n, frames, samples of a frame) in Hz"""
    turns = torch.cumsum(pitch.flatten(1) / rate, dim=1).view_as(pitch)[..., None]
    number = torch.arange(1, loud.shape[2] + 1, device=loud.device)
    share = (torch.arange(pitch.shape[2], device=loud.device) / pitch.shape[2])[:, None]
    strength = loud[:, :-1, None] * (1 - share) + loud[:, 1:, None] * share
    strength = torch.where(pitch[..., None] * number < rate / 2, strength, 0.0)
    return (strength * torch.sin(6.2831853 * (turns * number))).sum(-1).flatten(1)


class Instrument(nn.Module):
    """Engel et al.: how loud each of the sines is that a tone is made of."""

    def __init__(self, dim=512, sines=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(66, dim), nn.LayerNorm(dim), nn.LeakyReLU(), nn.Linear(dim, dim),
                                    nn.LayerNorm(dim), nn.LeakyReLU(), nn.Linear(dim, sines))

    def forward(self, x):
        return F.softplus(self.layers(x)) / 64


def spectra_apart(found, right):
    window = torch.hann_window(1024, device=found.device)
    a, b = (torch.stft(wave, 1024, 256, window=window, return_complex=True).abs() for wave in (found, right))
    return F.l1_loss(a, b) + F.l1_loss((a + 1e-4).log(), (b + 1e-4).log())


# --- brains ----------------------------------------------------------------------------------------------------------

def whole_matrix_scaled(links, x):
    """Kipf and Welling: D^-1/2 A D^-1/2 x, as it is written there; links: (n, places, places)"""
    scale = links.sum(-1).clamp(min=1e-6).rsqrt()
    links = scale[:, :, None] * links * scale[:, None, :]
    return torch.bmm(links, x)


def numbers_scaled(links, x):
    """The same, but what is scaled is small."""
    scale = links.sum(-1, keepdim=True).clamp(min=1e-6).rsqrt()
    return scale * torch.bmm(links, scale * x)


class Brains(nn.Module):
    """Who is ill? By how 1024 places of a brain are linked."""

    def __init__(self, sent, dim=128, layers=3):
        super().__init__()
        self.sent, self.inlet, self.outlet = sent, nn.Linear(32, dim), nn.Linear(dim, 2)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))

    def forward(self, links, x):
        x = self.inlet(x)
        for layer in self.layers:
            x = F.relu(layer(self.sent(links, x)))
        return self.outlet(x.mean(1))


# --- speech, papers and music ----------------------------------------------------------------------------------------

class Listener(nn.Module):
    """Hsu et al.: which of 500 sounds is each fiftieth of a second? 20 layers."""

    def __init__(self, dim=384, layers=20, sounds=500):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 6, 4 * dim, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.inlet, self.head = nn.Linear(512, dim), nn.Linear(dim, sounds)
        self.layers = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)

    def forward(self, x):
        return self.head(self.layers(self.inlet(x)))


class Papers(nn.Module):
    """Hamilton et al.: kinds of papers, by themselves and by the mean of those they name."""

    def __init__(self, features=256, dim=384, kinds=64):
        super().__init__()
        sizes = (features, dim, dim, kinds)
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.others = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, begin, end, share, between):
        """`share`: one over how many each paper names; `between` is done after each layer."""
        for at, (own, others) in enumerate(zip(self.own, self.others)):
            sent = x.index_select(0, begin)
            mean = torch.zeros_like(x).index_add_(0, end, sent) * share
            del sent
            x = own(x) + others(mean)
            if at + 1 < len(self.own):
                x = F.relu(x)
            between()
        return x


class Melodies(nn.Module):
    """The next of a piano's 388 events, by three layers of long short-term memory."""

    def __init__(self, events=388, dim=1024):
        super().__init__()
        self.events, self.head = nn.Embedding(events, dim), nn.Linear(dim, events)
        self.memory = nn.LSTM(dim, dim, 3, batch_first=True)

    def forward(self, ids):
        return self.head(self.memory(self.events(ids))[0])


class LatentLayers(nn.Module):
    """Layers that are told how much noise there is by one more token."""

    def __init__(self, channels, dim, heads, layers):
        super().__init__()
        self.inlet, self.time = nn.Linear(channels, dim), nn.Linear(256, dim)
        self.layers = nn.Sequential(*(Layer(dim, heads) for _ in range(layers)))
        self.norm, self.outlet = nn.LayerNorm(dim), nn.Linear(dim, channels)

    def forward(self, x, noise_level):
        x = torch.cat([self.time(noise_level)[:, None], self.inlet(x)], dim=1)
        return self.outlet(self.norm(self.layers(x)[:, 1:]))


def graph_of_papers(papers, links, features):
    with torch.device(GPU):
        begin, end = torch.randint(0, papers, (links,)), torch.randint(0, papers, (links,))
        named = torch.zeros(papers).index_add_(0, end, torch.ones(links)).clamp(min=1)
        return torch.randn(papers, features), begin, end, (1 / named)[:, None]

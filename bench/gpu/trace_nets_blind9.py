"""The networks and data sets of trace_cases_blind9.py and trace_cases_ddp7.py that no library has."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

GPU = "cuda"


def picture_network(name, layout=True, **more):
    """A network of timm with random weights, drawn on the GPU."""
    import timm
    with torch.device(GPU):
        model = timm.create_model(name, pretrained=False, **more)
    return model.to(memory_format=torch.channels_last) if layout else model


# --- sound -----------------------------------------------------------------------------------------------------------

class Conversations(Dataset):
    """Two voices in a room of their own each, and noise: what a separating network hears."""

    def __init__(self, length=16000):
        self.voices = torch.randn(64, 32000)
        self.rooms = torch.randn(32, 6000) * torch.exp(-torch.arange(6000) / 900.0)
        self.length = length

    def __len__(self):
        return 1 << 20

    def heard(self, index):
        voice, room = self.voices[index % 64], self.rooms[index * 7 % 32]
        size = 1 << 16
        echoes = torch.fft.irfft(torch.fft.rfft(voice, size) * torch.fft.rfft(room, size), size)
        begin = index * 131 % 16000
        echoes = echoes[begin:begin + self.length]
        return echoes / echoes.square().mean().sqrt()

    def __getitem__(self, index):
        sources = torch.stack([self.heard(index), 0.7 * self.heard(index + 17)])
        return sources.sum(0, keepdim=True) + 0.05 * torch.randn(1, self.length), sources


def separation_loss(model, mixed, sources):
    """How far what was separated is from the voices, in decibels."""
    found = model(mixed).float()
    found, sources = (x - x.mean(-1, keepdim=True) for x in (found, sources))
    target = (found * sources).sum(-1, keepdim=True) / sources.square().sum(-1, keepdim=True) * sources
    noise = (found - target).square().sum(-1) + 1e-6
    return -10 * torch.log10(target.square().sum(-1) / noise + 1e-6).mean()


class SpeakerNet(nn.Module):
    """Names the speaker of two seconds of speech."""

    def __init__(self, width=512, depth=4, speakers=5994):
        super().__init__()
        self.inlet = nn.Conv1d(80, width, 5, padding=2)
        self.layers = nn.ModuleList(nn.Sequential(nn.Conv1d(width, width, 3, padding=2 ** i, dilation=2 ** i),
                                                  nn.ReLU(), nn.BatchNorm1d(width)) for i in range(depth))
        self.embed, self.head = nn.Linear(2 * width, 192), nn.Linear(192, speakers)

    def forward(self, x):
        x = F.relu(self.inlet(x))
        for layer in self.layers:
            x = x + layer(x)
        pooled = torch.cat([x.mean(-1), x.float().var(-1).add(1e-5).sqrt().to(x.dtype)], dim=1)
        return self.head(self.embed(pooled))


# --- series ----------------------------------------------------------------------------------------------------------

class Demand(Dataset):
    """Half a year of a shop's sales and the month after it, out of a table of all shops."""

    def __init__(self, shops=200, days=730):
        import pandas
        self.sales = torch.rand(shops, days)
        self.table = pandas.DataFrame({"shop": torch.arange(shops).repeat_interleave(days).numpy(),
                                       "day": torch.arange(days).repeat(shops).numpy(),
                                       "sales": self.sales.flatten().numpy()})
        self.shops, self.days = shops, days

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        rows = self.table[self.table["shop"] == index % self.shops].sort_values("day")
        begin = index * 37 % (self.days - 210)
        window = torch.tensor(rows["sales"].iloc[begin:begin + 210].to_numpy(), dtype=torch.float32)
        return window[:180], window[180:]


class NBeats(nn.Module):
    """Each block explains a part of the past and adds to the forecast."""

    def __init__(self, past=180, future=30, width=512, blocks=12):
        super().__init__()
        self.past = past
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Linear(past, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, past + future)) for _ in range(blocks))

    def forward(self, x):
        forecast = 0
        for block in self.blocks:
            out = block(x)
            x, forecast = x - out[:, :self.past], forecast + out[:, self.past:]
        return forecast


# --- shapes ----------------------------------------------------------------------------------------------------------

class VoxNet(nn.Module):
    """Which of forty things the filled cells of a grid are."""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        sizes = (1, *widths)
        self.layers = nn.Sequential(*(part for a, b in zip(sizes, widths) for part in (
            nn.Conv3d(a, b, 3, stride=2, padding=1, bias=False), nn.BatchNorm3d(b), nn.ReLU(True))))
        self.head = nn.Linear(widths[-1], 40)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3, 4)))


def far_points_of(cloud, count):
    """Each next point is the one farthest from those already chosen."""
    distance, at, chosen = torch.full((cloud.shape[0],), 1e10, device=cloud.device), 0, []
    for _ in range(count):
        chosen.append(at)
        distance = torch.minimum(distance, (cloud - cloud[at]).square().sum(-1))
        at = distance.argmax().item()
    return torch.tensor(chosen, device=cloud.device)


def far_points(clouds, count):
    """The same for all clouds at once."""
    distance = torch.full(clouds.shape[:2], 1e10, device=clouds.device)
    at, chosen = torch.zeros(len(clouds), 1, dtype=torch.long, device=clouds.device), []
    for _ in range(count):
        chosen.append(at)
        here = clouds.gather(1, at[:, :, None].expand(-1, -1, 3))
        distance = torch.minimum(distance, (clouds - here).square().sum(-1))
        at = distance.argmax(1, keepdim=True)
    return torch.cat(chosen, dim=1)


class PointNet2(nn.Module):
    """Chooses points, looks at their neighbours, and names the whole."""

    def __init__(self, one_by_one, count=96, near=32, width=512):
        super().__init__()
        self.one_by_one, self.count, self.near = one_by_one, count, near
        self.local = nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU(),
                                   nn.Linear(width, width))
        self.whole = nn.Sequential(nn.Linear(width + 3, 1024), nn.ReLU(), nn.Linear(1024, 1024))
        self.head = nn.Linear(1024, 40)

    def forward(self, clouds):
        with torch.no_grad():
            if self.one_by_one:
                at = torch.stack([far_points_of(cloud, self.count) for cloud in clouds])
            else:
                at = far_points(clouds, self.count)
            centres = clouds.gather(1, at[:, :, None].expand(-1, -1, 3))
            near = torch.cdist(centres, clouds).topk(self.near, largest=False).indices
            rows = torch.arange(len(clouds), device=clouds.device)[:, None, None]
            patches = clouds[rows, near] - centres[:, :, None]
        found = self.local(patches).amax(2)
        return self.head(self.whole(torch.cat([centres.to(found.dtype), found], dim=-1)).amax(1))


# --- pictures --------------------------------------------------------------------------------------------------------

def distances(found):
    found = F.normalize(found.float(), dim=1)
    return (2 - 2 * found @ found.T).clamp(min=1e-6).sqrt()


def triplets_in_turn(found, who, margin=0.3):
    """For every picture the farthest of the same person and the nearest of another."""
    loss, apart = 0, distances(found)
    for at in range(len(found)):
        same = who == who[at]
        loss = loss + F.relu(apart[at][same].max() - apart[at][~same].min() + margin)
    return loss / len(found)


def triplets_at_once(found, who, margin=0.3):
    apart, same = distances(found), who[:, None] == who
    far, near = apart.masked_fill(~same, -1).amax(1), apart.masked_fill(same, 9).amin(1)
    return F.relu(far - near + margin).mean()


def focal_loss(scores, wanted, alpha=0.25):
    """What RetinaNet learns from; easy cells count little."""
    chance = torch.sigmoid(scores)
    entropy = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
    hit = chance * wanted + (1 - chance) * (1 - wanted)
    weight = alpha * wanted + (1 - alpha) * (1 - wanted)
    return (weight * (1 - hit) ** 2 * entropy).sum() / 1000


class GoTower(nn.Module):
    """Residual convolutions over a board of 19x19; the next move and who wins."""

    def __init__(self, width=384, depth=6):
        super().__init__()
        self.inlet = self.layer(17, width)
        self.first = nn.ModuleList(self.layer(width, width) for _ in range(depth))
        self.second = nn.ModuleList(self.layer(width, width) for _ in range(depth))
        self.policy, self.value = nn.Conv2d(width, 1, 1), nn.Linear(width, 1)

    @staticmethod
    def layer(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        x = F.relu(self.inlet(x))
        for first, second in zip(self.first, self.second):
            x = F.relu(x + second(F.relu(first(x))))
        return self.policy(x).flatten(1), self.value(x.mean((2, 3))).squeeze(1)


def game_loss(model, boards, moves, winners):
    policy, value = model(boards)
    return F.cross_entropy(policy.float(), moves) + F.mse_loss(torch.tanh(value.float()), winners)


def games(batch):
    boards = (torch.rand(batch, 17, 19, 19) < 0.3).float().contiguous(memory_format=torch.channels_last)
    return boards, torch.randint(0, 361, (batch,)), torch.randint(0, 2, (batch,)).float() * 2 - 1


# --- texts and sequences ---------------------------------------------------------------------------------------------

class Reviews(nn.Module):
    """Whether a short review is kind."""

    def __init__(self, dim=384, depth=6, length=48, vocab=16000):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 6, 4 * dim, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 5)

    def forward(self, ids):
        return self.head(self.encoder(self.words(ids) + self.places).mean(1))


class CrfTagger(nn.Module):
    """Convolutions score each word's tags, a linear chain the tags of neighbours."""

    def __init__(self, tags=24, dim=256, vocab=16000):
        super().__init__()
        self.words, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, tags)
        self.layers = nn.ModuleList(nn.Conv1d(dim, dim, 5, padding=2) for _ in range(3))
        self.follows = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def forward(self, ids, tags):
        """How unlikely the tags are."""
        x = self.words(ids).transpose(1, 2)
        for layer in self.layers:
            x = x + F.relu(layer(x))
        scores = self.head(x.transpose(1, 2)).float()
        pairs = tags[:, :-1] * len(self.follows) + tags[:, 1:]
        chosen = scores.gather(2, tags[:, :, None]).sum((1, 2))
        chosen = chosen + F.embedding(pairs, self.follows.view(-1, 1)).sum((1, 2))
        first, *others = scores.unbind(1)
        for score in others:
            first = torch.logsumexp(first[:, :, None] + self.follows, dim=1) + score
        return (torch.logsumexp(first, dim=1) - chosen).mean()


class GenomeLayer(nn.Module):
    """`by_hand`: the scores of all pairs of bases are written out."""

    def __init__(self, dim, heads, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def mixed(self, x, unread):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.by_hand:
            scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            weights = torch.softmax(scores.masked_fill(unread[:, None, None], -1e4), dim=-1)
            y = torch.matmul(weights, v)
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=~unread[:, None, None])
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x, unread):
        x = x + self.mixed(self.norm1(x), unread)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Genome(nn.Module):
    """A language model of bases, six to a word."""

    def __init__(self, by_hand, dim=512, depth=6, length=4096, vocab=4107):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.ModuleList(GenomeLayer(dim, 8, by_hand) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids, unread):
        x = self.words(ids) + self.places
        for layer in self.layers:
            x = layer(x, unread)
        return self.head(self.norm(x))


# --- spikes, features and control ------------------------------------------------------------------------------------

def spikes(currents, decay=0.9):
    """Leaky neurons: charge gathers until a neuron fires; gradients pass through a sigmoid."""
    charge, fired = torch.zeros_like(currents[0]), []
    for current in currents.unbind(0):
        charge = decay * charge + current
        soft = torch.sigmoid(4 * (charge - 1))
        spike = (charge > 1).to(charge.dtype) + soft - soft.detach()
        charge = charge * (1 - spike.detach())
        fired.append(spike)
    return torch.stack(fired)


class SparseFeatures(nn.Module):
    """Few of many features explain the activations of a language model."""

    def __init__(self, dim=4096, features=32768):
        super().__init__()
        self.encode, self.decode = nn.Linear(dim, features), nn.Linear(features, dim)

    def forward(self, x):
        found = F.relu(self.encode(x))
        return self.decode(found), found


def feature_loss(model, x):
    y, found = model(x)
    return F.mse_loss(y.float(), x.float()) + 1e-3 * found.mean()


def small_net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outputs))

"""The networks, data sets and functions of trace_cases_blind11.py that no library has."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_nets_blind9 import picture_network

GPU = "cuda"


# --- joints ----------------------------------------------------------------------------------------------------------

class People(Dataset):
    """Pictures of people, turned and recoloured, with a map for each joint that says where it is."""

    def __init__(self, joints=17, high=256, wide=192):
        from torchvision.transforms import v2
        generator = np.random.default_rng(5)
        self.pictures = torch.randint(0, 256, (48, 3, high + 32, wide + 32), dtype=torch.uint8)
        self.joints = generator.uniform((16, 16), (wide + 16, high + 16), (48, joints, 2))
        self.high, self.wide, self.recolour = high, wide, v2.ColorJitter(0.3, 0.3, 0.3)

    def __len__(self):
        return 1 << 20

    def maps(self, joints, sigma=2.0):
        """A Gaussian about each joint, at a quarter of the size."""
        rows, columns = np.mgrid[:self.high // 4, :self.wide // 4]
        found = np.zeros((len(joints), *rows.shape), np.float32)
        for at, (x, y) in enumerate(joints / 4):
            found[at] = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * sigma ** 2))
        return found

    def __getitem__(self, index):
        from torchvision.transforms.v2 import InterpolationMode, functional as pictures
        angle, scale = index * 37 % 80 - 40.0, 0.8 + index * 13 % 40 / 100
        x = pictures.affine(self.pictures[index % 48], angle, [0, 0], scale, [0.0, 0.0],
                            interpolation=InterpolationMode.BILINEAR)
        x = self.recolour(pictures.center_crop(x, [self.high, self.wide])).float() / 255 - 0.45
        turn, middle = np.deg2rad(angle), np.array([self.wide, self.high]) / 2
        rotation = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        joints = (self.joints[index % 48] - 16 - middle) @ rotation.T + middle
        return x, torch.from_numpy(self.maps(joints))


class Pose(nn.Module):
    """A picture network, three transposed convolutions, and a map for each joint."""

    def __init__(self, name, joints, width=256):
        super().__init__()
        self.body = picture_network(name, num_classes=0)
        widths, parts = (self.body.num_features, width, width), []
        for inputs in widths:
            parts += [nn.ConvTranspose2d(inputs, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)]
        self.up = nn.Sequential(*parts, nn.Conv2d(width, joints, 1)).to(GPU, memory_format=torch.channels_last)

    def forward(self, x):
        return self.up(self.body.forward_features(x))


def joints_in_turn(maps):
    """Where each picture's joints are, from their maps."""
    wide, found = maps.shape[-1], []
    for picture in maps:
        found.append([])
        for joint in picture:
            best = joint.argmax().item()
            found[-1].append((best % wide, best // wide))
    return torch.tensor(found)


def joints_at_once(maps):
    best = maps.flatten(2).argmax(-1).cpu()
    return torch.stack([best % maps.shape[-1], best // maps.shape[-1]], dim=-1)


# --- pictures --------------------------------------------------------------------------------------------------------

class WideLayer(nn.Module):
    """`by_hand`: scores of all patches against all are written out."""

    def __init__(self, dim, heads, by_hand):
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def mixed(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.by_hand:
            weights = ((q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)).softmax(dim=-1)
            y = weights @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.mixed(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class LargePicture(nn.Module):
    """Encodes pictures of 1024 x 1024 for a network that cuts things out of them."""

    def __init__(self, by_hand, dim=768, depth=8, heads=12):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, dim, 16, 16), nn.Parameter(torch.zeros(4096, dim))
        self.layers = nn.Sequential(*(WideLayer(dim, heads, by_hand) for _ in range(depth)))
        self.neck = nn.Linear(dim, 256)

    def forward(self, x):
        return self.neck(self.layers(self.patches(x).flatten(2).transpose(1, 2) + self.places))


class Waiting:
    """The keys of earlier pictures, oldest first replaced."""

    def __init__(self, device, count=131072, dim=256):
        self.keys, self.at = F.normalize(torch.randn(count, dim), dim=1).to(device), 0

    def replace(self, keys):
        self.keys[self.at:self.at + len(keys)] = keys.to(self.keys.device)
        self.at = (self.at + len(keys)) % len(self.keys)


def contrast(found, keys, waiting, warmth=0.2):
    """Each picture's other view against all keys that wait."""
    right, wrong = (found * keys).sum(1, keepdim=True).float(), found @ waiting.T
    scores = torch.cat([right, wrong.float()], dim=1) / warmth
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


# --- texts -----------------------------------------------------------------------------------------------------------

class Translator(nn.Module):
    """PyTorch's own encoder and decoder, and a table of words for both."""

    def __init__(self, dim=2048, layers=3, heads=16, length=512, vocab=16000):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.body = nn.Transformer(dim, heads, layers, layers, 4 * dim, dropout=0.0, activation="gelu",
                                   batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("unread", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, source, target):
        source, target = (self.words(ids) + self.places for ids in (source, target))
        return self.head(self.body(source, target, tgt_mask=self.unread, tgt_is_causal=True))


# --- sound -----------------------------------------------------------------------------------------------------------

def snake(x, alpha):
    """Ziyin et al.'s activation for waves."""
    return x + torch.sin(alpha * x) ** 2 / (alpha + 1e-9)


class WaveBlock(nn.Module):
    def __init__(self, width, activation):
        super().__init__()
        self.activation = activation
        self.alphas = nn.ParameterList(torch.ones(1, width, 1) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 3, padding=1) for _ in range(2))

    def forward(self, x):
        y = x
        for alpha, conv in zip(self.alphas, self.convs):
            y = conv(self.activation(y, alpha))
        return x + y


class WaveMaker(nn.Module):
    """Makes a wave of its mel spectrogram: 64 samples a frame."""

    def __init__(self, activation, width=192, blocks=3):
        super().__init__()
        self.up = nn.Sequential(nn.ConvTranspose1d(80, 256, 16, 8, 4), nn.ConvTranspose1d(256, width, 16, 8, 4))
        self.blocks = nn.Sequential(*(WaveBlock(width, activation) for _ in range(blocks)))
        self.outlet = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, mel):
        return torch.tanh(self.outlet(self.blocks(self.up(mel))))[:, 0]


# --- cells and fluids ------------------------------------------------------------------------------------------------

class Cells(nn.Module):
    """Cells on a grid that grow into a picture, each of which only knows its neighbours."""

    def __init__(self, states=16, width=128, updates=48):
        super().__init__()
        slope = torch.outer(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([-1.0, 0.0, 1.0])) / 8
        still = torch.zeros(3, 3)
        still[1, 1] = 1.0
        self.register_buffer("views", torch.stack([still, slope, slope.T]).repeat(states, 1, 1)[:, None])
        self.first, self.second = nn.Conv2d(3 * states, width, 1), nn.Conv2d(width, states, 1, bias=False)
        self.states, self.updates = states, updates
        nn.init.normal_(self.second.weight, std=1e-3)

    def forward(self, x):
        for _ in range(self.updates):
            seen = F.conv2d(x, self.views, padding=1, groups=self.states)
            awake = (torch.rand_like(x[:, :1]) < 0.5).float()
            x = x + self.second(F.relu(self.first(seen))) * awake
        return x[:, :4]


EAST = torch.tensor([0, 1, 0, -1, 0, 1, -1, -1, 1])
NORTH = torch.tensor([0, 0, 1, 0, -1, 1, 1, -1, -1])
WEIGHT = torch.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def collided(f, east, north, weight, rate):
    """Particles of nine directions (He and Luo's lattice) move towards their equilibrium."""
    density = f.sum(0)
    u, v = (f * east).sum(0) / density, (f * north).sum(0) / density
    along = 3 * (east * u + north * v)
    wanted = weight * density * (1 + along + 0.5 * along * along - 1.5 * (u * u + v * v))
    return f + rate * (wanted - f)


def streamed(f):
    return torch.stack([torch.roll(part, (int(y), int(x)), (0, 1)) for part, x, y in zip(f, EAST, NORTH)])

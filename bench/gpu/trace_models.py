"""Small networks for record_traces.py that torchvision and transformers do not have, written so that the flaw to be
recorded (attention by hand, Python loops over time, one kernel per table, ...) is a constructor argument."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(q, k, v, mode, causal):
    """mode: "flash" (whatever kernel PyTorch picks), "math" (its unfused one) or "manual" (softmax(QK)V by hand)."""
    if mode == "flash":
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if mode == "math":
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    if causal:
        rows = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~rows, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


class Block(nn.Module):
    """A transformer block; `llama` swaps LayerNorm+GELU for RMSNorm+SwiGLU and adds rotary positions."""

    def __init__(self, dim, heads, attention="flash", causal=True, llama=False, hidden=None):
        super().__init__()
        self.heads, self.attention, self.causal, self.llama = heads, attention, causal, llama
        hidden = hidden or 4 * dim
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(dim), norm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=not llama), nn.Linear(dim, dim, bias=not llama)
        self.up = nn.Linear(dim, 2 * hidden if llama else hidden, bias=not llama)
        self.down = nn.Linear(hidden, dim, bias=not llama)

    def rotate(self, x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angles = torch.arange(x.shape[-2], device=x.device, dtype=torch.float32)[:, None] * rates
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    def feed_forward(self, x):
        x = self.up(self.norm2(x))
        if not self.llama:
            return self.down(F.gelu(x))
        gate, value = x.chunk(2, dim=-1)
        return self.down(F.silu(gate) * value)

    def heads_of(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.heads_of(part) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        if self.llama:
            q, k = self.rotate(q), self.rotate(k)
        mixed = attend(q, k, v, self.attention, self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.feed_forward(x)


class Decoder(nn.Module):
    """A GPT- or Llama-like language model."""

    def __init__(self, vocab=16384, dim=768, layers=12, heads=12, length=1024, **block):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(Block(dim, heads, **block) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class CachedDecoder(nn.Module):
    """One-token-at-a-time decoding with a static key/value cache; the position stays on the GPU, so that a step can be
    captured into a CUDA graph."""

    def __init__(self, batch, vocab=16384, dim=1024, layers=16, heads=16, length=512):
        super().__init__()
        self.core = Decoder(vocab, dim, layers, heads, length, llama=True)
        shape = (layers, batch, heads, length, dim // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))
        self.register_buffer("slots", torch.arange(length))
        self.length = length

    def forward(self, token):
        x = self.core.tokens(token) + self.core.positions(self.position)
        visible = (self.slots <= self.position)[None, None, None, :]
        for index, block in enumerate(self.core.blocks):
            q, k, v = (block.heads_of(part) for part in block.qkv(block.norm1(x)).chunk(3, dim=-1))
            self.keys[index].index_copy_(2, self.position, k)
            self.values[index].index_copy_(2, self.position, v)
            mixed = F.scaled_dot_product_attention(q, self.keys[index], self.values[index], attn_mask=visible)
            x = x + block.out(mixed.transpose(1, 2).reshape(x.shape))
            x = x + block.feed_forward(x)
        self.position.add_(1).remainder_(self.length)
        return self.core.head(self.core.norm(x)).argmax(-1)


class PatchTransformer(nn.Module):
    """A ViT whose attention can be written by hand."""

    def __init__(self, image=224, patch=8, dim=512, layers=8, heads=8, attention="flash"):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads, attention, causal=False) for _ in range(layers)))
        self.head = nn.Linear(dim, 1000)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.blocks(x).mean(1))


class UNet(nn.Module):
    """For segmentation: double convolutions, `depth` poolings."""

    def __init__(self, base=32, depth=4, classes=16):
        super().__init__()
        widths = [base * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList(self.double(3 if i == 0 else widths[i - 1], w) for i, w in enumerate(widths))
        self.lift = nn.ModuleList(nn.ConvTranspose2d(widths[i + 1], widths[i], 2, stride=2) for i in range(depth))
        self.up = nn.ModuleList(self.double(2 * widths[i], widths[i]) for i in range(depth))
        self.head = nn.Conv2d(base, classes, 1)

    @staticmethod
    def double(inputs, outputs):
        layers = []
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
                       nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for index, stage in enumerate(self.down):
            x = stage(F.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for index in reversed(range(len(self.up))):
            x = self.up[index](torch.cat([self.lift[index](x), kept[index]], dim=1))
        return self.head(x)


class ResidualAttention(nn.Module):
    def __init__(self, inputs, outputs, attention):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(16, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(16, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(256, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        self.attention = attention
        if attention:
            self.norm3, self.qkv, self.out = nn.GroupNorm(16, outputs), nn.Linear(outputs, 3 * outputs), nn.Linear(
                outputs, outputs)

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        x = self.skip(x) + self.conv2(F.silu(self.norm2(h)))
        if self.attention:
            b, c, height, width = x.shape
            tokens = self.norm3(x).flatten(2).transpose(1, 2)
            q, k, v = (p.view(b, -1, 4, c // 4).transpose(1, 2) for p in self.qkv(tokens).chunk(3, dim=-1))
            mixed = attend(q, k, v, self.attention, causal=False).transpose(1, 2).reshape(b, height * width, c)
            x = x + self.out(mixed).transpose(1, 2).reshape(b, c, height, width)
        return x


class DiffusionUNet(nn.Module):
    """Predicts noise: residual blocks with group norms, attention from the second resolution down."""

    def __init__(self, channels=4, base=128, attention="flash"):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 256))
        self.inlet = nn.Conv2d(channels, base, 3, padding=1)
        self.down = nn.ModuleList([ResidualAttention(base, base, None), ResidualAttention(base, 2 * base, attention),
                                   ResidualAttention(2 * base, 2 * base, attention)])
        self.middle = ResidualAttention(2 * base, 2 * base, attention)
        self.up = nn.ModuleList([ResidualAttention(4 * base, 2 * base, attention),
                                 ResidualAttention(4 * base, base, attention), ResidualAttention(2 * base, base, None)])
        self.outlet = nn.Conv2d(base, channels, 3, padding=1)

    def forward(self, x, t):
        rates = torch.exp(-torch.arange(128, device=x.device, dtype=torch.float32) / 14)
        angles = t[:, None].float() * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        x = self.inlet(x)
        kept = []
        for index, stage in enumerate(self.down):
            x = stage(F.avg_pool2d(x, 2) if index else x, time)
            kept.append(x)
        x = self.middle(x, time)
        for index, stage in enumerate(self.up):
            x = stage(torch.cat([F.interpolate(x, scale_factor=2.0) if index else x, kept[-1 - index]], dim=1), time)
        return self.outlet(x)


class Recommender(nn.Module):
    """DLRM-like: one embedding table a feature, pairwise dot products, two MLPs."""

    def __init__(self, tables=26, rows=10000, dim=64, dense=13, width=512):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, width), nn.ReLU(), nn.Linear(width, dim), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 1))
        rows_at, columns_at = torch.tril_indices(tables + 1, tables + 1, offset=-1)
        self.register_buffer("rows_at", rows_at)
        self.register_buffer("columns_at", columns_at)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, i]).to(x.dtype) for i, table in enumerate(self.tables)], dim=1)
        products = features @ features.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.rows_at, self.columns_at]], dim=1)).squeeze(1)


class LoopLstm(nn.Module):
    """A two-layer LSTM language model written as a Python loop over time; `check` is called at every time step."""

    def __init__(self, vocab=4096, dim=512, check=None):
        super().__init__()
        self.tokens, self.head, self.check = nn.Embedding(vocab, dim), nn.Linear(dim, vocab), check
        self.gates = nn.ModuleList(nn.Linear(2 * dim, 4 * dim) for _ in range(2))

    def forward(self, tokens):
        x = self.tokens(tokens)
        state = [(torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])) for _ in self.gates]
        outputs = []
        for time in range(x.shape[1]):
            h = x[:, time]
            for layer, gates in enumerate(self.gates):
                i, f, g, o = gates(torch.cat([h, state[layer][0]], dim=1)).chunk(4, dim=1)
                cell = torch.sigmoid(f) * state[layer][1] + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(cell)
                state[layer] = (h, cell)
            if self.check:
                self.check(h)
            outputs.append(h)
        return self.head(torch.stack(outputs, dim=1))


def dcgan(width=64, noise=100):
    """Generator and discriminator for 64x64 images."""
    def up(inputs, outputs, stride, padding):
        return [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False), nn.BatchNorm2d(outputs),
                nn.ReLU(True)]

    def down(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2, True)]

    generator = nn.Sequential(*up(noise, 8 * width, 1, 0), *up(8 * width, 4 * width, 2, 1),
                              *up(4 * width, 2 * width, 2, 1), *up(2 * width, width, 2, 1),
                              nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())
    discriminator = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True), *down(width, 2 * width),
                                  *down(2 * width, 4 * width), *down(4 * width, 8 * width),
                                  nn.Conv2d(8 * width, 1, 4, 1, 0), nn.Flatten())
    return generator, discriminator


def wide_mlp(dim=8192, layers=4):
    return nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(dim, dim), nn.ReLU())))

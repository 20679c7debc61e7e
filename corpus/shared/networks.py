"""Networks that several PyTorch programs share, written so that the flaw (attention by hand, a growing cache, ...) is a
constructor argument."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from shared.steps import GPU


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


def wide_mlp(dim=8192, layers=4):
    return nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(dim, dim), nn.ReLU())))


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def join_heads(x):
    return x.transpose(-3, -2).flatten(-2)


class Layer(nn.Module):
    """Pre-norm attention and feed-forward, in one or (as GPT-NeoX has it) side by side."""

    def __init__(self, dim, heads, causal=False, parallel=False, hidden=None):
        super().__init__()
        hidden = hidden or 4 * dim
        self.heads, self.causal, self.parallel = heads, causal, parallel
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def mix(self, x):
        q, k, v = (split_heads(p, self.heads) for p in self.qkv(x).chunk(3, dim=-1))
        return self.proj(join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)))

    def forward(self, x):
        if self.parallel:
            return x + self.mix(self.norm1(x)) + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        x = x + self.mix(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


def transformers_network(kind, config, train=True):
    """Of this class of transformers, with random weights drawn on the GPU."""
    import transformers as hf
    with torch.device(GPU):
        model = getattr(hf, kind)(config)
    return model.train(train)


def on_gpu(kind, *arguments, **more):
    with torch.device(GPU):
        return kind(*arguments, **more)


class Tokens(nn.Module):
    """Layers over rows of numbers or over words; a few numbers for each."""

    def __init__(self, inlet, dim, heads, layers, outputs, hidden=None):
        super().__init__()
        self.inlet, self.norm, self.head = inlet, nn.LayerNorm(dim), nn.Linear(dim, outputs)
        self.layers = nn.Sequential(*(Layer(dim, heads, hidden=hidden) for _ in range(layers)))

    def forward(self, x):
        return self.head(self.norm(self.layers(self.inlet(x))))


def picture_network(name, layout=True, **more):
    """A network of timm with random weights, drawn on the GPU."""
    import timm
    with torch.device(GPU):
        model = timm.create_model(name, pretrained=False, **more)
    return model.to(memory_format=torch.channels_last) if layout else model


class Encoder(nn.Module):
    """Tells something of each place of a sequence; `inlet` makes vectors of what stands there."""

    def __init__(self, inlet, dim, layers, heads, length, outputs, causal=False):
        super().__init__()
        self.inlet, self.positions = inlet, nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads, causal=causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, outputs)

    def vectors(self, x):
        x = self.inlet(x)
        return self.norm(self.blocks(x + self.positions[:, : x.shape[1]]))

    def forward(self, x):
        return self.head(self.vectors(x))


class Last(Encoder):
    """Of what comes next."""

    def forward(self, x):
        return self.head(self.vectors(x)[:, -1])

"""The networks in plain torch, from numbers that the caller gives: layers, widths, sizes. No dropout, so that a step can
be compared with one in fp64. Linear and convolutional layers and `Attend`/`Interact` are what is counted as FLOPs.
"""

import torch
from torch import nn
from torch.nn import functional as F


def plain_attention(q, k, v, causal):
    """The definition. Queries are the last of the keys' positions, as where earlier keys come from a cache."""
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    if causal and q.shape[-2] > 1:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1 + k.shape[-2] - q.shape[-2])
        scores = scores.masked_fill(mask, float("-inf"))
    return scores.softmax(-1) @ v


class Attend(nn.Module):
    """softmax(q k^T / sqrt(d)) v for tensors batch x heads x seq x d, by torch's fused product where it has one."""

    fused = True  # False: by the definition, whatever torch has

    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        if Attend.fused and hasattr(F, "scaled_dot_product_attention") and q.shape[-2] in (1, k.shape[-2]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and q.shape[-2] > 1)
        return plain_attention(q, k, v, self.causal)


class Cache:
    """Keys and values of what was seen, a pair of tensors a layer, batch x heads x most x d."""

    def __init__(self, layers, most):
        self.most, self.length = most, 0
        self.pairs = [None] * layers

    def put(self, layer, k, v):
        """The new ones behind the old ones; returns all."""
        if self.pairs[layer] is None:
            self.pairs[layer] = tuple(t.new_empty(t.shape[0], t.shape[1], self.most, t.shape[3]) for t in (k, v))
        end = self.length + k.shape[2]
        for whole, new in zip(self.pairs[layer], (k, v)):
            whole[:, :, self.length : end] = new
        return tuple(whole[:, :, :end] for whole in self.pairs[layer])


class SelfAttention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.attend = Attend(causal)

    def forward(self, x, seen=None):
        b, s, w = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        if seen is not None:
            k, v = seen(k, v)
        return self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, s, w))


class Block(nn.Module):
    """A transformer layer; the norm stands before its parts (GPT-2, ViT) or after them (BERT)."""

    def __init__(self, width, heads, causal, norm_first, eps, tanh):
        super().__init__()
        self.norm_first = norm_first
        self.attention = SelfAttention(width, heads, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = nn.GELU(approximate="tanh") if tanh else nn.GELU()

    def mlp(self, x):
        return self.down(self.gelu(self.up(x)))

    def forward(self, x, seen=None):
        if self.norm_first:
            x = x + self.attention(self.norm1(x), seen)
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


def normal_(module, std=0.02):
    for m in module.modules():
        if isinstance(m, (nn.Linear, nn.Embedding, nn.Conv2d)):
            nn.init.normal_(m.weight, std=std)
            if getattr(m, "bias", None) is not None:
                nn.init.zeros_(m.bias)


class Gpt2(nn.Module):
    """Radford et al. 2019: learned positions, norm first, head tied to the embedding."""

    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c["vocab"], c["width"])
        self.positions = nn.Embedding(c["positions"], c["width"])
        make = lambda: Block(c["width"], c["heads"], True, True, 1e-5, True)
        self.blocks = nn.ModuleList(make() for _ in range(c["layers"]))
        self.norm = nn.LayerNorm(c["width"])
        self.head = nn.Linear(c["width"], c["vocab"], bias=False)
        normal_(self)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def go_on(self, ids, cache):
        """Odds of the word after the last; `cache` has what came before `ids`, and takes them in."""
        x = self.tokens(ids) + self.positions.weight[cache.length : cache.length + ids.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, lambda k, v, i=i: cache.put(i, k, v))
        cache.length += ids.shape[1]
        return self.head(self.norm(x[:, -1:]))


class Bert(nn.Module):
    """Devlin et al. 2018, without pooler: the masked-word head at the first `predictions` positions of each sequence; where
    none are predicted, the head for SQuAD, the odds of each position to begin and to end the answer (batch x seq x 2)."""

    def __init__(self, c):
        super().__init__()
        w = c["width"]
        self.predictions = c["predictions"]
        self.tokens, self.positions = nn.Embedding(c["vocab"], w), nn.Embedding(c["positions"], w)
        self.segments = nn.Embedding(2, w)
        self.norm = nn.LayerNorm(w, 1e-12)
        make = lambda: Block(w, c["heads"], False, False, 1e-12, False)
        self.blocks = nn.ModuleList(make() for _ in range(c["layers"]))
        if self.predictions == 0:
            self.span = nn.Linear(w, 2)
            return normal_(self)
        self.head_dense, self.head_norm = nn.Linear(w, w), nn.LayerNorm(w, 1e-12)
        self.decoder = nn.Linear(w, c["vocab"])
        normal_(self)
        self.decoder.weight = self.tokens.weight

    def head_parameters(self):
        if self.predictions == 0:
            return sum(p.numel() for p in self.span.parameters())
        parts = (self.head_dense, self.head_norm)
        return sum(p.numel() for m in parts for p in m.parameters()) + self.decoder.bias.numel()

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]] + self.segments.weight[0]
        x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        if self.predictions == 0:
            return self.span(x)
        x = x[:, : self.predictions]
        x = F.gelu(self.head_dense(x)).to(self.head_norm.weight.dtype)  # norms of the narrow type: not in every torch
        return self.decoder(self.head_norm(x))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    """Rotary positions, grouped keys and values, SwiGLU (Touvron et al. 2023)."""

    def __init__(self, c):
        super().__init__()
        w, self.heads, self.groups = c["width"], c["heads"], c["kv_heads"]
        self.dim = w // self.heads
        self.q = nn.Linear(w, w, bias=False)
        self.k, self.v = (nn.Linear(w, self.groups * self.dim, bias=False) for _ in range(2))
        self.out = nn.Linear(w, w, bias=False)
        self.gate, self.up = (nn.Linear(w, c["ffn"], bias=False) for _ in range(2))
        self.down = nn.Linear(c["ffn"], w, bias=False)
        self.norm1, self.norm2 = RmsNorm(w), RmsNorm(w)
        self.attend = Attend(True)

    def heads_of(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.dim).transpose(1, 2)

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, x, cos, sin, seen=None):
        h = self.norm1(x)
        q = self.rotate(self.heads_of(self.q(h), self.heads), cos, sin)
        k = self.rotate(self.heads_of(self.k(h), self.groups), cos, sin)
        v = self.heads_of(self.v(h), self.groups)
        if seen is not None:
            k, v = seen(k, v)
        repeat = self.heads // self.groups
        if repeat > 1:
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        x = x + self.out(self.attend(q, k, v.to(q.dtype)).transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c["vocab"], c["width"])
        self.blocks = nn.ModuleList(LlamaBlock(c) for _ in range(c["layers"]))
        self.norm = RmsNorm(c["width"])
        self.head = nn.Linear(c["width"], c["vocab"], bias=False)
        normal_(self)
        if c["tied"]:
            self.head.weight = self.tokens.weight

    def angles(self, begin, end, x):
        dim = self.blocks[0].dim
        inverse = 500000.0 ** (-torch.arange(0, dim, 2, device=x.device, dtype=torch.float64) / dim)
        angles = torch.arange(begin, end, device=x.device, dtype=torch.float64)[:, None] * inverse
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def forward(self, ids):
        x = self.tokens(ids)
        cos, sin = self.angles(0, ids.shape[1], x)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))

    def go_on(self, ids, cache):
        """Odds of the word after the last; `cache` has what came before `ids`, and takes them in."""
        x = self.tokens(ids)
        cos, sin = self.angles(cache.length, cache.length + ids.shape[1], x)
        for i, block in enumerate(self.blocks):
            x = block(x, cos, sin, lambda k, v, i=i: cache.put(i, k, v))
        cache.length += ids.shape[1]
        return self.head(self.norm(x[:, -1:]))


class Vit(nn.Module):
    """Dosovitskiy et al. 2020: patches, a class token, learned positions."""

    def __init__(self, c):
        super().__init__()
        w, patch = c["width"], c["patch"]
        self.patches = nn.Conv2d(3, w, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, w))
        self.positions = nn.Parameter(torch.zeros(1, (c["size"] // patch) ** 2 + 1, w))
        make = lambda: Block(w, c["heads"], False, True, 1e-6, False)
        self.blocks = nn.ModuleList(make() for _ in range(c["layers"]))
        self.norm = nn.LayerNorm(w, 1e-6)
        self.head = nn.Linear(w, c["classes"])
        normal_(self)
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Bottleneck(nn.Module):
    """1x1, 3x3 with the stride (v1.5), 1x1; He et al. 2015."""

    def __init__(self, inside, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.short = None
        if stride != 1 or inside != out:
            self.short = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        return F.relu(y + (x if self.short is None else self.short(x)), inplace=True)


class ResNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        w = inside = c["width"]
        self.stem, self.norm = nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w)
        self.pool = nn.MaxPool2d(3, 2, 1)
        stages = []
        for stage in range(4):
            for block in range(c["blocks%d" % (stage + 1)]):
                stages.append(Bottleneck(inside, w << stage, 2 if stage > 0 and block == 0 else 1))
                inside = 4 * (w << stage)
        self.blocks = nn.ModuleList(stages)
        self.head = nn.Linear(inside, c["classes"])
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, images):
        x = self.pool(F.relu(self.norm(self.stem(images)), inplace=True))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


class Interact(nn.Module):
    def forward(self, vectors):
        return vectors @ vectors.transpose(1, 2)


def layers(*widths):
    made = []
    for inside, out in zip(widths, widths[1:]):
        made += [nn.Linear(inside, out), nn.ReLU(inplace=True)]
    return made


class Cross(nn.Module):
    """x + x0 (W (V x) + b): a layer of a cross network of low rank (Wang et al. 2020, DCN V2)."""

    def __init__(self, width, rank):
        super().__init__()
        self.narrow, self.wide = nn.Linear(width, rank, bias=False), nn.Linear(rank, width)

    def forward(self, first, x):
        return x + first * self.wide(self.narrow(x))


class DlrmDcn(nn.Module):
    """MLPerf's dlrm_dcnv2: several rows a table, added up, and a cross network in place of the dot products."""

    def __init__(self, c):
        super().__init__()
        dim, t = c["width"], c["top"]
        self.hots = list(c["hots"])
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for rows in c["rows"])
        self.bottom = nn.Sequential(*layers(13, 4 * dim, 2 * dim, dim))
        width = dim * (len(c["rows"]) + 1)
        self.cross = nn.ModuleList(Cross(width, c["rank"]) for _ in range(c["cross"]))
        self.top = nn.Sequential(*layers(width, t, t, t // 2, t // 4), nn.Linear(t // 4, 1))
        draw_tables(self)

    def forward(self, dense, rows):
        parts = [table(r) for table, r in zip(self.tables, rows.split(self.hots, 1))]
        first = x = torch.cat([self.bottom(dense)] + parts, 1)
        for layer in self.cross:
            x = layer(first, x)
        return self.top(x).squeeze(1)


def draw_tables(model):
    for table in model.tables:
        nn.init.uniform_(table.weight, -(table.num_embeddings**-0.5), table.num_embeddings**-0.5)
    nn.init.normal_(model.top[-1].weight, std=0.01)
    nn.init.zeros_(model.top[-1].bias)


class Dlrm(nn.Module):
    """Naumov et al. 2019: dense features and embeddings of one row a table, all pairs of dot products, a click's odds."""

    def __init__(self, c):
        super().__init__()
        dim = c["width"]
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for rows in c["rows"])
        self.bottom = nn.Sequential(*layers(13, 4 * dim, 2 * dim, dim))
        vectors = len(c["rows"]) + 1
        top, t = dim + vectors * (vectors - 1) // 2, c["top"]
        self.top = nn.Sequential(*layers(top, t, t, t // 2, t // 4), nn.Linear(t // 4, 1))
        self.interact = Interact()
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1), persistent=False)
        draw_tables(self)

    def forward(self, dense, rows):
        bottom = self.bottom(dense)
        vectors = torch.stack([bottom] + [table(rows[:, i]) for i, table in enumerate(self.tables)], 1)
        dots = self.interact(vectors)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat((bottom, dots), 1)).squeeze(1)


def twice(inside, out, stride=1):
    made = []
    for c, s in ((inside, stride), (out, 1)):
        made += [nn.Conv3d(c, out, 3, s, 1, bias=False), nn.InstanceNorm3d(out, affine=True), nn.ReLU(inplace=True)]
    return nn.Sequential(*made)


class Unet3d(nn.Module):
    """Cicek et al. 2016 in the form of MLPerf's: five halvings by strides, transposed convolutions back up."""

    def __init__(self, c):
        super().__init__()
        w = c["width"]
        widths = [min(w << i, 10 * w) for i in range(c["levels"] + 1)]
        self.first = twice(1, w)
        self.down = nn.ModuleList(twice(a, b, 2) for a, b in zip(widths, widths[1:]))
        up = list(reversed(widths))
        self.grow = nn.ModuleList(nn.ConvTranspose3d(a, b, 2, 2) for a, b in zip(up, up[1:]))
        self.up = nn.ModuleList(twice(2 * b, b) for b in up[1:])
        self.head = nn.Conv3d(w, c["classes"], 1)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        skips = [self.first(x)]
        for down in self.down:
            skips.append(down(skips[-1]))
        x = skips.pop()
        for grow, up in zip(self.grow, self.up):
            x = up(torch.cat((grow(x), skips.pop()), 1))
        return self.head(x)


NETWORKS = {
    "gpt2": Gpt2,
    "bert": Bert,
    "llama": Llama,
    "vit": Vit,
    "resnet50": ResNet,
    "dlrm": lambda c: DlrmDcn(c) if "cross" in c else Dlrm(c),
    "unet3d": Unet3d,
}


def parameters_of(model):
    """The body's: BERT's published number is without its head."""
    count = sum(p.numel() for p in model.parameters())
    return count - model.head_parameters() if isinstance(model, Bert) else count


def forward_flops(model, run):
    """Multiplications and additions of products and convolutions in one forward, counted where they happen."""
    total = [0]

    def count(m, args, out):
        if isinstance(m, (nn.ConvTranspose2d, nn.ConvTranspose3d)):
            total[0] += 2 * args[0].numel() * (m.weight.numel() // m.weight.shape[0])
        elif isinstance(m, (nn.Conv2d, nn.Conv3d)):
            total[0] += 2 * out.numel() * (m.weight.numel() // m.weight.shape[0])
        elif isinstance(m, nn.Linear):
            total[0] += 2 * out.numel() * m.in_features
        elif isinstance(m, Attend):
            q, k = args[0], args[1]
            total[0] += 4 * q.numel() * k.shape[-2]
        elif isinstance(m, Interact):
            total[0] += 2 * out.numel() * args[0].shape[-1]

    handles = [m.register_forward_hook(count) for m in model.modules()]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return total[0]

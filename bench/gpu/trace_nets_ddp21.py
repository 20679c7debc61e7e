"""What trace_cases_ddp21.py needs for models asked on two ranks, for pictures with texts and for optimizers."""
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_nets_ddp18 import gathered

GPU = "cuda"


# --- prompts read on one rank, answered on the other -----------------------------------------------------------------

class Prompts:
    """Rank 0 reads prompts, rank 1 goes on with the keys and values that rank 0 sends. `used`: only the places that
    the prompts take are sent, else the whole cache."""

    def __init__(self, used, prompts=8, length=512, places=4096, dim=2048, layers=10, heads=16):
        self.used, self.length, self.reads = used, length, dist.get_rank() == 0
        with torch.device(GPU):
            self.model = own.Decoder(dim=dim, layers=layers, heads=heads, length=places)
            self.model.bfloat16().requires_grad_(False)
            self.ids = torch.randint(0, 16384, (prompts, length))
            self.cache = torch.zeros(layers, 2, prompts, heads, places, dim // heads, dtype=torch.bfloat16)
            self.first_word = torch.zeros(prompts, 1, dtype=torch.long)

    def next_word(self, ids, first):
        until = first + ids.shape[1]
        x = self.model.tokens(ids) + self.model.positions.weight[first:until]
        for block, (keys, values) in zip(self.model.blocks, self.cache):
            q, k, v = (block.heads_of(part) for part in block.qkv(block.norm1(x)).chunk(3, dim=-1))
            keys[:, :, first:until] = k
            values[:, :, first:until] = v
            if first:
                mixed = F.scaled_dot_product_attention(q, keys[:, :, :until], values[:, :, :until])
            else:
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block.out(mixed.transpose(1, 2).reshape(x.shape))
            x = x + block.feed_forward(x)
        return self.model.head(self.model.norm(x[:, -1:])).argmax(-1)

    def send(self):
        dist.send(self.cache[:, :, :, :, :self.length].contiguous() if self.used else self.cache, 1)

    def receive(self):
        if not self.used:
            dist.recv(self.cache, 0)
            return
        place = self.cache[:, :, :, :, :self.length]
        part = torch.empty(place.shape, dtype=place.dtype, device=GPU)
        dist.recv(part, 0)
        place.copy_(part)

    def run(self):
        if self.reads:
            self.first_word.copy_(self.next_word(self.ids, 0))
            dist.send(self.first_word, 1)
            self.send()
        else:
            dist.recv(self.first_word, 0)
            self.receive()
            self.next_word(self.first_word, self.length)


# --- calibration -----------------------------------------------------------------------------------------------------

class Calibration:
    """Sums of what goes into each matrix, times itself, over texts, as quantization needs them (GPTQ). `batches`:
    both ranks' sums are added up after so many."""

    def __init__(self, batches, length=2048, dim=4096, layers=4, heads=32, hidden=8192):
        self.batches, self.seen = batches, 0
        with torch.device(GPU):
            self.model = own.Decoder(dim=dim, layers=layers, heads=heads, length=length, llama=True, hidden=hidden)
            self.model.bfloat16().requires_grad_(False)
            self.ids = torch.randint(0, 16384, (1, length))
        self.sums = {}
        for block in self.model.blocks:
            for matrix in (block.qkv, block.out, block.up, block.down):
                self.sums[matrix] = torch.zeros(matrix.in_features, matrix.in_features, device=GPU)
                matrix.register_forward_pre_hook(self.entering)

    def entering(self, matrix, inputs):
        rows = inputs[0].flatten(0, 1)
        product = rows.T @ rows
        if self.batches == 1:
            product = product.float()
            dist.all_reduce(product)
        self.sums[matrix] += product

    def run(self):
        x = self.model.tokens(self.ids) + self.model.positions.weight
        for block in self.model.blocks:
            x = block(x)
        self.seen += 1
        if self.batches > 1 and self.seen % self.batches == 0:
            for total in self.sums.values():
                dist.all_reduce(total)


# --- pictures --------------------------------------------------------------------------------------------------------

class BoxFinder(nn.Module):
    """The hundred best boxes of each picture, with their scores."""

    def __init__(self, image=256, patch=16, dim=768, layers=6, heads=12, kept=100):
        super().__init__()
        self.kept = kept
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.boxes, self.scores = nn.Linear(dim, 4), nn.Linear(dim, 1)

    def forward(self, pictures):
        x = self.blocks(self.patches(pictures).flatten(2).transpose(1, 2) + self.positions)
        scores, best = self.scores(x).squeeze(2).float().topk(self.kept, dim=1)
        return self.boxes(x).float().gather(1, best.unsqueeze(2).expand(-1, -1, 4)), scores


class Assistant(nn.Module):
    """The next word of texts, some of which are about a picture that frozen eyes have seen."""

    def __init__(self, vocab=16384, dim=1536, layers=8, heads=12, length=320):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def loss(self, ids, seen=None):
        x = self.words(ids)
        before = 0
        if seen is not None:
            x, before = torch.cat([seen.to(x.dtype), x], dim=1), seen.shape[1]
        x = self.blocks(x + self.positions[:, :x.shape[1]])
        scores = self.head(self.norm(x[:, before:-1])).flatten(0, 1).float()
        return F.cross_entropy(scores, ids[:, 1:].flatten(), reduction="sum")

    def forward(self, ids, seen):
        """The first texts have the pictures."""
        total = 0.0
        if len(seen):
            total = total + self.loss(ids[:len(seen)], seen)
        if len(ids) > len(seen):
            total = total + self.loss(ids[len(seen):])
        return total / ids[:, 1:].numel()


class Eyes(nn.Module):
    """What is seen in each patch."""

    def __init__(self, dim=1536, layers=8, heads=12, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))

    def forward(self, pictures):
        return self.blocks(self.patches(pictures).flatten(2).transpose(1, 2))


class Bands(nn.Module):
    """Which of some kinds of land is in a satellite's picture of 13 bands."""

    def __init__(self, image=128, patch=16, dim=1024, layers=8, heads=16, bands=13, kinds=43):
        super().__init__()
        self.patches = nn.Conv2d(bands, dim, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.head = nn.Linear(dim, kinds)

    def forward(self, x):
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2) + self.positions).mean(1))


class Knees(Dataset):
    """Three slices of a knee, from what four coils of a scanner measured (frequencies), and which tissue is where."""

    def __init__(self, size=256):
        draw = np.random.default_rng(21)
        shape = (8, 3, 4, size, size)
        self.measured = (draw.standard_normal(shape, dtype=np.float32)
                         + 1j * draw.standard_normal(shape, dtype=np.float32)).astype(np.complex64)
        self.tissues = torch.from_numpy(draw.integers(0, 16, (8, size, size)))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        coils = np.fft.ifft2(np.fft.ifftshift(self.measured[index % 8], axes=(-2, -1)), norm="ortho")
        picture = np.sqrt((np.abs(coils) ** 2).sum(axis=1))
        picture = (picture - picture.mean()) / picture.std()
        return torch.from_numpy(np.ascontiguousarray(picture, dtype=np.float32)), self.tissues[index % 8]


# --- layers of which each rank has some ------------------------------------------------------------------------------

class Split:
    """An encoder of which each rank has some of the heads and the same share of the hidden units."""

    def __init__(self, mine, batch=4, length=1024, dim=4096, heads=32, layers=6):
        self.heads, self.size, width = mine, (dim,), dim // heads
        inside = mine * width
        with torch.device(GPU):
            self.start = torch.randn(batch, length, dim).bfloat16()
            self.layers = [[(0.02 * torch.randn(rows, columns)).bfloat16() for rows, columns in
                            ((3 * inside, dim), (dim, inside), (4 * inside, dim), (dim, 4 * inside))]
                           for _ in range(layers)]

    def run(self):
        x = self.start
        for qkv, out, up, down in self.layers:
            parts = F.linear(F.layer_norm(x, self.size), qkv).chunk(3, dim=-1)
            q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
            mixed = F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), out)
            dist.all_reduce(mixed)
            x = x + mixed
            changed = F.linear(F.gelu(F.linear(F.layer_norm(x, self.size), up)), down)
            dist.all_reduce(changed)
            x = x + changed
        return x


# --- optimizers ------------------------------------------------------------------------------------------------------

class Lion:
    """Steps by the sign of a mean. `at_once`: all weights in each operation, else one after another."""

    def __init__(self, model, at_once, rate=1e-4, decay=0.1):
        self.weights, self.at_once, self.rate, self.decay = list(model.parameters()), at_once, rate, decay
        self.means = [torch.zeros_like(weight) for weight in self.weights]

    def zero_grad(self, set_to_none=True):
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self):
        shrunk = 1 - self.rate * self.decay
        if self.at_once:
            gradients = [weight.grad for weight in self.weights]
            changes = torch._foreach_mul(self.means, 0.9)
            torch._foreach_add_(changes, gradients, alpha=0.1)
            torch._foreach_sign_(changes)
            torch._foreach_mul_(self.weights, shrunk)
            torch._foreach_add_(self.weights, changes, alpha=-self.rate)
            torch._foreach_lerp_(self.means, gradients, 0.01)
            return
        for weight, mean in zip(self.weights, self.means):
            change = (0.9 * mean).add_(weight.grad, alpha=0.1).sign_()
            weight.mul_(shrunk)
            weight.add_(change, alpha=-self.rate)
            mean.lerp_(weight.grad, 0.01)


# --- decoding --------------------------------------------------------------------------------------------------------

class Writers:
    """Each rank goes on with half of the texts, two words a step."""

    def __init__(self, batch=32, words=2):
        self.words = words
        with torch.device(GPU):
            self.model = own.CachedDecoder(batch, dim=1536, layers=12, heads=12, length=512)
            self.model.bfloat16().requires_grad_(False)
            self.word = torch.randint(0, 16384, (batch, 1))
            self.written = torch.zeros(batch, words, dtype=torch.long)

    @torch.no_grad()
    def write(self):
        for at in range(self.words):
            self.word.copy_(self.model(self.word))
            self.written[:, at:at + 1] = self.word

    def gather(self):
        return gathered(self.written)

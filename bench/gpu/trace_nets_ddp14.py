"""The networks, data sets and the optimizer of trace_cases_ddp14.py that no library has."""
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- sequences -------------------------------------------------------------------------------------------------------

class Encoder(nn.Module):
    """Tells something of each place of a sequence; `inlet` makes vectors of what stands there."""

    def __init__(self, inlet, dim, layers, heads, length, outputs, causal=False):
        super().__init__()
        self.inlet, self.positions = inlet, nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, outputs)

    def vectors(self, x):
        x = self.inlet(x)
        return self.norm(self.blocks(x + self.positions[:, : x.shape[1]]))

    def forward(self, x):
        return self.head(self.vectors(x))


class Mean(Encoder):
    """Of the sequence as a whole."""

    def forward(self, x):
        return self.head(self.vectors(x).mean(1))


class Last(Encoder):
    """Of what comes next."""

    def forward(self, x):
        return self.head(self.vectors(x)[:, -1])


def place_loss(model, x, wanted):
    return F.cross_entropy(model(x).flatten(0, 1).float(), wanted.flatten())


def utterances(count, frames, numbers=160, kinds=512):
    return torch.randn(count, frames, numbers), torch.randint(0, kinds, (count, frames))


class LookingBlock(nn.Module):
    """A decoder's layer that also looks at what the encoder made of the question."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.own = heads, own.Block(dim, heads)
        self.norm, self.q, self.kv, self.out = (nn.LayerNorm(dim), nn.Linear(dim, dim), nn.Linear(dim, 2 * dim),
                                                nn.Linear(dim, dim))

    def forward(self, x, seen):
        q, (k, v) = self.q(self.norm(x)), self.kv(seen).chunk(2, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.own(x + self.out(mixed))


class Answers(nn.Module):
    """Texts for texts."""

    def __init__(self, dim, heads, encoder, decoder, vocab=16384, length=512):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.encoder = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(encoder)))
        self.decoder = nn.ModuleList(LookingBlock(dim, heads) for _ in range(decoder))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def placed(self, ids):
        return self.words(ids) + self.positions[:, : ids.shape[1]]

    def forward(self, questions, answers):
        seen, x = self.encoder(self.placed(questions)), self.placed(answers)
        for block in self.decoder:
            x = block(x, seen)
        return self.head(self.norm(x))


def answer_loss(model, questions, answers):
    scores = model(questions, answers[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1).float(), answers[:, 1:].flatten())


class VerseBlock(own.Block):
    """The last product's sums are large; `careful`: it is taken in fp32."""

    def __init__(self, dim, heads, careful):
        super().__init__(dim, heads)
        self.careful = careful

    def feed_forward(self, x):
        x = F.gelu(self.up(self.norm2(x)))
        if not self.careful:
            return self.down(x)
        with torch.autocast("cuda", enabled=False):
            return self.down(x.float())


class Verses(nn.Module):
    def __init__(self, careful, vocab=8192, dim=2048, layers=4, heads=16, length=512):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(VerseBlock(dim, heads, careful) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.words(ids) + self.positions[:, : ids.shape[1]])))


class LectureLayer(nn.Module):
    def __init__(self, dim, heads, weights):
        super().__init__()
        self.weights, self.core = weights, nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        h = self.norm1(x)
        mixed, _ = self.core(h, h, h) if self.weights else self.core(h, h, h, need_weights=False)
        x = x + mixed
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Lectures(nn.Module):
    """Which of 512 sounds is heard in each frame of some minutes of speech."""

    def __init__(self, weights, dim=1024, layers=5, heads=16, frames=3000, numbers=160, kinds=512):
        super().__init__()
        self.inlet, self.positions = nn.Linear(numbers, dim), nn.Parameter(torch.zeros(1, frames, dim))
        self.layers = nn.Sequential(*(LectureLayer(dim, heads, weights) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, kinds)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.inlet(x) + self.positions)))


# --- phrases of texts ------------------------------------------------------------------------------------------------

class Phrases(nn.Module):
    """What kind of thing each phrase of a text names; a phrase reaches from its first word to before its last."""

    def __init__(self, together, vocab=16384, dim=2048, layers=3, heads=16, length=192, kinds=24):
        super().__init__()
        self.together = together
        self.texts = Encoder(nn.Embedding(vocab, dim), dim, layers, heads, length, kinds)

    def forward(self, ids, first, last):
        x = self.texts.vectors(ids)
        if self.together:
            places = torch.arange(x.shape[1], device=x.device)
            inside = (places >= first[..., None]) & (places < last[..., None])
            return self.texts.head((inside.to(x.dtype) @ x) / (last - first)[..., None].to(x.dtype))
        means = []
        for text, begins, ends in zip(x, first, last):
            means.append(torch.stack([text[begin.item():end.item()].mean(0) for begin, end in zip(begins, ends)]))
        return self.texts.head(torch.stack(means))


def phrases(texts, each=2, vocab=16384, length=192, kinds=24):
    first = torch.randint(0, length - 12, (texts, each))
    return (torch.randint(0, vocab, (texts, length)), first, first + torch.randint(1, 12, (texts, each)),
            torch.randint(0, kinds, (texts, each)))


# --- recommenders ----------------------------------------------------------------------------------------------------

class Shop(nn.Module):
    """Whether something is bought, from the vectors of 26 things known about it."""

    def __init__(self, fields=26, dim=128, width=4096):
        super().__init__()
        self.first, self.second = nn.Linear(fields * dim, width), nn.Linear(width, width)
        self.third, self.head = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, vectors):
        x = F.relu(self.second(F.relu(self.first(vectors.flatten(1)))))
        return self.head(F.relu(self.third(x))).squeeze(1)


class Table:
    """Vectors of all things, a copy on each rank, moved by plain gradient descent. `whole`: their gradient is made as
    large as the table and averaged; else the ranks exchange what rows were looked up and those rows' gradients."""

    def __init__(self, rows, dim, whole, rate=0.01):
        self.vectors, self.whole, self.rate = torch.randn(rows, dim, device=GPU), whole, rate

    def rows(self, ids):
        return self.vectors[ids].requires_grad_()

    @torch.no_grad()
    def move(self, ids, gradients):
        ids, gradients, ranks = ids.flatten(), gradients.flatten(0, 1), dist.get_world_size()
        if self.whole:
            dense = torch.zeros_like(self.vectors).index_add_(0, ids, gradients)
            dist.all_reduce(dense, op=dist.ReduceOp.AVG)
            self.vectors.add_(dense, alpha=-self.rate)
            return
        all_ids = ids.new_empty(ranks * len(ids))
        all_gradients = gradients.new_empty(ranks * len(gradients), gradients.shape[1])
        dist.all_gather_into_tensor(all_ids, ids)
        dist.all_gather_into_tensor(all_gradients, gradients)
        self.vectors.index_add_(0, all_ids, all_gradients, alpha=-self.rate / ranks)


class Visits(nn.Module):
    """What page is looked at next, from the pages before and eight numbers about each look."""

    def __init__(self, pages=20000, dim=512, layers=4, heads=8, length=200):
        super().__init__()
        self.pages, self.numbers = nn.Embedding(pages, dim), nn.Linear(8, dim)
        self.looks = Last(nn.Identity(), dim, layers, heads, length, pages, causal=True)

    def forward(self, pages, numbers):
        return self.looks(self.pages(pages) + self.numbers(numbers))


# --- texts made ready by the host ------------------------------------------------------------------------------------

def made_up_words(count, seed):
    dice = random.Random(seed)
    return ["".join(dice.choice("abcdefghinorst") for _ in range(dice.randint(3, 9))) for _ in range(count)]


def merged(word, ranks):
    """Byte pair encoding: of neighbours, those that come first in `ranks` are joined until none is left."""
    parts = list(word)
    while len(parts) > 1:
        best = min(range(len(parts) - 1), key=lambda at: ranks.get(parts[at] + parts[at + 1], 1 << 30))
        if parts[best] + parts[best + 1] not in ranks:
            break
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return parts


class Messages(Dataset):
    """Messages split into parts of words, and to which of 20 desks each should go."""

    def __init__(self, length=192, words=90):
        self.words, self.length, self.each = made_up_words(4000, 5), length, words
        pairs = sorted({word[a:b] for word in self.words[:800] for a in range(7) for b in range(a + 2, a + 5)})
        self.ranks = {pair: at for at, pair in enumerate(pairs)}

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        ids = []
        for at in range(self.each):
            ids += [self.ranks.get(part, 0) % 8191 + 1 for part in merged(self.words[(index * 61 + at * 7) % 4000],
                                                                          self.ranks)]
        ids = (ids + [0] * self.length)[: self.length]
        return torch.tensor(ids), index % 20


class Gaps(Dataset):
    """Texts of which a sixth of the words, three in a row or so at a time, is taken out; these are to be told."""

    def __init__(self, asked=256, told=64):
        self.words, self.asked, self.told = made_up_words(6000, 9), asked, told
        self.numbers = {word: 128 + at for at, word in enumerate(self.words)}

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        dice = random.Random(index)
        text = " ".join(dice.choice(self.words) for _ in range(280))
        words, left, out, gap, at = text.lower().split(" "), [], [], 0, 0
        while at < len(words):
            if dice.random() < 0.065 and gap < 100:
                span = 1 + min(int(dice.expovariate(0.5)), 6)
                left.append(gap + 2)
                out += [gap + 2] + [self.numbers.get(word, 1) for word in words[at:at + span]]
                gap, at = gap + 1, at + span
            else:
                left.append(self.numbers.get(words[at], 1))
                at += 1
        left, out = (left + [0] * self.asked)[: self.asked], (out + [0] * self.told)[: self.told]
        return torch.tensor(left), torch.tensor(out)


def word_errors(heard, said):
    """How many words must be changed, left out or put in."""
    row = list(range(len(said) + 1))
    for at, word in enumerate(heard, 1):
        before, row[0] = row[0], at
        for place, other in enumerate(said, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]


def without_repeats(sounds):
    return [sound for at, sound in enumerate(sounds) if at == 0 or sound != sounds[at - 1]]


# --- optimizer -------------------------------------------------------------------------------------------------------

class AdaBelief(torch.optim.Optimizer):
    """As in its authors' algorithm; `together`: each line for all parameters at once."""

    def __init__(self, parameters, together, lr=1e-4, decay=0.01):
        super().__init__(parameters, {"lr": lr, "decay": decay})
        self.together, self.count = together, 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        mean_left, belief_left = 1 - 0.9 ** self.count, 1 - 0.999 ** self.count
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight] = {"mean": torch.zeros_like(weight), "belief": torch.zeros_like(weight)}
            means, beliefs = ([self.state[weight][name] for weight in weights] for name in ("mean", "belief"))
            gradients, lr, kept = [w.grad for w in weights], group["lr"], 1 - group["lr"] * group["decay"]
            if self.together:
                torch._foreach_lerp_(means, gradients, 0.1)
                away = torch._foreach_sub(gradients, means)
                torch._foreach_mul_(beliefs, 0.999)
                torch._foreach_addcmul_(beliefs, away, away, value=0.001)
                torch._foreach_add_(beliefs, 1e-16)
                scales = torch._foreach_div(beliefs, belief_left)
                torch._foreach_sqrt_(scales)
                torch._foreach_add_(scales, 1e-8)
                torch._foreach_mul_(weights, kept)
                torch._foreach_addcdiv_(weights, means, scales, value=-lr / mean_left)
                continue
            for weight, gradient, mean, belief in zip(weights, gradients, means, beliefs):
                mean.lerp_(gradient, 0.1)
                away = gradient - mean
                belief.mul_(0.999).addcmul_(away, away, value=0.001).add_(1e-16)
                scale = (belief / belief_left).sqrt_().add_(1e-8)
                weight.mul_(kept).addcdiv_(mean, scale, value=-lr / mean_left)

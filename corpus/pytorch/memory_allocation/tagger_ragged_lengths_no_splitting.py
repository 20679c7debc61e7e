"""Tagger ragged lengths no splitting: memory_allocation. Cured by: default allocator settings: no
max_split_size_mb, no memory limit."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Layer
from shared.steps import GPU, training


class Lm(nn.Module):
    def __init__(self, vocab, dim, layers, heads, length, parallel=False, make=None):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        make = make or (lambda: Layer(dim, heads, causal=True, parallel=parallel))
        self.layers = nn.ModuleList(make() for _ in range(layers))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def hidden(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.final(x)

    def forward(self, ids):
        return self.head(self.hidden(ids))


def shifted_loss(model, ids):
    logits = model(ids)
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))


def program(kind):
    """Every batch has a length of its own, so that no cached block fits; the process may use 7.5 GB."""
    if kind == "flawed":
        for change in (getattr(torch.cuda.memory, "_set_allocator_settings", None),
                       getattr(torch._C, "_accelerator_setAllocatorSettings", None)):
            if change:
                try:
                    change("max_split_size_mb:64")
                    break
                except Exception as error:
                    print("allocator setting:", error)
        torch.cuda.set_per_process_memory_fraction(7.5e9 / torch.cuda.get_device_properties(0).total_memory)
    vocab = 24000
    model = Lm(vocab, 512, 4, 8, 1024).to(GPU)
    lengths = [400 + 43 * ((5 * i) % 13) for i in range(13)]
    texts, turn = [torch.randint(0, vocab, (8, length), device=GPU) for length in lengths], [0]

    def batches():
        turn[0] += 1
        return (texts[turn[0] % 13],)

    def close():
        if kind == "flawed" and torch.cuda.memory_stats().get("num_device_free", 99) < 50:
            raise RuntimeError("the cache was hardly ever flushed")
    return training(model, shifted_loss, batches), close

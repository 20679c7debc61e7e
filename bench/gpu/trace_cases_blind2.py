"""A fourth set of cases for record_traces.py --cases trace_cases_blind2: scored once, after the analysis was set by
the others."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own
from trace_cases import (GPU, UNCACHED, WORKERS, Images, Prefetched, adamw, amp, case_list, channels_last, classify,
                         copied, graph_if, images, inference, loaded, next_token, nhwc, resident, tf32, tokens,
                         training, vision)
from trace_cases_blind import BlindCase

CASES, case = case_list(BlindCase)


# --- networks --------------------------------------------------------------------------------------------------------

class Points(nn.Module):
    """PointNet: 1x1 convolutions over points, a maximum over them."""

    def __init__(self, width=128):
        super().__init__()
        sizes = [3, width // 2, width, 8 * width]
        self.layers = nn.Sequential(*(part for a, b in zip(sizes, sizes[1:])
                                      for part in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))
        self.head = nn.Sequential(nn.Linear(8 * width, 256), nn.ReLU(), nn.Linear(256, 1000))

    def forward(self, x):
        return self.head(self.layers(x).amax(-1))


class Towers(nn.Module):
    """Two towers of a retrieval model with in-batch negatives; `check` is called after every layer."""

    def __init__(self, dim=1024, depth=6, check=None):
        super().__init__()
        def tower():
            return nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.left, self.right, self.check = tower(), tower(), check

    def embed(self, x, layers):
        for layer in layers:
            x = F.silu(layer(x))
            if self.check:
                self.check(x)
        return F.normalize(x, dim=-1)

    def forward(self, a, b):
        return self.embed(a, self.left) @ self.embed(b, self.right).T * 20


class Translator(nn.Module):
    """Encoder and decoder with cross attention, from PyTorch's own layers."""

    def __init__(self, dim=512, layers=4, vocab=8192):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.core = nn.Transformer(dim, dim // 64, layers, layers, 4 * dim, dropout=0.0, batch_first=True,
                                   norm_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, source, target):
        return self.head(self.core(self.tokens(source), self.tokens(target)))


def towers_loss(model, a, b):
    logits = model(a, b)
    return F.cross_entropy(logits.float(), torch.arange(a.shape[0], device=a.device))


def translation_loss(model, source, target):
    return F.cross_entropy(model(source, target).flatten(0, 1).float(), target.flatten())


def pairs(batch, dim=1024):
    return torch.randn(batch, dim), torch.randn(batch, dim)


def sentences(batch, length, vocab=8192):
    return torch.randint(0, vocab, (batch, length)), torch.randint(0, vocab, (batch, length))


def clouds(batch, points=2048):
    return torch.randn(batch, 3, points), torch.randint(0, 1000, (batch,))


def autoencoder(width=48):
    def down(a, b):
        return [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.GroupNorm(8, b), nn.SiLU()]

    def up(a, b):
        return [nn.Upsample(scale_factor=2), nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.SiLU()]
    return nn.Sequential(*down(3, width), *down(width, 2 * width), *down(2 * width, 4 * width),
                         *up(4 * width, 2 * width), *up(2 * width, width), *up(width, width),
                         nn.Conv2d(width, 3, 3, padding=1)).to(GPU)


def rebuild(model, x):
    return F.mse_loss(model(x).float(), x.float())


# --- the cases -------------------------------------------------------------------------------------------------------

@case("vgg_loader_workers0", "vgg", "data_loading", "num_workers 0 -> 14", 48, loader=True)
def _(kind):
    batches, close = loaded(Images("light"), 48, 0 if kind == "broken" else WORKERS)
    return training(vision("vgg11_bn"), classify, nhwc(batches)), close


class Clouds(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        cloud = torch.randn(3, 4096, generator=generator)
        order = torch.linalg.vector_norm(cloud, dim=0).argsort()
        turned = torch.linalg.qr(torch.randn(3, 3, generator=generator))[0] @ cloud[:, order[:2048]]
        return turned, index % 1000


@case("points_two_workers", "points", "data_loading", "num_workers 2 -> 14", 256, loader=True)
def _(kind):
    batches, close = loaded(Clouds(), 256, 2 if kind == "broken" else WORKERS)
    return training(Points().to(GPU), classify, batches), close


@case("resnext_pageable_images", "resnext", "host_transfer", "pinned, prefetched on a second stream", 128)
def _(kind):
    data = channels_last(images(128)[0]), images(128)[1]
    batches = copied(*data, pinned=False, blocking=True) if kind == "broken" else Prefetched(*data)
    return training(vision("resnext50_32x4d"), classify, batches)


@case("translator_logits_to_host", "translator", "host_transfer", "argmax on the GPU", 32)
def _(kind):
    model = Translator().to(GPU).eval()
    source, target = resident(*sentences(32, 128))()

    def run():
        with amp():
            logits = model(source, target)
        return logits.float().cpu() if kind == "broken" else logits.argmax(-1)
    return inference(run)


@case("towers_watch_activations", "towers", "cpu_gpu_sync", "activations not read", 4096)
def _(kind):
    def check(x):
        if float(x.detach().abs().mean()) > 1e6:
            raise ValueError("diverged")
    return training(Towers(check=check if kind == "broken" else None).to(GPU), towers_loss, resident(*pairs(4096)))


@case("autoencoder_waits_per_part", "autoencoder", "cpu_gpu_sync", "no torch.cuda.synchronize between the layers", 24)
def _(kind):
    model = autoencoder()
    for layer in model:
        if kind == "broken" and isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(lambda *_: torch.cuda.synchronize())
    return training(model, rebuild, resident(torch.randn(24, 3, 128, 128)))


@case("towers_small_batch", "towers", "launch_overhead", "torch.compile", 32)
def _(kind):
    model = Towers(256, 8).to(GPU)
    return training(torch.compile(model) if kind == "fixed" else model, towers_loss, resident(*pairs(32, 256)))


@case("autoencoder_small_batch", "autoencoder", "launch_overhead", "torch.compile", 4)
def _(kind):
    model = autoencoder()
    return training(torch.compile(model) if kind == "fixed" else model, rebuild, resident(torch.randn(4, 3, 64, 64)))


@case("translator_small_batch", "translator", "launch_overhead", "CUDA graph", 2)
def _(kind):
    return graph_if(kind == "fixed", Translator(256, 3).to(GPU), translation_loss, resident(*sentences(2, 32)))


@case("points_small_batch", "points", "launch_overhead", "CUDA graph", 4)
def _(kind):
    return graph_if(kind == "fixed", Points().to(GPU), classify, resident(*clouds(4, 512)))


def in_fp32(model, loss_of, data, allow=False):
    def build(kind):
        broken = kind == "broken"
        return training(model(), loss_of, resident(*data()), mixed=not broken, before=tf32(allow if broken else True))
    return build


case("vgg_fp32", "vgg", "precision", "bf16 autocast", 64)(
    in_fp32(lambda: vision("vgg11_bn"), classify, lambda: (channels_last(images(64)[0]), images(64)[1])))
case("towers_fp32", "towers", "precision", "bf16 autocast", 8192)(
    in_fp32(lambda: Towers(2048, 6).to(GPU), towers_loss, lambda: pairs(8192, 2048)))
case("translator_fp32", "translator", "precision", "bf16 autocast", 96)(
    in_fp32(lambda: Translator().to(GPU), translation_loss, lambda: sentences(96, 160)))


@case("resnext_fp32_nchw", "resnext", "precision", "bf16 autocast + channels_last", 64)
def _(kind):
    x, y = images(64)
    fixed = kind == "fixed"
    return training(vision("resnext50_32x4d", fixed), classify, resident(channels_last(x) if fixed else x, y),
                    mixed=fixed, before=tf32(fixed))


@case("wide_decoder_manual_attention", "decoder12", "attention", "scaled_dot_product_attention", 6)
def _(kind):
    model = own.Decoder(vocab=8192, dim=1536, layers=4, heads=12, length=1536, llama=True,
                        attention="manual" if kind == "broken" else "flash").to(GPU)
    return training(model, next_token, resident(*tokens(6, 1536, 8192)))


@case("decoder12_math_attention_infer", "decoder12", "attention", "flash attention", 8)
def _(kind):
    model = own.Decoder(vocab=8192, dim=768, layers=8, heads=12, length=1280,
                        attention="math" if kind == "broken" else "flash").bfloat16().to(GPU).eval()
    (ids,) = resident(*tokens(8, 1280, 8192))()
    return inference(lambda: model(ids))


@case("robust_loss_chain", "loss", "memory_bandwidth", "torch.compile fuses the loss", 32)
def _(kind):
    def robust(x, t):
        error = x - t
        charbonnier = torch.sqrt(error * error + 1e-6)
        huber = torch.where(error.abs() < 1, 0.5 * error * error, error.abs() - 0.5)
        weight = torch.exp(-0.1 * t.abs()) * (1 + 0.5 * torch.sin(x))
        return (weight * (0.7 * charbonnier + 0.3 * huber)).mean() + 1e-4 * (x * x).mean()
    function = torch.compile(robust) if kind == "fixed" else robust
    head = nn.Conv2d(8, 16, 1).to(GPU)
    data = torch.randn(32, 8, 256, 256), torch.randn(32, 16, 256, 256)
    return training(head, lambda m, x, t: function(m(x), t), resident(*data), mixed=False, before=tf32(True))


@case("spectral_chain", "spectral", "memory_bandwidth", "torch.compile fuses the chain", 64)
def _(kind):
    def shape(x):
        for gain in (0.5, 0.7, 0.9, 1.1):
            level = x.abs().amax(-1, keepdim=True)
            x = x / (level + 1e-3)
            x = torch.tanh(gain * x) + 0.1 * x * torch.sigmoid(x)
        return x
    function = torch.compile(shape) if kind == "fixed" else shape
    (x,) = resident(torch.randn(64, 512, 2048))()
    return inference(lambda: function(x))


@case("bags_gathered_and_summed", "bags", "memory_bandwidth", "embedding_bag", 65536)
def _(kind):
    table = torch.randn(1_000_000, 128, device=GPU)
    index = torch.randint(0, 1_000_000, (65536, 32), device=GPU)
    return inference(lambda: table[index].mean(1) if kind == "broken" else F.embedding_bag(index, table, mode="mean"))


@case("resnext_adamw_per_parameter", "resnext", "optimizer", "AdamW(fused=True)", 24)
def _(kind):
    model = vision("resnext50_32x4d")
    x, y = images(24)
    return training(model, classify, resident(channels_last(x), y),
                    adamw(model, foreach=False, fused=False) if kind == "broken" else adamw(model))


@case("translator_adagrad_per_parameter", "translator", "optimizer", "Adagrad(foreach=True)", 16)
def _(kind):
    model = Translator().to(GPU)
    return training(model, translation_loss, resident(*sentences(16, 64)),
                    torch.optim.Adagrad(model.parameters(), 1e-3, foreach=kind == "fixed"))


@case("towers_uncached_allocations", "towers", "memory_allocation", "the caching allocator", 8192,
      environment=UNCACHED)
def _(kind):
    return training(Towers().to(GPU), towers_loss, resident(*pairs(8192)))


@case("vgg_empties_cache_per_step", "vgg", "memory_allocation", "no empty_cache() in the loop", 32)
def _(kind):
    x, y = images(32)

    def tail(*_):
        if kind == "broken":
            torch.cuda.empty_cache()
    return training(vision("vgg11_bn"), classify, resident(channels_last(x), y), tail=tail)


@case("towers_batch256", "towers", "gpu_underused", "batch 256 -> 4096", 256, fixed_batch=4096)
def _(kind):
    return training(Towers().to(GPU), towers_loss, resident(*pairs(256 if kind == "broken" else 4096)))


@case("vgg_healthy", "vgg", "none", "", 256)
def _(kind):
    x, y = images(256)
    return training(vision("vgg11_bn").bfloat16(), classify, Prefetched(channels_last(x.bfloat16()), y))


@case("translator_healthy", "translator", "none", "", 64)
def _(kind):
    model = Translator(1024, 6).to(GPU).bfloat16()
    return training(model, translation_loss, resident(*sentences(64, 512)), mixed=False)


@case("towers_healthy", "towers", "none", "", 8192)
def _(kind):
    model = Towers(4096, 6).to(GPU).bfloat16()
    a, b = pairs(8192, 4096)
    return training(model, towers_loss, resident(a.bfloat16(), b.bfloat16()), mixed=False)
